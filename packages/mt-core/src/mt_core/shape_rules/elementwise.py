"""Shape rules of elementwise operators that are more than broadcasting."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..declarations._checks import FLOAT8, INTEGERS
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import scalar_type_name
from ..keys import CONJUGATE, NEGATIVE
from ..layout import broadcast_shapes, broadcast_strides, output_strides
from ..meta_array import contiguous_strides
from ..promotion import FLOAT, result_type_of
from ..spec import Spec, View


@shape_rule("frexp.Tensor")
def frexp(self: Any) -> tuple[Spec, Spec]:
    """self (*) -> mantissa (*), exponent (*) of int32."""
    if not self.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    strides = output_strides(self.shape, [self.stride()])
    return Spec(self.shape, self.dtype, strides), Spec(self.shape, dtypes.int32, strides)


def _of_power(self: Any, other: Any) -> dtypes.dtype:
    """The dtype of self * 2.0 ** other: where the power is of integers, it has the default dtype."""
    return FLOAT.result(result_type_of([self, other]) if other.dtype.category > 1 else self.dtype)


@shape_rule("ldexp.Tensor")
def ldexp(self: Any, other: Any) -> Spec:
    """self (*), other (*), broadcast -> the common shape."""
    common = self.dtype
    if other.dtype in FLOAT8 or other.dtype is dtypes.complex32:
        raise NotImplementedError(f"\"pow\" not implemented for '{scalar_type_name(other.dtype)}'")
    if not common.is_floating_point or other.dtype.category > 1:
        common = _of_power(self, other)
    elif common in FLOAT8:
        raise NotImplementedError(f"\"ldexp_cpu\" not implemented for '{scalar_type_name(common)}'")
    elif other.dtype not in INTEGERS:
        raise NotImplementedError(f"\"ldexp_cpu_exp\" not implemented for '{scalar_type_name(other.dtype)}'")
    if common is dtypes.complex32:
        raise NotImplementedError("\"pow\" not implemented for 'ComplexHalf'")
    shape = broadcast_shapes([self.shape, other.shape])
    return Spec(
        shape, common, output_strides(shape, [broadcast_strides(t.shape, t.stride(), shape) for t in (self, other)])
    )


@shape_rule("view_as_real")
def view_as_real(self: Any) -> View:
    """self (*) of complex -> view (*, 2) of its real dtype."""
    if not self.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if self.is_conj():
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
            "original."
        )
    strides = (*(2 * step for step in self.stride()), 1)
    return View((*self.shape, 2), strides, 2 * self.storage_offset(), self.dtype.to_real())


@shape_rule("_conj")
def _conj(self: Any) -> View:
    """self (*) of complex -> view (*), read conjugated; read plainly where it was conjugated."""
    if not self.dtype.is_complex:
        raise RuntimeError(f"_conj is only supported for complex tensors, got {self.dtype!r}")
    return View(self.shape, self.stride(), self.storage_offset(), toggled=CONJUGATE)


@shape_rule("_neg_view")
def _neg_view(self: Any) -> View:
    """self (*) -> view (*), read negated; read plainly where it was negated."""
    return View(self.shape, self.stride(), self.storage_offset(), toggled=NEGATIVE)


@shape_rule("view_as_complex")
def view_as_complex(self: Any) -> View:
    """self (*, 2) of a real dtype -> view (*) of its complex dtype."""
    if self.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
        raise RuntimeError(
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{scalar_type_name(self.dtype)}"
        )
    if not self.dim():
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    strides = self.stride()
    if not self.numel():
        return View(self.shape[:-1], contiguous_strides(self.shape[:-1]), 0, self.dtype.to_complex())
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(step % 2 for step in strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if self.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    halves = tuple(step // 2 for step in strides[:-1])
    return View(self.shape[:-1], halves, self.storage_offset() // 2, self.dtype.to_complex())
