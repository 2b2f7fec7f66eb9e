"""Shape rules of factorizations, least squares and functions of matrices."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..declarations._checks import COMPLEX, COMPLEX_HALF, REAL, USUAL, Supported
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import scalar_type_name
from ..layout import broadcast_shapes
from ..spec import Spec
from .linalg import columns, floating, lapack, square, square_shape

Ints = tuple[int, ...]

#: What factors are unpacked by: the larger of the triangles first, then the rows of the permutation.
_LOWER, _UPPER = (Supported(name, REAL | COMPLEX | COMPLEX_HALF) for name in ("tril", "triu"))
_PERMUTED = Supported("scatter_gather_scalar_cpu", USUAL)


@shape_rule("linalg_eig")
def eig(self: Any) -> tuple[Spec, Spec]:
    """self (*, N, N) -> eigenvalues (*, N), eigenvectors (*, N, N), both of complex."""
    shape, d = _complex_square(self, "linalg.eig")
    return Spec(shape[:-1], d), Spec(shape, d, columns(shape))


@shape_rule("linalg_eigvals")
def eigvals(self: Any) -> Spec:
    """self (*, N, N) -> (*, N) of complex."""
    shape, d = _complex_square(self, "linalg.eigvals")
    return Spec(shape[:-1], d)


def _complex_square(self: Any, name: str) -> tuple[Ints, Any]:
    shape = square_shape(self, name)
    if self._dtype.category < 2:
        raise RuntimeError(f"Unknown Complex ScalarType for {scalar_type_name(self._dtype)}")
    lapack(self, "linalg_eig_out_cpu")
    return shape, self._dtype.to_complex()


@shape_rule("linalg_lu_factor_ex")
def lu_factor_ex(A: Any, pivot: bool, check_errors: bool) -> tuple[Spec, Spec, Spec]:
    """A (*, M, N) -> LU (*, M, N), pivots (*, min(M, N)) of int32, info (*) of int32."""
    shape = tuple(A._array.shape)
    if len(shape) < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(shape)} instead"
        )
    lapack(A, "lu_cpu")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    k = min(shape[-2:])
    return Spec(shape, A._dtype, columns(shape)), Spec((*shape[:-2], k), dtypes.int32), Spec(shape[:-2], dtypes.int32)


@shape_rule("lu_unpack")
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool, unpack_pivots: bool) -> tuple[Spec, Spec, Spec]:
    """LU_data (*, M, N) -> P (*, M, M), L (*, M, K), U (*, K, N), K = min(M, N); (0,) for what is not wanted."""
    shape, d = tuple(LU_data._array.shape), LU_data._dtype
    if len(shape) < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(shape)} instead"
        )
    if unpack_pivots and LU_pivots._dtype is not dtypes.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    batch, (m, n) = shape[:-2], shape[-2:]
    k = min(m, n)
    if LU_data._array.size:
        if unpack_data:
            (_UPPER if m > n else _LOWER).require((), d)
        if unpack_pivots:
            _PERMUTED.require((), d)
    if unpack_pivots:
        _check_pivots(tuple(LU_pivots._array.shape), batch)
    p = (*batch, m, m) if unpack_pivots else (0,)
    lower = (*batch, m, k) if unpack_data else (0,)
    upper = (*batch, k, n) if unpack_data else (0,)
    return Spec(p, d), Spec(lower, d), Spec(upper, d)


def _check_pivots(pivots: Ints, batch: Ints) -> None:
    """Refuse pivots of fewer or other matrices, for which PyTorch reads beyond them."""
    sizes = zip(reversed(pivots[:-1]), reversed(batch), strict=False)
    if not pivots or len(pivots) - 1 > len(batch) or any(n not in (1, size) for n, size in sizes):
        raise RuntimeError(f"torch.lu_unpack: LU_pivots of shape {list(pivots)} do not fit a batch of {list(batch)}")


@shape_rule("linalg_ldl_factor_ex")
def ldl_factor_ex(self: Any, hermitian: bool, check_errors: bool) -> tuple[Spec, Spec, Spec]:
    """self (*, N, N) -> LD (*, N, N), pivots (*, N) of int32, info (*) of int32."""
    shape = square(self, "torch.linalg.ldl_factor_ex", "ldl_factor_kernel_cpu")
    return Spec(shape, self._dtype, columns(shape)), Spec(shape[:-1], dtypes.int32), Spec(shape[:-2], dtypes.int32)


@shape_rule("linalg_ldl_solve")
def ldl_solve(LD: Any, pivots: Any, B: Any, hermitian: bool) -> Spec:
    """LD (*, N, N), pivots (*, N), B (*, N, K) -> (*, N, K)."""
    shape, b = square(LD, "torch.linalg.ldl_solve", "ldl_solve_kernel_cpu"), tuple(B._array.shape)
    B.size(-2)
    if LD._dtype is not B._dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {scalar_type_name(B._dtype)} and A of type "
            f"{scalar_type_name(LD._dtype)} instead."
        )
    if b[-2] != shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {shape[-1]} by {shape[-1]} but "
            f"each b matrix is {b[-2]} by {b[-1]}"
        )
    if tuple(pivots._array.shape) != shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots.shape)} instead"
        )
    if pivots._dtype.category != 1:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {scalar_type_name(pivots._dtype)}"
        )
    result = (*broadcast_shapes([shape[:-2], b[:-2]]), *b[-2:])
    return Spec(result, B._dtype, columns(result))


@shape_rule("geqrf")
def geqrf(self: Any) -> tuple[Spec, Spec]:
    """self (*, M, N) -> reflectors (*, M, N), tau (*, min(M, N))."""
    shape = tuple(self._array.shape)
    if len(shape) < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    lapack(self, "geqrf_cpu")
    return Spec(shape, self._dtype, columns(shape)), Spec((*shape[:-2], min(shape[-2:])), self._dtype)


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@shape_rule("linalg_lstsq")
def lstsq(self: Any, b: Any, rcond: float | None, driver: str | None) -> tuple[Spec, Spec, Spec, Spec]:
    """self (*, M, N), b (*, M, K) -> solution (*, N, K), residuals (*, K), rank (*), singular values (*, min(M, N)).

    With b (*, M) the solution is (*, N). What the driver does not give is (0,).
    """
    a, rhs, d = tuple(self._array.shape), tuple(b._array.shape), self._dtype
    if len(a) < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if not rhs:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if d is not b._dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{scalar_type_name(d)} and other's dtype {scalar_type_name(b._dtype)}"
        )
    floating(self, "torch.linalg.lstsq")
    # One vector for each matrix, or one for the one matrix: several matrices share no right-hand side.
    if not 0 <= len(a) - len(rhs) <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) "
            "<= 1"
        )
    vector = len(rhs) < len(a)
    wide = (*rhs, 1) if vector else rhs
    batch = broadcast_shapes([a[:-2], wide[:-2]])
    if wide[-2] != a[-2]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    m, n = a[-2:]
    solution = (*batch, n) if vector else (*batch, n, wide[-1])
    real = d.to_real()
    return (
        Spec(solution, d, None if vector else columns((*batch, max(m, n), wide[-1]))),
        Spec(_residual_shape(batch, wide[-1], m, n, driver), real),
        Spec(a[:-2] if driver != "gels" else (0,), dtypes.int64),
        Spec((*a[:-2], min(m, n)) if driver in ("gelsd", "gelss") else (0,), real),
    )


def _residual_shape(batch: Ints, count: int, m: int, n: int, driver: str | None) -> Ints:
    """Residuals come where there are more equations than unknowns, and not from a driver that stops at the rank."""
    return (*batch, count) if m > n and driver not in (None, "gelsy") else (0,)


@shape_rule("linalg_pinv.atol_rtol_tensor")
def pinv(self: Any, atol: Any, rtol: Any, hermitian: bool) -> Spec:
    """self (*, M, N) -> (*, N, M)."""
    shape, d = tuple(self._array.shape), self._dtype
    if len(shape) < 2 or d.category < 2 or not d.native:
        raise RuntimeError(
            f"linalg.pinv({scalar_type_name(d)}{{{list(shape)}}}): expected a tensor with 2 or more dimensions of "
            "float, double, cfloat or cdouble types"
        )
    for what, given in (("atol", atol), ("rtol", rtol)):
        if given is not None and given._dtype.is_complex:
            raise RuntimeError(
                f"torch.linalg.pinv: {what} tensor of complex type is not supported. Got "
                f"{scalar_type_name(given._dtype)}"
            )
    if hermitian and 0 not in shape:
        square_shape(self, "linalg.eigh")
    tolerances = [tuple(t._array.shape) for t in (atol, rtol) if t is not None]
    return Spec((*broadcast_shapes([shape[:-2], *tolerances]), shape[-1], shape[-2]), d)


@shape_rule("linalg_matrix_exp")
def matrix_exp(self: Any) -> Spec:
    """self (*, N, N) -> (*, N, N)."""
    shape = square_shape(self, "linalg.matrix_exp")
    if self._dtype.category < 2:
        raise RuntimeError(
            "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type_name(self._dtype)}"
        )
    return Spec(shape, self._dtype)
