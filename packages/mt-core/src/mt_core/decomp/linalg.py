"""Linear algebra written in other operators."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..checks.dtypes import require_same_dtype
from ..checks.linalg import refuse_failure
from ..deprecation import warn_once
from ..dispatch.registry import register_composite as composite
from ..dtypes import cpp_type_name, scalar_type_name
from ..formats import contiguous_format
from ..return_types import struct_sequence
from ..shape_rules.linalg import floating, norm_dtype, norm_input, real_order, square
from ..tensor import wrap_dim

Ints = tuple[int, ...]

_NORM = "linalg.matrix_norm"


def _two_dims(self: Any, dim: Ints, name: str = "linalg.matrix_norm") -> Ints:
    if self.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    a, b = (wrap_dim(d, self.dim()) for d in dim)
    if a == b:
        raise RuntimeError(f"{name}: dims must be different. Got ({a}, {b})")
    return a, b


def _singular_values(self: Any, dims: Ints, keepdim: bool, combine: Any) -> Any:
    values = ops.linalg_svdvals(self.permute([*[d for d in range(self.dim()) if d not in dims], *dims]))
    result = combine(values)
    if not keepdim:
        return result
    order = [*[d for d in range(self.dim()) if d not in dims], *dims]
    return result.unsqueeze(-1).unsqueeze(-1).permute([order.index(d) for d in range(self.dim())])


@composite("linalg_matrix_norm")
def matrix_norm(self: Any, ord: Any, dim: Ints, keepdim: bool, dtype: Any) -> Any:
    """A (*, M, N) -> (*), or 1 in place of M and N with `keepdim`."""
    real_order(ord, _NORM)
    dims = _two_dims(self, dim)
    A = _normed(self, dtype)
    size = abs(float(ord))
    if size not in (1, 2, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    largest = float(ord) > 0
    if size == 2:
        return _singular_values(A, dims, keepdim, lambda s: _extreme(s, -1, False, largest))
    over, rest = dims if size == 1 else (dims[1], dims[0])
    sums = ops.linalg_vector_norm(A, 1, (over,), keepdim)
    if not keepdim and rest > over:
        rest -= 1
    return _extreme(sums, rest, keepdim, largest)


def _extreme(values: Any, dim: int, keepdim: bool, largest: bool) -> Any:
    """The largest value, or the smallest, along a dimension; of none the largest is 0."""
    if largest and not values.shape[dim]:
        return values.sum((dim,), keepdim)
    return values.amax((dim,), keepdim) if largest else values.amin((dim,), keepdim)


def _normed(self: Any, dtype: Any) -> Any:
    """What a norm is taken of: the input, in the dtype asked for."""
    norm_input(self.dtype, _NORM)
    if dtype is None:
        return self
    norm_dtype(self.dtype, dtype, _NORM)
    return self.to(dtype)


@composite("linalg_matrix_norm.str_ord")
def matrix_norm_named(self: Any, ord: str, dim: Ints, keepdim: bool, dtype: Any) -> Any:
    """A (*, M, N) -> (*), or 1 in place of M and N with `keepdim`."""
    dims = _two_dims(self, dim)
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    A = _normed(self, dtype)
    if ord == "fro":
        return ops.linalg_vector_norm(A, 2, dims, keepdim)
    return _singular_values(A, dims, keepdim, lambda s: s.sum(-1))


@composite("linalg_norm")
def norm(self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """A (*) -> () over all of it, or without the dimensions `dim`: a vector's norm for one, a matrix's for two."""
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got [{', '.join(map(str, dim))}]"
        )
    if dim is None and ord is not None and self.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    if ord is not None and (dim is not None and len(dim) == 2 or dim is None and self.dim() == 2):
        return matrix_norm(self, ord, tuple(dim) if dim is not None else (0, 1), keepdim, dtype)
    return ops.linalg_vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@composite("linalg_norm.ord_str")
def norm_named(self: Any, ord: str, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """A (*) -> () over all of it, or without the dimensions `dim`: a vector's norm for one, a matrix's for two."""
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got [{', '.join(map(str, dim))}]"
        )
    if dim is None and self.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    return matrix_norm_named(self, ord, tuple(dim) if dim is not None else (0, 1), keepdim, dtype)


@composite("linalg_vecdot")
def vecdot(x: Any, y: Any, dim: int) -> Any:
    """x (*, N, *), y (*, N, *), broadcast -> without `dim`."""
    if x.dtype.category < 2:
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {scalar_type_name(x.dtype)}"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {scalar_type_name(x.dtype)} "
            f"and y of type {scalar_type_name(y.dtype)} instead"
        )
    return ((x.conj() if x.is_complex() else x) * y).sum(dim)


@composite("linalg_cross", explicit=True)
def linalg_cross(self: Any, other: Any, dim: int) -> Any:
    """self (*, 3, *), other (*, 3, *), broadcast -> the common shape; 3 stands at `dim`."""
    if self.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if self.size(dim) != 3 or other.size(dim) != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.size(dim)} and {other.size(dim)}"
        )
    require_same_dtype(self, other)

    def part(i: int) -> Any:
        j, k = (i + 1) % 3, (i + 2) % 3
        return self.select(dim, j) * other.select(dim, k) - self.select(dim, k) * other.select(dim, j)

    return ops.stack([part(0), part(1), part(2)], wrap_dim(dim, self.dim()) - self.dim())


@composite("cross")
def cross(self: Any, other: Any, dim: int | None) -> Any:
    """self (*, 3, *), other (*, 3, *) -> the same shape; 3 stands at `dim`, or first where none is given."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross "
            "in a future release."
        )
        dim = next((i for i, n in enumerate(self.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return ops.linalg_cross(self, other, dim=dim)


@composite("linalg_diagonal")
def diagonal(A: Any, offset: int, dim1: int, dim2: int) -> Any:
    return A.diagonal(offset, dim1, dim2)


@composite("linalg_matmul")
def linalg_matmul(self: Any, other: Any) -> Any:
    return self.matmul(other)


@composite("linalg_multi_dot")
def multi_dot(tensors: list[Any]) -> Any:
    """tensors (M, K1), (K1, K2), ..., (Kn, N) -> (M, N); the first and the last may be vectors."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, last = tensors[0], tensors[-1]
    chain = list(tensors)
    for position, t in ((0, first), (-1, last)):
        if t.dim() not in (1, 2):
            which = "first" if position == 0 else "last"
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {t.dim()}D")
    for i, t in enumerate(tensors[1:-1], 1):
        if t.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.dim()}D")
    for i, t in enumerate(tensors):
        if t.dtype is not first.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {cpp_type_name(first.dtype)} "
                f"and tensor {i} {cpp_type_name(t.dtype)}"
            )
    chain[0] = first.unsqueeze(0) if first.dim() == 1 else first
    chain[-1] = last.unsqueeze(1) if last.dim() == 1 else last
    for i, (a, b) in enumerate(pairwise(chain)):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and "
                f"{list(tensors[i + 1].shape)} cannot be multiplied"
            )
    return _cheapest_product(chain).view((*first.shape[:-1], *last.shape[1:]))


def _cheapest_product(chain: list[Any]) -> Any:
    """Matrix chain order by dynamic programming (Cormen et al., 15.2)."""
    count = len(chain)
    sizes = [chain[0].shape[0], *[m.shape[1] for m in chain]]
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(options)
            cut[i][j] = i + options.index(cost[i][j])

    def product(i: int, j: int) -> Any:
        return chain[i] if i == j else product(i, cut[i][j]).mm(product(cut[i][j] + 1, j))

    return product(0, count - 1)


@composite("chain_matmul")
def chain_matmul(matrices: list[Any]) -> Any:
    """matrices (M, K1), (K1, K2), ..., (Kn, N) -> (M, N)."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for t in matrices:
        if t.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {t.dim()}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)


@composite("linalg_matrix_power", "matrix_power")
def matrix_power(self: Any, n: int) -> Any:
    """self (*, N, N) -> (*, N, N)."""
    if self.dim() < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if self.shape[-1] != self.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {self.shape[-2]} by "
            f"{self.shape[-1]} matrices"
        )
    if n == 0:
        made = self.clone(memory_format=contiguous_format)
        return made.copy_(ops.eye(self.shape[-1], dtype=self.dtype, device=self.device))
    base = ops.linalg_inv(self) if n < 0 else self
    result, n = None, abs(n)
    while n:
        if n & 1:
            result = base if result is None else result @ base
        n >>= 1
        if n:
            base = base @ base
    return result.clone() if result is self else result


@composite("linalg_vander")
def vander(x: Any, N: int | None) -> Any:
    """x (*, M) -> (*, M, N): rising powers of x."""
    if not x.dim():
        x = x.unsqueeze(0)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    d = dtypes.int64 if x.dtype.category < 2 else x.dtype
    x = x.to(d).unsqueeze(-1)
    ones = ops.ones_like(x)
    return ops.cat([ones, x.expand((*x.shape[:-1], count - 1)).cumprod(-1)], -1)


@composite("linalg_inv")
def inv(A: Any) -> Any:
    """A (*, N, N) -> (*, N, N)."""
    inverse, info = ops.linalg_inv_ex(A)
    _raise_singular(info, "linalg.inv")
    return inverse


@composite("inverse")
def inverse(self: Any) -> Any:
    """A (*, N, N) -> (*, N, N)."""
    return inv(self)


@composite("_linalg_check_errors", explicit=True)
def check_errors(info: Any, api_name: str, is_matrix: bool) -> None:
    """info (*) of int32 -> nothing; nothing is known of tensors without elements."""
    if info.dtype is not dtypes.int32:
        raise RuntimeError(
            'infos.scalar_type() == kInt INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/aten/src/ATen/native/'
            'BatchLinearAlgebra.cpp":1575, please report a bug to PyTorch. '
        )
    if not info.is_meta:
        refuse_failure(info.reshape(-1).tolist(), not is_matrix, api_name)


def _raise_singular(info: Any, name: str) -> None:
    ops._linalg_check_errors(info, name, is_matrix=not info.dim())


@composite("linalg_solve")
def solve(A: Any, B: Any, left: bool) -> Any:
    """A (*, N, N), B (*, N, K) or (*, N) -> like B; B (*, K, N) from the right."""
    result, info = ops.linalg_solve_ex(A, B, left=left)
    _raise_singular(info, "torch.linalg.solve")
    return result


@composite("linalg_det")
def linalg_det(A: Any) -> Any:
    """A (*, N, N) -> (*)."""
    return ops._linalg_det(A)


@composite("det")
def det(self: Any) -> Any:
    """A (*, N, N) -> (*)."""
    return ops._linalg_det(self)


@composite("slogdet")
def slogdet(self: Any) -> Any:
    """A (*, N, N) -> sign (*), logabsdet (*)."""
    return ops.linalg_slogdet(self)


@composite("logdet")
def logdet(self: Any) -> Any:
    """A (*, N, N) -> (*)."""
    square(self, "logdet")
    sign, logs = ops.linalg_slogdet(self)
    if self.is_complex():
        return sign.log() + logs
    return ops.where(sign == -1, ops.full((), math.nan, dtype=logs.dtype, device=logs.device), logs)


@composite("linalg_cholesky")
def cholesky(self: Any, upper: bool) -> Any:
    """self (*, N, N) -> (*, N, N)."""
    factor, info = ops.linalg_cholesky_ex(self, upper=upper)
    _raise_singular(info, "linalg.cholesky")
    return factor


@composite("cholesky", explicit=True)
def cholesky_(self: Any, upper: bool) -> Any:
    """self (*, N, N) -> (*, N, N)."""
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
        "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
        "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\n"
        "This transform will produce equivalent results for all valid (symmetric positive definite) inputs."
    )
    if not self.numel():
        return self.clone()
    square(self, "cholesky", "cholesky_cpu")
    factor, info = ops.linalg_cholesky_ex(self, upper=upper)
    _raise_singular(info, "cholesky")
    return factor


