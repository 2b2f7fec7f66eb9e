"""Shape rules of distances."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import scalar_type_name
from ..layout import broadcast_shapes
from ..spec import Spec


@shape_rule("_cdist_forward")
def cdist_forward(x1: Any, x2: Any, p: float, compute_mode: int | None) -> Spec:
    """x1 (*, P, M), x2 (*, R, M) -> (*, P, R), batches broadcast."""
    a, b = tuple(x1._array.shape), tuple(x2._array.shape)
    for name, x in (("X1", x1), ("X2", x2)):
        if x._array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x._array.ndim}D")
    if a[-1] != b[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if not x._dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {scalar_type_name(x._dtype)}")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1._array.size and x2._array.size:
        if not x1._dtype.native:
            raise NotImplementedError(f"\"cdist\" not implemented for '{scalar_type_name(x1._dtype)}'")
        if x1._dtype is not x2._dtype:
            raise RuntimeError(
                f"expected scalar type {scalar_type_name(x1._dtype)} but found {scalar_type_name(x2._dtype)}"
            )
    if compute_mode is not None and not 0 <= compute_mode <= 2:
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    return Spec((*broadcast_shapes([a[:-2], b[:-2]]), a[-2], b[-2]), x1._dtype)
