"""Linear algebra: declarations. Functions stand in ``torch.linalg`` under the part after ``linalg_``."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dtypes import cpp_type_name
from ._checks import BOOL, COMPLEX_HALF, LAPACK, NUMBERS, OutDtypes, OutOf, Refusal, Supported
from ._declare import EXPECTED_OUT, Family

family = Family("linalg")

_OUT_OF_MATRIX_NORM = "linalg.matrix_norm expected out tensor dtype {expected} but got: {out}"


def _place(schema: str) -> dict[str, Any]:
    """Namespace and name of a ``linalg_`` function."""
    return {
        "variants": "function",
        "namespace": "torch.linalg",
        "python_name": schema.partition("(")[0].partition(".")[0].removeprefix("linalg_"),
    }


def castable(function: str, name: str = "{name}") -> OutDtypes:
    """``out`` may be what the result can be cast to; others are refused in words that name the function."""
    return OutDtypes(
        f"{function}: Expected {name} to be safely castable from {{expected}} dtype, but got {name} with dtype {{out}}"
    )


def _composite(schema: str, **options: Any) -> None:
    family.composite(schema, **{**_place(schema), **options})


def _plain(schema: str, **options: Any) -> None:
    family.plain(schema, **{**_place(schema), **options})


_plain(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    exact_out=True,
    out=True,
    doc=(
        "(sum |x|^ord)^(1/ord) over some dimensions; the largest or smallest |x| for inf and -inf, the count of "
        "nonzeros for 0."
    ),
)
family.plain(
    "_norm_over(Tensor self, Scalar p, int[1] dim, bool keepdim=False) -> Tensor",
    variants="",
    doc="`linalg_vector_norm` as distances call it.",
)
_composite(
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    exact_out=_OUT_OF_MATRIX_NORM,
    out=True,
    doc="Norms of matrices in the dimensions `dim`.",
)
_composite(
    "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? "
    "dtype=None) -> Tensor",
    exact_out=_OUT_OF_MATRIX_NORM,
    out="str_ord_out",
)
_composite(
    "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor",
    exact_out="linalg.norm expected out tensor dtype {expected} but got: {out}",
    out=True,
    doc="Norm of vectors or matrices, as `ord` and `dim` say.",
)
_composite(
    "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor",
    exact_out="linalg.norm expected out tensor dtype {expected} but got: {out}",
    out="ord_str_out",
)
_composite(
    "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    exact_out="linalg.vecdot: Expected out of dtype{expected} but found {out}",
    out=True,
    doc="sum(conj(x) * y) along a dimension.",
)
_composite(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    dtypes=Supported("cross", NUMBERS),
    out=True,
    doc="Cross product of vectors of length 3.",
    exact_out=True,
)
family.composite(
    "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
    dtypes=Supported("cross", NUMBERS),
    out=True,
    exact_out=True,
    doc="Cross product along `dim`, or along the first dimension of size 3.",
)
_composite(
    "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
    doc="Diagonals of matrices in the last two dimensions, as a view.",
)
_composite(
    "linalg_matmul(Tensor self, Tensor other) -> Tensor", exact_out=True, out=True, doc="Second name of `matmul`."
)
_composite(
    "linalg_multi_dot(Tensor[] tensors) -> Tensor",
    exact_out="multi_dot(): expected out tensor to have dtype {cpp_expected} but got {cpp_out}",
    out=True,
    doc="Product of matrices, in the cheapest order.",
)
family.composite(
    "chain_matmul(Tensor[] matrices) -> Tensor",
    variants="function",
    exact_out="multi_dot(): expected out tensor to have dtype {cpp_expected} but got {cpp_out}",
    out=True,
    doc="Product of several matrices in the order that costs least.",
)


def _check_power_out(self: Any, result: dtypes.dtype, out: dtypes.dtype) -> None:
    castable("matrix_power", "result").require("out", result, out, self)
    if out is not result:
        raise RuntimeError(EXPECTED_OUT.format(cpp_expected=cpp_type_name(result), cpp_out=cpp_type_name(out)))


_composite(
    "linalg_matrix_power(Tensor self, int n) -> Tensor",
    out_check=OutOf(_check_power_out),
    out=True,
    doc="Integer powers of square matrices; negative ones invert.",
)
family.composite(
    "matrix_power(Tensor self, int n) -> Tensor",
    out_check=OutOf(_check_power_out),
    out=True,
    doc="Second name of `linalg_matrix_power`.",
)
_NO_POWERS = COMPLEX_HALF | {dtypes.float16, dtypes.bfloat16}
_composite(
    "linalg_vander(Tensor x, *, int? N=None) -> Tensor",
    dtypes=Supported(
        "vander",
        NUMBERS - _NO_POWERS,
        Refusal(
            BOOL | _NO_POWERS,
            "linalg.vander supports floating point, complex, and integer tensors, but got {}",
        ),
    ),
    doc="x^0 ... x^(N-1) along a new last dimension.",
)
_plain(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    exact_out=True,
    out=("inverse", "info"),
    doc="Inverses and, per matrix, 0 or which pivot is zero.",
    laid_out=True,
)
_composite("linalg_inv(Tensor A) -> Tensor", out=True, doc="Inverse of square matrices.", exact_out=True, laid_out=True)
family.composite(
    "inverse(Tensor self) -> Tensor", out=True, exact_out=True, doc="Second name of `linalg_inv`.", laid_out=True
)
family.composite(
    "_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
    variants="function",
    doc="Raise where `info` says that a factorization failed, in the words of the function that is named.",
)
_plain(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    exact_out=True,
    out=("result", "info"),
    doc="Solutions of A X = B and, per matrix, 0 or which pivot is zero.",
    laid_out=True,
)
_composite(
    "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    exact_out=True,
    out=True,
    doc="X with A X = B (or X A = B).",
    laid_out=True,
)
_plain("_linalg_det(Tensor A) -> Tensor", namespace="internal", python_name="_linalg_det")
_composite(
    "linalg_det(Tensor A) -> Tensor", exact_out=True, out=True, doc="Determinants of square matrices (..., n, n)."
)
family.composite("det(Tensor self) -> Tensor", doc="Second name of `linalg_det`.")
_plain(
    "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    exact_out=True,
    out=("sign", "logabsdet"),
    doc="Sign and log of the absolute determinant.",
)
family.composite(
    "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
    exact_out=True,
    out=("sign", "logabsdet"),
    doc="Second name of `linalg_slogdet`.",
)
family.composite("logdet(Tensor self) -> Tensor", doc="Logarithm of determinants; nan where they are negative.")
_plain(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    exact_out=True,
    out=("L", "info"),
    doc="Cholesky factors and, per matrix, 0 or the order of the minor that is not positive definite.",
    laid_out=True,
)
_composite(
    "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    exact_out=True,
    out=True,
    doc="L with L L^H = A, of positive definite matrices.",
    laid_out=True,
)
family.composite(
    "cholesky(Tensor self, bool upper=False) -> Tensor",
    dtypes=Supported("cholesky_cpu", LAPACK),
    out_check=castable("cholesky"),
    out=True,
    doc="Cholesky factors of positive definite matrices; lower, unless `upper`.",
)
_plain(
    "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    exact_out=True,
    out=("Q", "R"),
    doc="A = Q R, Q with orthonormal columns, R upper triangular.",
    laid_out=True,
)
family.composite(
    "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    exact_out=True,
    out=("Q", "R"),
    doc="QR decomposition; reduced, unless `some` is False.",
    laid_out=True,
)
_plain(
    "linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
    exact_out=True,
    out=("eigvals", "eigvecs"),
    doc="Eigenvalues (ascending) and eigenvectors of Hermitian matrices.",
    laid_out=True,
)
_composite(
    "linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor",
    exact_out=True,
    out=True,
    doc="Eigenvalues, rising, of symmetric or Hermitian matrices.",
)
_plain(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    exact_out=True,
    out=("U", "S", "Vh"),
    doc="A = U diag(S) Vh, singular values in descending order.",
    laid_out=True,
)
_composite(
    "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", exact_out=True, out=True, doc="Singular values, falling."
)
family.composite(
    "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
    exact_out=True,
    out=("U", "S", "V"),
    doc="Singular value decomposition with V, not its adjoint.",
    laid_out=True,
)
_plain(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    exact_out="expected scalar type {expected} but found {out}",
    out=True,
    doc="Solutions of A X = B (X A = B unless `left`) for triangular A.",
    laid_out=True,
)
family.composite(
    "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    variants="function",
    out="out",
    doc="Square root of the sum of squares over some dimensions.",
)
family.composite(
    "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
    variants="function",
    exact_out=_OUT_OF_MATRIX_NORM,
    out=True,
    doc="Sum of the singular values of a matrix.",
)
family.composite(
    "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    variants="function",
    exact_out=_OUT_OF_MATRIX_NORM,
    out="dim_out",
)
