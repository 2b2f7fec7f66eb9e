"""Shape rules of linear algebra."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import scalar_type_name
from ..layout import broadcast_shapes
from ..spec import Spec
from .reduction import reduced_dims, reduced_shape

Ints = tuple[int, ...]


@shape_rule("linalg_vector_norm")
def vector_norm(self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Spec:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; real."""
    d = self._dtype
    norm_input(d, "linalg.vector_norm")
    real_order(ord, "linalg.vector_norm")
    if dtype is not None:
        norm_dtype(d, dtype, "linalg.vector_norm")
    shape = self._array.shape
    dims = reduced_dims(dim, len(shape))
    if float(ord) < 0 or float(ord) == float("inf"):
        for i in dims:
            if shape[i] == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation "
                    "does not have an identity"
                    if dim is None or not len(tuple(dim)) else
                    f"linalg.vector_norm cannot compute the {ord} norm on the dimension {i}because this dimension "
                    "is empty and the operation does not have an identity"
                )  # fmt: skip
    reduces = math.prod(shape) > math.prod(reduced_shape(shape, dims, keepdim)) or not shape and dim is not None
    if (dtype or d).itemsize == 1 and reduces:
        raise NotImplementedError(f"\"norm_cpu\" not implemented for '{scalar_type_name(dtype or d)}'")
    return Spec(reduced_shape(shape, dims, keepdim), (dtype or d).to_real(), arguments={"dim": dims})


@shape_rule("_norm_over")
def norm_over(self: Any, p: Any, dim: Ints, keepdim: bool) -> Spec:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; real."""
    return vector_norm(self, p, dim, keepdim, None)


def norm_input(d: dtypes.dtype, name: str) -> None:
    """Refuse to take the norm of integers."""
    if d.category < 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {scalar_type_name(d)}")


def real_order(ord: Any, name: str) -> None:
    """Refuse a complex order of a norm."""
    if isinstance(ord, complex):
        raise RuntimeError(f"{name}: Expected a non-complex scalar as the order of norm.")


def norm_dtype(d: dtypes.dtype, asked: dtypes.dtype, name: str) -> None:
    """Refuse to compute a norm in a dtype of another kind than the input's, or a narrower one."""
    if asked.category < 2:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {scalar_type_name(asked)}")
    if asked.is_complex != d.is_complex:
        kind = "complex" if d.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {scalar_type_name(asked)}")
    if dtypes.promote_types(d, asked) is not asked:
        raise RuntimeError(
            f"{name}: the dtype of the input ({scalar_type_name(d)}) should be convertible without narrowing to the "
            f"specified dtype ({scalar_type_name(asked)})"
        )


def square(self: Any, name: str, kernel: str | None = None) -> Ints:
    """Shape of square matrices of a floating dtype.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    shape = square_shape(self, name)
    floating(self, name, kernel)
    return shape


def square_shape(self: Any, name: str) -> Ints:
    """Shape of square matrices whose dtype the caller checks itself."""
    shape = tuple(self._array.shape)
    if len(shape) < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )
    return shape


def lapack(self: Any, kernel: str) -> None:
    """Refuse a dtype that LAPACK lacks, as PyTorch's kernel does."""
    d = self._dtype
    if d.category < 2 or not d.native:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(d)}'")


def floating(self: Any, name: str, kernel: str | None = None) -> None:
    """Refuse integers, and dtypes that LAPACK lacks: in the words of PyTorch's kernel, where it has come that far."""
    d = self._dtype
    if d.category < 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {scalar_type_name(d)}")
    if not d.native:
        if kernel is not None:
            lapack(self, kernel)
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {scalar_type_name(d)}")


def matrices(self: Any, name: str, kernel: str) -> Ints:
    shape = self._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    floating(self, name, kernel)
    return tuple(shape)


def columns(shape: Ints) -> Ints:
    """Strides of matrices stored column by column, as LAPACK leaves them."""
    rows, cols = shape[-2:]
    strides = [1, max(rows, 1)]
    step = max(rows, 1) * max(cols, 1)
    for n in reversed(shape[:-2]):
        strides.insert(0, step)
        step *= max(n, 1)
    return tuple(strides)


@shape_rule("linalg_inv_ex")
def inv_ex(A: Any, check_errors: bool) -> tuple[Spec, Spec]:
    """A (*, N, N) -> inverse (*, N, N), info (*) of int32."""
    shape = square(A, "linalg.inv")
    return Spec(shape, A._dtype, columns(shape)), Spec(shape[:-2], dtypes.int32)


def is_vector(A: Any, B: Any) -> bool:
    """Whether B holds vectors, one for each matrix."""
    return (
        B._array.ndim == 1 or A._array.ndim - 1 == B._array.ndim and tuple(A._array.shape[:-1]) == tuple(B._array.shape)
    )


