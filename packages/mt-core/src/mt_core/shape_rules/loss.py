"""Shape rules of losses with kernels of their own."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..checks.dtypes import require_same_dtype
from ..dispatch.registry import register_shape_rule as shape_rule
from ..spec import Spec


@shape_rule("nll_loss_forward")
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Spec, Spec]:
    """self (N, C) or (C,), target (N,) or (), weight (C,) -> loss () or (N,), total weight ()."""
    shape, wanted = self._array.shape, target._array.shape
    if target._dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {dtypes.scalar_type_name(target._dtype)}"
        )
    if len(shape) == 1 and len(wanted) == 1 and wanted[0] != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {wanted[0]}")
    if not 1 <= len(shape) <= 2:
        raise RuntimeError("input tensor should be 1D or 2D")
    if len(wanted) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not (len(shape) == 1 and not wanted) and (not wanted or shape[0] != wanted[0]):
        raise RuntimeError(f"size mismatch (got input: {list(shape)}, target: {list(wanted)})")
    if weight is not None and (weight._array.ndim != 1 or weight._array.size != shape[-1]):
        raise RuntimeError(
            f"weight tensor should be defined either for all {shape[-1]} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    require_same_dtype(self, weight)
    result = wanted if reduction == 0 and len(shape) == 2 else ()
    return Spec(result, self._dtype), Spec((), self._dtype)


@shape_rule("nll_loss_backward")
def nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Spec:
    """grad_output () or (N,), self (N, C) or (C,), target (N,) or (), weight (C,) -> like self."""
    return Spec(self._array.shape, self._dtype)
