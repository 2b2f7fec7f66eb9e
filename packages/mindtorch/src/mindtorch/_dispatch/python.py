"""``torch._dispatch.python``: whether the kernels of `OpOverload.py_impl` count, and functionalization put off."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from mt_core import Tensor, pytree
from mt_core.functionalization.layer import resume, suspended, switch_off
from mt_library.ops import OpOverload, _OpNamespace, ops, python_kernels

__all__ = [
    "all_py_loaded_overloads", "check_metadata_matches", "check_tensor_metadata_matches", "enable_python_dispatcher",
    "no_python_dispatcher", "suspend_functionalization",
]  # fmt: skip


@contextlib.contextmanager
def _depth(depth: int) -> Iterator[None]:
    previous, python_kernels.depth = python_kernels.depth, depth
    try:
        yield
    finally:
        python_kernels.depth = previous


def enable_python_dispatcher() -> contextlib.AbstractContextManager[None]:
    """A context in which calls of ``torch.ops`` take the kernels of `OpOverload.py_impl`, where there are some."""
    return _depth(python_kernels.depth + 1)


def no_python_dispatcher() -> contextlib.AbstractContextManager[None]:
    """A context in which they do not."""
    return _depth(0)


@contextlib.contextmanager
def suspend_functionalization() -> Iterator[None]:
    """A context in which new tensors are not functional, whatever `torch._enable_functionalization` was told."""
    settings = suspended()
    try:
        if settings is not None:
            switch_off()
        yield
    finally:
        if settings is not None:
            resume(settings)


def all_py_loaded_overloads() -> Iterator[OpOverload]:
    """The overloads of operators that the program has asked ``torch.ops`` for so far."""
    for namespace in list(vars(ops).values()):
        for name in list(namespace) if isinstance(namespace, _OpNamespace) else ():
            packet = getattr(namespace, name)
            for overload in packet.overloads():
                yield getattr(packet, overload)


def check_tensor_metadata_matches(nv: Tensor, rv: Tensor, desc: Any) -> None:
    """Compare size, dtype, strides and the first element's place of two tensors; `desc` gives the words before.

    Raises
    ------
    AssertionError
        Where they differ.
    """
    if not callable(desc):
        raise AssertionError("desc must be callable")
    for what, found, expected in (
        ("sizes", nv.size(), rv.size()),
        ("dtype", nv.dtype, rv.dtype),
        ("strides", nv.stride(), rv.stride()),
        ("storage offset", nv.storage_offset(), rv.storage_offset()),
    ):
        matters = what != "strides" or any(n > 1 for n in nv.shape)
        if found != expected and matters:
            raise AssertionError(f"{desc()}: {what} {found} != {expected}")


def check_metadata_matches(n: Any, r: Any, desc: Any) -> None:
    """`check_tensor_metadata_matches` for all tensors of two structures, pair by pair."""
    found, expected = pytree.tree_leaves(n), pytree.tree_leaves(r)
    if len(found) != len(expected):
        raise AssertionError(f"{len(found)} values, expected {len(expected)}")
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        if isinstance(other, Tensor):
            check_tensor_metadata_matches(one, other, lambda number=number: f"{desc()} output {number}")
