"""Products written in `mm`, `bmm`, `mv` and `dot`."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..declarations._checks import COMPLEX, FLOATS, INTEGERS, Supported
from ..dispatch.registry import overload
from ..dispatch.registry import register_composite as composite
from ..dispatch.writing import resize_out
from ..dtypes import scalar_type_name
from ..keys import AUTOGRAD, STRIDED
from ..layout import broadcast_shapes
from ..number_range import check_factor, check_number
from ..promotion import result_type_of
from ..shape_rules.matmul import check_expandable
from ..state import tls
from ..transforms.batched import hidden_from

_mm = overload("mm", "matmul").cache
_SUMMED = Supported("addmm_impl_cpu_", INTEGERS | FLOATS | COMPLEX)
_rows = overload("_linear_of_rows", "matmul").cache


@composite("matmul")
def matmul(self: Any, other: Any) -> Any:
    """self (*, M, K), other (*, K, N), batches broadcast -> (*, M, N); a vector (K,) loses its dimension."""
    a, b = self._array.ndim, other._array.ndim
    if a == 2 and b == 2:
        return _mm[self._keys | other._keys | tls.mode](self, other)
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return self.dot(other)
    if b == 1 and a == 2:
        return self.mv(other)
    if a == 1 and b == 2:
        return self.unsqueeze(0).mm(other).squeeze_(0)
    if min(a, b) < 3 and _are_rows(self, other):
        return _rows_times(self, other) if a > b else _columns_times(self, other)
    return _batched(self, other)


def _are_rows(self: Any, other: Any) -> bool:
    """Whether the batches of one factor are rows of one product: where that copies nothing, or saves a large gradient.

    The gradient of the smaller factor would have the batch dimensions of the larger one otherwise.
    """
    larger, smaller = (self, other) if self._array.ndim >= other._array.ndim else (other.mT, self)
    if smaller._keys & AUTOGRAD:
        return True
    if self._array.ndim == 2:
        return False
    shape, strides = larger.shape, larger.stride()
    return not larger.numel() or all(strides[i] == strides[i + 1] * shape[i + 1] for i in range(len(shape) - 2))


def _rows_times(self: Any, factor: Any) -> Any:
    """(..., n, k) @ (k, m) or (k,): all leading dimensions are rows of one product."""
    shape, sizes = self._array.shape, factor._array.shape
    rows = self.reshape(math.prod(shape[:-1]), shape[-1])
    product = rows.mm(factor) if len(sizes) == 2 else rows.mv(factor)
    return ops._unsafe_view(product, (*shape[:-1], *sizes[1:]))


def _columns_times(self: Any, factor: Any) -> Any:
    """(n, k) or (k,) @ (..., k, m): the same of the transposed factors, and transposed again."""
    if self._array.ndim == 1:
        return _rows_times(factor.mT, self)
    return _rows_times(factor.mT, self.t()).mT.contiguous()


def _batched(self: Any, other: Any) -> Any:
    """Batches broadcast against each other, then one `bmm`."""
    a, b = self._array.shape, other._array.shape
    if len(a) == len(b) == 3 and a[0] != b[0]:
        # A factor that is broadcast gets the gradient of one product rather than one per batch.
        if a[0] == 1 and self._keys & AUTOGRAD:
            return matmul(self.squeeze(0), other)
        if b[0] == 1 and other._keys & AUTOGRAD:
            return matmul(self, other.squeeze(0))
    batch = broadcast_shapes([a[:-2], b[:-2]])
    count = math.prod(batch)
    row = a[-2:] if len(a) > 1 else (1, a[0])
    left = self.expand((*batch, *row)).reshape((count, *row))
    if len(b) == 1:
        right = other.expand((*batch, *b)).reshape((count, *b)).unsqueeze(2)
        return ops._unsafe_view(left.bmm(right).squeeze(-1), (*batch, *a[-2:-1]))
    right = other.expand((*batch, *b[-2:])).reshape((count, *b[-2:]))
    return ops._unsafe_view(left.bmm(right), (*batch, *a[-2:-1], b[-1]))


@composite("linear")
def linear(input: Any, weight: Any, bias: Any) -> Any:
    """input (*, K), weight (N, K), bias (N,) -> (*, N); weight (K,), bias () -> (*)."""
    ndim, size = input._array.ndim, weight._array.ndim
    if not ndim or not size:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {ndim}D and {size}D")
    if bias is None:
        return matmul(input, weight.t())
    if ndim == 2:
        return _linear_of_rows(input, weight, bias)
    if bias._array.ndim == 1 and not (input._keys | bias._keys) & STRIDED:
        shape = input._array.shape
        rows = _linear_of_rows(input.reshape(math.prod(shape[:-1]), shape[-1]), weight, bias)
        return rows.view((*shape[:-1], rows._array.shape[1]))
    return matmul(input, weight.t()).add_(bias)


def _linear_of_rows(rows: Any, weight: Any, bias: Any) -> Any:
    """rows (M, K), weight (N, K), bias (N,) or what expands to the result -> (M, N)."""
    if weight._array.ndim != 2 or bias._array.ndim != 1:
        return ops.addmm(bias, rows, weight.t())
    return _rows[bias._keys | rows._keys | weight._keys | tls.mode](bias, rows, weight)


@composite("outer", "ger")
def outer(self: Any, vec2: Any) -> Any:
    """self (M,), vec2 (N,) -> (M, N)."""
    if self._array.ndim != 1 or vec2._array.ndim != 1:
        which = ("self", self) if self._array.ndim != 1 else ("vec2", vec2)
        raise RuntimeError(f"outer: Expected 1-D argument {which[0]}, but got {which[1]._array.ndim}-D")
    return self.unsqueeze(1) * vec2


@composite("addbmm", explicit=True)
def addbmm(self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    """self broadcast to (M, N), batch1 (B, M, K), batch2 (B, K, N) -> (M, N), summed over B."""
    _check_addbmm(self, batch1, batch2)
    if batch1.size(1) * batch2.size(2):
        _SUMMED.require((self,), self._dtype)
    for number in (beta, alpha):
        check_factor(number, self._dtype)
    if self._dtype.is_integral:
        beta, alpha = int(beta), int(alpha)
    product = ops.bmm(batch1, batch2).sum(0, dtype=batch1.dtype)
    return combine(self, product, beta, alpha)


def _check_addbmm(self: Any, batch1: Any, batch2: Any) -> None:
    check_expandable(self, (batch1.size(1), batch2.size(2)))
    a, b = tuple(batch1.shape), tuple(batch2.shape)
    for name, shape in (("batch1", a), ("batch2", b)):
        if len(shape) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if a[0] != b[0]:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {a[0]} and {b[0]}")
    if a[2] != b[1]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})")
    for name, first, second in (("mat1", batch1, batch2), ("self", self, batch2)):
        if first._dtype is not second._dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {scalar_type_name(first._dtype)} and "
                f"{scalar_type_name(second._dtype)}"
            )


@composite("addbmm_", explicit=True)
def addbmm_(self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    """PyTorch gives self the shape of the result where it was smaller."""
    result = addbmm(self, batch1, batch2, beta, alpha)
    if self.shape != result.shape:
        self.data = ops.empty_like(result, dtype=self.dtype)
    return self.copy_(result)


@composite("addr", explicit=True)
def addr(self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    """self broadcast to (M, N), vec1 (M,), vec2 (N,) -> (M, N)."""
    if vec1._array.ndim != 1 or vec2._array.ndim != 1:
        which, tensor = ("vec1", vec1) if vec1._array.ndim != 1 else ("vec2", vec2)
        raise RuntimeError(f"addr: Expected 1-D argument {which}, but got {tensor._array.ndim}-D")
    product = outer(vec1, vec2)
    check_expandable(self, tuple(product.shape))
    common = result_type_of((self, product))
    for name, value in (("beta", beta), ("alpha", alpha)):
        if common.category < 2 and isinstance(value, (float, complex)):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if self.dtype is product.dtype is dtypes.bool:
        beta, alpha = bool(beta), bool(alpha)
    for name, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, bool) and common is not dtypes.bool:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        check_number(value, common)
    return combine(self, product, beta, alpha)


def combine(self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * self + alpha * product, where a beta of 0 ignores even NaN in self."""
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return scaled + (self if beta == 1 else self * beta)


