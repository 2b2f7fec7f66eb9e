"""What happens to gradients of operators without a kernel for autograd: PyTorch's fallback, which warns of them.

What such a kernel calls is recorded. A result that needs no gradient after it is given a node that passes none; where a
gradient arrives at a result, a warning tells that it may be wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mt_autograd.node import Node, output_spec
from mt_autograd.recording import make_output
from mt_autograd.views import edge_of
from mt_core.autograd_state import is_grad_enabled
from mt_core.schema import Schema
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in

__all__ = ["get_mode", "set_mode", "with_fallback"]

_MODES = ("nothing", "warn")


class _Setting:
    mode = "warn"


def get_mode() -> str:
    """``"warn"``, or ``"nothing"``: results are left as the kernel gives them."""
    return _Setting.mode


def set_mode(mode: str) -> None:
    """Choose what is done with gradients that pass operators without a kernel for autograd.

    Raises
    ------
    RuntimeError
        For "error", which PyTorch has not built either, and for other words.
    """
    if mode not in _MODES:
        raise RuntimeError(f"NYI: mode='{mode}'" if mode == "error" else f"Unsupported AutogradFallbackMode: {mode}")
    _Setting.mode = mode


def with_fallback(schema: Schema, name: str, below: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that runs what is below autograd and sees to the gradients of its results, as the mode says."""

    def run(*args: Any) -> Any:
        if _Setting.mode == "nothing" or not schema.returns or not is_grad_enabled():
            return below(*args)
        inputs = [tensor for tensor in tensors_in(args) if tensor.requires_grad]
        result = below(*args)
        if inputs:
            _watch(name, inputs, list(_results_of(schema, result)))
        return result

    return run


def _results_of(schema: Schema, result: Any) -> Iterator[tuple[Tensor, bool]]:
    """The tensors of a result, and whether the operator says that it writes to them."""
    results = result if len(schema.returns) > 1 else (result,)
    for value, declared in zip(results, schema.returns, strict=True):
        for tensor in tensors_in((value,)):
            yield tensor, declared.writes


def _watch(name: str, inputs: Sequence[Tensor], results: Sequence[tuple[Tensor, bool]]) -> None:
    """Warn of gradients at results that need one, and give the others a node that passes none."""
    bare = []
    for tensor, is_written in results:
        if tensor.requires_grad:
            _warn_at(tensor, name)
            base = tensor._base
            if is_written and base is not None and base.requires_grad:
                _warn_at(base, name)  # programs differentiate what the base becomes
        elif not is_written and (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            bare.append(tensor)
    if bare:
        node = _WarnNotImplemented(name)
        node.attach([edge_of(tensor) for tensor in inputs], [output_spec(tensor) for tensor in bare])
        for output_nr, tensor in enumerate(bare):
            make_output(tensor, node, output_nr, False)


def _warn_at(tensor: Tensor, name: str) -> None:
    tensor.register_hook(lambda _: _warn(name))


class _WarnNotImplemented(Node):
    """Where a gradient ends because nobody said what becomes of it."""

    __slots__ = ("operator",)

    def __init__(self, operator: str) -> None:
        self.operator = operator

    def name(self) -> str:
        return "torch::autograd::WarnNotImplemented"

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        _warn(self.operator)
        return [None] * (len(self._edges) // 2)


def _warn(name: str) -> None:
    warnings.warn(
        f"{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through "
        "it. This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a "
        "future version of PyTorch. If your operator is differentiable, please ensure you have registered an "
        "autograd kernel to the correct Autograd key (e.g. DispatchKey::Autograd, "
        "DispatchKey::CompositeImplicitAutograd). If your operator is not differentiable, or to squash this warning "
        "and use the previous behavior, please register torch::CppFunction::makeFallthrough() to "
        "DispatchKey::Autograd.",
        stacklevel=2,
    )
