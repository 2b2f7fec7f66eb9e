"""``torch._dynamo.backends.common``: backends out of compilers of graphs of operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mt_core import Tensor

__all__ = ["aot_autograd", "device_from_inputs", "dtype_from_inputs", "fake_tensor_unsupported"]


class AotAutograd:
    """A backend of ``torch.compile`` that hands graphs of operators, the backward's too, to compilers."""

    def __init__(self, **kwargs: Any) -> None:
        self.__name__ = "compiler_fn"
        self.kwargs = kwargs

    def __call__(self, gm: Any, example_inputs: Sequence[Any], **kwargs: Any) -> Callable[..., Any]:
        """What runs in the place of a graph of calls of ``torch``."""
        from ..._functorch.aot_autograd import aot_module_simplified  # lazy: it imports the module this is imported by

        options = {**self.kwargs, **kwargs}
        for name in ("bw_compiler", "inference_compiler"):
            if options.get(name) is None:
                options[name] = options["fw_compiler"]
        return aot_module_simplified(gm, example_inputs, **options)


def aot_autograd(**kwargs: Any) -> AotAutograd:
    """A backend by compilers; the arguments are those of ``torch._functorch.aot_autograd.aot_function``."""
    return AotAutograd(**kwargs)


def fake_tensor_unsupported(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Have a backend given real tensors in the place of fake ones: it is given such anyway."""
    return fn


def _first(example_inputs: Sequence[Any]) -> Tensor | None:
    return next((value for value in example_inputs if isinstance(value, Tensor)), None)


def device_from_inputs(example_inputs: Sequence[Any]) -> Any:
    """The device of the first tensor; the CPU where there is none."""
    first = _first(example_inputs)
    return "cpu" if first is None else first.device


def dtype_from_inputs(example_inputs: Sequence[Any]) -> Any:
    """The dtype of the first tensor."""
    first = _first(example_inputs)
    if first is None:
        raise AssertionError("no tensor among the inputs")
    return first.dtype