@composite("inner")
def inner(self: Any, other: Any) -> Any:
    """self (*A, K), other (*B, K) -> (*A, *B)."""
    if self.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if not self.dim() or not other.dim():
        return self * other
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(self.shape)} and "
            f"{list(other.shape)}"
        )
    if self.dim() == other.dim() == 1:
        return self.dot(other).view(())
    k = self.shape[-1]
    rows, columns = (t.reshape(math.prod(t.shape[:-1]), k) for t in (self, other))
    return rows.mm(columns.t()).reshape((*self.shape[:-1], *other.shape[:-1]))


def _kron_factors(self: Any, other: Any) -> tuple[Any, Any, list[int]]:
    """Both with a dimension of the other's between their own, and the sizes of the product where those are merged."""
    ndim = max(self.dim(), other.dim())
    a, b = ((1,) * (ndim - t.dim()) + tuple(t.shape) for t in (self, other))
    left = self.reshape([n for size in a for n in (size, 1)])
    right = other.reshape([n for size in b for n in (1, size)])
    return left, right, [n * m for n, m in zip(a, b, strict=True)]


@composite("kron.out")
def kron_out(self: Any, other: Any, out: Any) -> Any:
    left, right, sizes = _kron_factors(self, other)
    resize_out(out, sizes)
    apart = [n * m for n, m in zip(left.shape, right.shape, strict=True)]
    ops.mul(left, right, out=out.data.view(apart))  # which counts its own writes: PyTorch counts none here
    return out


@composite("kron")
def kron(self: Any, other: Any) -> Any:
    """self (*A), other (*B) -> (A[i] B[i], ...), the shorter preceded by ones."""
    left, right, sizes = _kron_factors(self, other)
    product = left * right
    if not hidden_from(product):  # how the lanes of `vmap` lie is nobody's affair
        product.detach().view(sizes)  # refuses strides that do not merge, which the product has from its factors
    return ops._unsafe_view(product, sizes)
