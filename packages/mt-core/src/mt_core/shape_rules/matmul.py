"""Shape rules of products."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import cpp_type_name, scalar_type_name, tensor_type_name
from ..number_range import check_factor, check_number
from ..spec import Spec
from ..tensor import no_dimensions


@shape_rule("mm")
def mm(self: Any, mat2: Any) -> Spec:
    """self (M, K), mat2 (K, N) -> (M, N)."""
    a, b = self._array.shape, mat2._array.shape
    if len(a) != 2:
        raise RuntimeError("self must be a matrix")
    if len(b) != 2:
        raise RuntimeError("mat2 must be a matrix")
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    if self._dtype is not mat2._dtype:
        names = cpp_type_name(self._dtype), cpp_type_name(mat2._dtype)
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}")
    return Spec((a[0], b[1]), self._dtype)


@shape_rule("bmm")
def bmm(self: Any, mat2: Any) -> Spec:
    """self (B, M, K), mat2 (B, K, N) -> (B, M, N)."""
    _check_batches(self, mat2)
    if self._dtype is not mat2._dtype and self.numel() and mat2.numel():
        raise RuntimeError(
            f"expected scalar type {scalar_type_name(self._dtype)} but found {scalar_type_name(mat2._dtype)}"
        )
    a, b = self._array.shape, mat2._array.shape
    return Spec((a[0], a[1], b[2]), mat2._dtype)


def _check_batches(batch1: Any, batch2: Any) -> None:
    a, b = batch1._array.shape, batch2._array.shape
    if len(a) != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if len(b) != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, "
            f"{b[1]}]."
        )


@shape_rule("mv")
def mv(self: Any, vec: Any) -> Spec:
    """self (M, K), vec (K,) -> (M,)."""
    a, b = self._array.shape, vec._array.shape
    if not a:
        raise no_dimensions(0)
    if len(a) != 2 or len(b) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {len(a)}, {len(b)}")
    if a[1] != b[0]:
        raise RuntimeError(f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
    if self._dtype is not vec._dtype:
        of_vector = scalar_type_name(vec._dtype)
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{of_vector}, {scalar_type_name(self._dtype)}, and {of_vector}"
        )
    return Spec((a[0],), self._dtype)


@shape_rule("dot", "vdot")
def dot(self: Any, tensor: Any) -> Spec:
    """self (K,), tensor (K,) -> ()."""
    a, b = self._array.shape, tensor._array.shape
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    if self._dtype is not tensor._dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {scalar_type_name(self._dtype)} and "
            f"{scalar_type_name(tensor._dtype)}"
        )
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same number of "
            f"elements, but got {a[0]} and {b[0]} elements respectively"
        )
    return Spec((), self._dtype)


def check_expandable(self: Any, target: tuple[int, ...]) -> None:
    """Refuse what does not expand to a shape, in the words of ``expand``."""
    shape = self._array.shape
    fits = len(shape) <= len(target) and all(
        n in (1, t) for n, t in zip(reversed(shape), reversed(target), strict=False)
    )
    if not fits:
        bad = next((i for i in range(1, len(shape) + 1) if i > len(target) or shape[-i] not in (1, target[-i])), 1)
        if len(shape) > len(target):
            raise RuntimeError(
                f"expand({tensor_type_name(self._dtype)}{{{list(shape)}}}, size={list(target)}): the "
                f"number of sizes provided ({len(target)}) must be greater or equal to the number of dimensions in "
                f"the tensor ({len(shape)})"
            )
        raise RuntimeError(
            f"The expanded size of the tensor ({target[-bad]}) must match the existing size ({shape[-bad]}) at "
            f"non-singleton dimension {len(target) - bad}.  Target sizes: {list(target)}.  Tensor sizes: "
            f"{list(shape)}"
        )


def _scalars_fit(d: Any, *scalars: Any) -> None:
    """Refuse what the dtype that is computed in does not hold; integer types take what is before the point."""
    for number in scalars:
        check_factor(number, d)


def _check_factors(self: Any, mat1: Any, mat2: Any) -> None:
    """Refuse a sum and factors of several dtypes."""
    for name, tensor in (("self", self), ("mat1", mat1)):
        if tensor._dtype is not mat2._dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {scalar_type_name(tensor._dtype)} and "
                f"{scalar_type_name(mat2._dtype)}"
            )


@shape_rule("addmm")
def addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Spec:
    """self broadcast to (M, N), mat1 (M, K), mat2 (K, N) -> (M, N)."""
    _check_factors(self, mat1, mat2)
    a, b = mat1._array.shape, mat2._array.shape
    if len(a) != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {len(a)}-D tensor")
    if len(b) != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {len(b)}-D tensor")
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    _scalars_fit(self._dtype, alpha, beta)
    check_expandable(self, (a[0], b[1]))
    return Spec((a[0], b[1]), self._dtype)


@shape_rule("addmv")
def addmv(self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Spec:
    """self broadcast to (M,), mat (M, K), vec (K,) -> (M,); where the product adds nothing, of self's shape."""
    a, b, c = mat._array.shape, vec._array.shape, self._array.shape
    if len(a) != 2 or len(b) != 1 or len(c) > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {len(c)}, {len(a)}, {len(b)}")
    if a[1] != b[0] or (c and c[0] not in (1, a[0])):
        raise RuntimeError(f"size mismatch, got input ({c[0] if c else 1}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
    if not self._dtype is mat._dtype is vec._dtype:
        names = [scalar_type_name(tensor._dtype) for tensor in (self, mat, vec)]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}"
        )
    for number in (alpha, beta):
        check_number(number, self._dtype)
    return Spec(tuple(c) if beta != 0 and 0 in a else (a[0],), self._dtype)


