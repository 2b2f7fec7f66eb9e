"""What ``vmap`` of a custom function needs: contexts with other saved tensors, gradients of lanes.

See `mt_autograd.func.custom_functions`, which has its own of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mt_autograd.func.custom_functions import VmapInfo as VmapInfo
from mt_core.tensor import Tensor

__all__ = ["CtxWithSavedTensors", "VmapInfo", "WrappedCtx", "reductify", "reductify_leaf"]


class WrappedCtx:
    """Stands for the context of a custom function: reads and sets the attributes of that one, its own few aside.

    Raises
    ------
    RuntimeError
        For a context that has one of these.
    """

    _pt_reserved_attrs: tuple[str, ...] = ("_pt_reserved_attrs", "_pt_inner_ctx")

    def __init__(self, ctx: Any) -> None:
        reserved = type(self)._pt_reserved_attrs
        if not isinstance(ctx, WrappedCtx) and any(hasattr(ctx, name) for name in reserved):
            raise RuntimeError(
                f"PyTorch reserves the {reserved} field on ctx. Please name your fields on ctx something else to avoid "
                "name collision."
            )
        self._pt_inner_ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self)._pt_reserved_attrs:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


class CtxWithSavedTensors(WrappedCtx):
    """A context whose `saved_tensors` are others."""

    _pt_reserved_attrs = ("_pt_new_saved_tensors", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx: Any, new_saved_tensors: Any) -> None:
        super().__init__(ctx)
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self) -> Any:
        """Those that it was given."""
        return self._pt_new_saved_tensors

    @saved_tensors.setter
    def saved_tensors(self, value: Any) -> None:
        self._pt_inner_ctx.saved_tensors = value


def reductify(
    grad_input: Any, grad_input_bdim: Any, input_bdim: Any, batch_size: int,
    target_shape_without_bdim_to_reduce_to: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """`reductify_leaf` of each gradient."""
    if not isinstance(grad_input, tuple):
        grad_input, grad_input_bdim, input_bdim = (grad_input,), (grad_input_bdim,), (input_bdim,)
    shapes = target_shape_without_bdim_to_reduce_to or (None,) * len(grad_input)
    rows = zip(grad_input, grad_input_bdim, input_bdim, shapes, strict=True)
    return tuple(reductify_leaf(grad, dim, of_input, batch_size, shape) for grad, dim, of_input, shape in rows)


def reductify_leaf(
    grad_input: Tensor | None, grad_input_bdim: int | None, input_bdim: int | None, batch_size: int,
    target_shape_without_bdim_to_reduce_to: Sequence[int] | None = None,
) -> Tensor | None:  # fmt: skip
    """A gradient of lanes as the input has its lanes: summed over them, repeated, or moved.

    Parameters
    ----------
    grad_input_bdim, input_bdim
        Which dimension of the gradient, and of the input, counts the lanes; None where all share.
    target_shape_without_bdim_to_reduce_to
        Shape of a lane of the input, to which each lane is summed. Where all share the input, the engine will.
    """
    if grad_input is None or grad_input_bdim is None and input_bdim is None:
        return grad_input
    if grad_input_bdim is None:
        lanes = grad_input.unsqueeze(0).expand(batch_size, *grad_input.shape)
    else:
        lanes = grad_input.movedim(grad_input_bdim, 0)
    if input_bdim is None:
        return lanes.sum(0)
    if target_shape_without_bdim_to_reduce_to is not None:
        lanes = _each_summed(lanes, tuple(target_shape_without_bdim_to_reduce_to))
    return lanes.movedim(0, input_bdim)


def _each_summed(lanes: Tensor, shape: tuple[int, ...]) -> Tensor:
    missing = lanes.dim() - 1 - len(shape)
    summed = lanes.sum_to_size((lanes.shape[0], *[1] * missing, *shape))
    return summed.reshape((lanes.shape[0], *shape))