@shape_rule("linalg_solve_ex")
def solve_ex(A: Any, B: Any, left: bool, check_errors: bool) -> tuple[Spec, Spec]:
    """A (*, N, N), B (*, N, K) or (*, N) -> result like B, info (*) of int32; B (*, K, N) from the right."""
    if A._dtype.category < 2:
        floating(A, "linalg.solve")
    if A._dtype is not B._dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{scalar_type_name(A._dtype)} and B of type {scalar_type_name(B._dtype)} instead"
        )
    shape = square(A, "linalg.solve", "lu_cpu")
    vector = is_vector(A, B)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    b = (*B._array.shape, 1) if vector else tuple(B._array.shape)
    side = -2 if left else -1
    if len(b) < 2:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    if b[side] != shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({shape[-2]}x{shape[-1]} and {b[-2]}x{b[-1]})"
        )
    batch = broadcast_shapes([shape[:-2], b[:-2]])
    result = (*batch, *b[-2:])
    if vector:
        result = result[:-1]
        # LAPACK gets vectors of several matrices as one matrix.
        strides = columns(result) if len(result) > 1 else None
        return Spec(result, B._dtype, strides), Spec(shape[:-2], dtypes.int32)
    return Spec(result, B._dtype, columns(result) if left else None), Spec(shape[:-2], dtypes.int32)


@shape_rule("_linalg_det")
def det(A: Any) -> Spec:
    """A (*, N, N) -> (*)."""
    return Spec(square(A, "linalg.det", "lu_cpu")[:-2], A._dtype)


@shape_rule("linalg_slogdet")
def slogdet(A: Any) -> tuple[Spec, Spec]:
    """A (*, N, N) -> sign (*), logabsdet (*) of real."""
    batch = square(A, "linalg.slogdet")[:-2]
    return Spec(batch, A._dtype), Spec(batch, A._dtype.to_real())


@shape_rule("linalg_cholesky_ex")
def cholesky_ex(self: Any, upper: bool, check_errors: bool) -> tuple[Spec, Spec]:
    """self (*, N, N) -> L (*, N, N), info (*) of int32."""
    shape = square(self, "linalg.cholesky", "cholesky_cpu")
    return Spec(shape, self._dtype, columns(shape)), Spec(shape[:-2], dtypes.int32)


@shape_rule("linalg_qr")
def qr(A: Any, mode: str) -> tuple[Spec, Spec]:
    """A (*, M, N) -> Q (*, M, K), R (*, K, N), K = min(M, N); complete: K = M; mode r: Q (0,)."""
    shape = matrices(A, "linalg.qr", "geqrf_cpu")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    m, n = shape[-2:]
    k = m if mode == "complete" else min(m, n)
    q = (*shape[:-2], m, k) if mode != "r" else (0,)
    r = (*shape[:-2], k, n)
    return Spec(q, A._dtype, columns(q) if mode != "r" else None), Spec(r, A._dtype, columns(r))


@shape_rule("linalg_eigh")
def eigh(self: Any, UPLO: str) -> tuple[Spec, Spec]:
    """self (*, N, N) -> eigenvalues (*, N) of real, eigenvectors (*, N, N)."""
    shape = square_shape(self, "linalg.eigh")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    lapack(self, "linalg_eigh_cpu")
    return Spec(shape[:-1], self._dtype.to_real()), Spec(shape, self._dtype, columns(shape))


@shape_rule("linalg_svd")
def svd(A: Any, full_matrices: bool, driver: str | None) -> tuple[Spec, Spec, Spec]:
    """A (*, M, N) -> U (*, M, K), S (*, K) of real, Vh (*, K, N), K = min(M, N); full: U (*, M, M), Vh (*, N, N)."""
    shape = matrices(A, "linalg.svd", "linalg_svd_cpu")
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    m, n = shape[-2:]
    k = min(m, n)
    u = (*shape[:-2], m, m if full_matrices else k)
    vh = (*shape[:-2], n if full_matrices else k, n)
    return Spec(u, A._dtype, columns(u)), Spec((*shape[:-2], k), A._dtype.to_real()), Spec(vh, A._dtype, columns(vh))


@shape_rule("linalg_solve_triangular")
def solve_triangular(self: Any, B: Any, upper: bool, left: bool, unitriangular: bool) -> Spec:
    """self (*, N, N), B (*, N, K) -> (*, N, K) of self's dtype; B (*, K, N) from the right."""
    shape, b = square_shape(self, "linalg.solve_triangular"), tuple(B._array.shape)
    if len(b) < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    if b[-2 if left else -1] != shape[-1]:
        raise RuntimeError(
            "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({shape[-2]}x{shape[-1]} and {b[-2]}x{b[-1]})"
        )
    lapack(self, "triangular_solve_cpu")
    result = (*broadcast_shapes([shape[:-2], b[:-2]]), *b[-2:])
    return Spec(result, self._dtype, columns(result))