@shape_rule("baddbmm")
def baddbmm(self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Spec:
    """self broadcast to (B, M, N), batch1 (B, M, K), batch2 (B, K, N) -> (B, M, N)."""
    shape = (batch1.size(0), batch1.size(1), batch2.size(2))
    check_expandable(self, shape)
    _check_batches(batch1, batch2)
    if not self._dtype is batch1._dtype is batch2._dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {cpp_type_name(self._dtype)}, "
            f"batch1: {cpp_type_name(batch1._dtype)}, batch2: {cpp_type_name(batch2._dtype)}"
        )
    _scalars_fit(self._dtype, alpha, beta)
    return Spec(shape, self._dtype)


@shape_rule("_linear_of_rows")
def linear_of_rows(bias: Any, input: Any, weight: Any) -> Spec:
    """bias (N,), input (M, K), weight (N, K) -> (M, N)."""
    _check_factors(bias, input, weight)
    (m, k), (n, columns) = input._array.shape, weight._array.shape
    if k != columns:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {columns}x{n})")
    check_expandable(bias, (m, n))
    return Spec((m, n), input._dtype)


@shape_rule("_int_mm")
def int_mm(self: Any, mat2: Any) -> Spec:
    """self (M, K) of int8 or uint8, mat2 (K, N) of int8 -> (M, N) of int32."""
    for name, tensor in (("self", self), ("mat2", mat2)):
        tensor.size(1)
        if tensor._array.ndim != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {tensor._array.ndim}")
    a, b = self._array.shape, mat2._array.shape
    if a[1] != b[0]:
        raise RuntimeError(f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {a[1]} and {b[0]}")
    if self._dtype not in (dtypes.int8, dtypes.uint8):
        raise RuntimeError(
            f"int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got {cpp_type_name(self._dtype)}"
        )
    if mat2._dtype is not dtypes.int8:
        raise RuntimeError(
            f"int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got {cpp_type_name(mat2._dtype)}"
        )
    return Spec((a[0], b[1]), dtypes.int32)