@composite("qr")
def qr(self: Any, some: bool) -> Any:
    """self (*, M, N) -> Q (*, M, K), R (*, K, N); K = min(M, N) for `some`, else M."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe "
        "boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
        "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return ops.linalg_qr(self, "reduced" if some else "complete")


@composite("linalg_eigvalsh")
def eigvalsh(self: Any, UPLO: str) -> Any:
    """self (*, N, N) -> (*, N) of real."""
    return ops.linalg_eigh(self, UPLO)[0]


@composite("linalg_svdvals")
def svdvals(A: Any, driver: Any) -> Any:
    """A (*, M, N) -> (*, min(M, N)) of real."""
    return ops.linalg_svd(A, False, driver=driver)[1]


@composite("svd")
def svd(self: Any, some: bool, compute_uv: bool) -> Any:
    """self (*, M, N) -> U (*, M, K), S (*, K), V (*, N, K); K = min(M, N) for `some`."""
    if self.dim() < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {self.dim()} dimensions instead"
        )
    named = struct_sequence("svd", ("U", "S", "V"))
    if not compute_uv:
        m, n = self.shape[-2:]
        nothing = [self.new_empty((*self.shape[:-2], size, size)).zero_() for size in (m, n)]  # counted as a write
        return named((nothing[0], svdvals(self, None), nothing[1].mT))
    u, s, vh = ops.linalg_svd(self, not some)
    return named((u, s, vh.mH))


@composite("frobenius_norm.dim")
def frobenius_norm(self: Any, dim: Ints, keepdim: bool) -> Any:
    """self (*) -> without the dimensions `dim`, or 1 there with `keepdim`; real."""
    warn_once(
        "at::frobenius_norm is deprecated and it is just left for JIT compatibility. It will be removed in a future "
        "PyTorch release. Please use `linalg.vector_norm(A, 2., dim, keepdim)` instead"
    )
    if self._dtype.category < 2:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. "
            f"Got {scalar_type_name(self._dtype)} instead."
        )
    return ops._norm_over(self, 2, dim, keepdim)


def _nuclear_norm(self: Any, dim: Ints, keepdim: bool) -> Any:
    """self (*) -> without the two dimensions `dim`, or 1 there with `keepdim`; real."""
    warn_once(
        "at::nuclear_norm is deprecated and it is just left for JIT compatibility. It will be removed in a future "
        "PyTorch release. Please use `linalg.matrix_norm(A, 'nuc', dim, keepdim)` instead"
    )
    floating(self, "linalg.matrix_norm")
    return ops.linalg_matrix_norm(self, "nuc", dim, keepdim)


composite("nuclear_norm")(lambda self, keepdim: _nuclear_norm(self, (-2, -1), keepdim))
composite("nuclear_norm.dim")(_nuclear_norm)


@composite("_norm_over", explicit=True)
def norm_over(self: Any, p: Any, dim: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; real."""
    return ops.linalg_vector_norm(self, p, dim, keepdim)
