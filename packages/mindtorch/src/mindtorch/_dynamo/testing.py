"""``torch._dynamo.testing``: backends that count and keep what they are given."""

from __future__ import annotations

import unittest
import unittest.mock
from collections.abc import Callable, Sequence
from typing import Any

from mt_core import Tensor, float32
from mt_core.api import _functions as ops

from .backends.registry import lookup_backend

__all__ = [
    "CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "make_test_cls_with_patches", "rand_strided",
]  # fmt: skip

_CALLS = ("call_function", "call_method", "call_module")


class CompileCounter:
    """Runs graphs as they are.

    Attributes
    ----------
    frame_count
        How many it was given.
    op_count
        How many calls there were in them.
    """

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """Count a graph, and return its ``forward``."""
        self.frame_count += 1
        self.op_count += sum(node.op in _CALLS for node in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Begin at zero."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """As `CompileCounter`, with another backend that makes what runs; it keeps the graphs."""

    def __init__(self, backend: str | Callable[..., Any]) -> None:
        super().__init__()
        self.backend = backend

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """Count and keep a graph, and have the backend compile it."""
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self) -> None:
        """Begin at zero, without graphs."""
        super().clear()
        self.graphs: list[Any] = []


class EagerAndRecordGraphs:
    """Runs graphs as they are, and keeps them in `graphs`."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """Keep a graph, and return its ``forward``."""
        self.graphs.append(gm)
        return gm.forward


def rand_strided(
    size: Sequence[int], stride: Sequence[int], dtype: Any = float32, device: Any = "cpu", extra_size: int = 0
) -> Tensor:
    """A tensor of a shape and strides, of normal numbers; integers are cut off, truth values all one.

    Parameters
    ----------
    extra_size
        How many elements there are behind the last one.
    """
    needed = extra_size + 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    drawn = dtype if dtype.is_floating_point or dtype.is_complex else float32
    memory = ops.randn((max(needed, 1),), dtype=drawn, device=device).to(dtype)
    return memory.as_strided(tuple(size), tuple(stride))


def make_test_cls_with_patches(
    cls: type, cls_prefix: str, fn_suffix: str, *patches: tuple[Any, str, Any], xfail_prop: str | None = None,
    decorator: Callable[[Any], Any] = lambda function: function,
) -> type:  # fmt: skip
    """A class of tests with those of another one, each run with attributes of objects set to other values.

    Parameters
    ----------
    patches
        Object, name of its attribute, value.
    xfail_prop
        An attribute of those tests that are expected to fail.
    """
    members = {name: value for name, value in vars(cls).items() if not name.startswith("test_")}
    for name in (name for name in dir(cls) if name.startswith("test_")):
        test = getattr(cls, name)
        for patched, attribute, value in patches:
            test = unittest.mock.patch.object(patched, attribute, value)(test)
        test = unittest.expectedFailure(test) if xfail_prop is not None and hasattr(test, xfail_prop) else test
        members[f"{name}{fn_suffix}"] = decorator(test)
    return type(f"{cls_prefix}{cls.__name__}", cls.__bases__, members)
