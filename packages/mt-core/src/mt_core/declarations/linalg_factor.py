"""Factorizations, least squares and what follows from them: declarations."""

from __future__ import annotations

from ._checks import LAPACK, Supported
from .linalg import _composite, _plain, castable, family

_plain(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    out_check=castable("torch.linalg.eig"),
    out=("eigenvalues", "eigenvectors"),
    doc="Complex eigenvalues and eigenvectors (columns of length 1) of square matrices, in no particular order.",
    laid_out="empty",
)
_plain(
    "linalg_eigvals(Tensor self) -> Tensor",
    out_check=castable("torch.linalg.eigvals", "eigenvalues"),
    out=True,
    doc="Complex eigenvalues of square matrices, in no particular order.",
)

# LU

_plain(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, "
    "Tensor info)",
    exact_out=True,
    out=("LU", "pivots", "info"),
    doc="L below the diagonal (its own is 1) and U on and above it, with P L U = A; int32 row swaps, counted from 1.",
    laid_out=True,
)
_composite(
    "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    exact_out=True,
    out=("LU", "pivots"),
    doc="L and U in one matrix, and pivots counted from 1.",
    laid_out=True,
)
_composite(
    "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    exact_out=True,
    out=("P", "L", "U"),
    doc="P, L and U with A = P L U.",
)
_composite(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    exact_out=True,
    out=True,
    doc="X with A X = B (X A = B unless `left`; A^H in place of A with `adjoint`), given A's factors.",
    laid_out=True,
)
family.plain(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, "
    "Tensor L, Tensor U)",
    variants="function",
    exact_out=True,
    out=("P", "L", "U"),
    doc="The factors of `linalg_lu_factor` apart; what is not wanted is empty.",
)
family.composite(
    "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    exact_out=True,
    out=True,
    doc="Solutions of A X = B from LU factors of A.",
    laid_out=True,
)
family.composite(
    "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)",
    variants="function",
)

# LDL

_plain(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor "
    "pivots, Tensor info)",
    exact_out=True,
    out=("LD", "pivots", "info"),
    doc="Bunch-Kaufman factors A = L D L^T (L^H if hermitian) as LAPACK's sytrf packs them, lower.",
    laid_out=True,
)
_composite(
    "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    exact_out=True,
    out=("LD", "pivots"),
    doc="LDL factors and pivots of symmetric or Hermitian matrices.",
    laid_out=True,
)
_plain(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    exact_out=True,
    out=True,
    doc="Solutions of A X = B from LDL factors.",
    laid_out=True,
)

# Householder reflectors

family.plain(
    "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
    out_check=castable("torch.geqrf"),
    out=("a", ("a", "tau")),
    doc="R on and above the diagonal; reflectors v below it, H = I - tau v v^H.",
    laid_out="empty",
)
_composite(
    "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    out_check=castable("torch.linalg.householder_product"),
    out=True,
    doc="First n columns of the product H_1 ... H_k of reflectors, as from `geqrf`.",
    laid_out="empty",
)
family.composite(
    "orgqr(Tensor self, Tensor input2) -> Tensor",
    out_check=castable("torch.linalg.householder_product"),
    out=True,
    doc="Second name of `linalg_householder_product`.",
    laid_out="empty",
)
family.composite(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
    exact_out="torch.ormqr: Expected input and result to have the same dtype, but input has dtype{expected} and result has dtype {out}",
    out=True,
    doc="Q C, C Q, Q^H C or C Q^H, where Q is the full product of reflectors.",
    laid_out="empty",
)

# Triangular and Cholesky factors

family.composite(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> "
    "(Tensor solution, Tensor cloned_coefficient)",
    exact_out=True,
    out=("X", ("X", "M")),
    doc="Solutions of A X = B for triangular A, and a copy of A.",
    laid_out=True,
)
family.composite(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    out_check=castable("cholesky_solve"),
    out=True,
    doc="Solutions of A X = B from Cholesky factors of A.",
)
family.composite(
    "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    dtypes=Supported("cholesky_inverse_out_cpu", LAPACK),
    out_check=castable("cholesky_inverse"),
    out=True,
    doc="Inverses from Cholesky factors.",
    laid_out="empty",
)

# Pseudo-inverses, least squares, ranks

_plain(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor "
    "residuals, Tensor rank, Tensor singular_values)",
    out_check=castable("torch.linalg.lstsq"),
    out=("solution", "residuals", "rank", "singular_values"),
    doc="X of least norm among those with least |A X - B|.",
    laid_out="empty",
)
_plain(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> "
    "Tensor",
    out_check=castable("linalg.pinv"),
    out=True,
    doc="Moore-Penrose inverse; singular values up to max(atol, rtol * largest) count as zero.",
)
_composite(
    "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
    out_check=castable("linalg.pinv"),
    out=True,
)
_composite(
    "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
    out_check=castable("linalg.pinv"),
    out=True,
)
_composite(
    "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    out_check=castable("linalg.pinv"),
    out="out_rcond_tensor",
)
family.composite(
    "pinverse(Tensor self, float rcond=1e-15) -> Tensor",
    doc="Pseudoinverse, singular values below rcond times the largest being zero.",
)
_composite(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool "
    "hermitian=False) -> Tensor",
    out_check=castable("torch.linalg.matrix_rank"),
    out=True,
    doc="int64 count of singular values above max(atol, rtol * largest).",
)
_composite(
    "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) "
    "-> Tensor",
    out_check=castable("torch.linalg.matrix_rank"),
    out=True,
)
_composite(
    "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
    out_check=castable("torch.linalg.matrix_rank"),
    out=True,
)
_composite(
    "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    out_check=castable("torch.linalg.matrix_rank"),
    out="out_tol_tensor",
)
_composite(
    "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
    out_check=castable("linalg.cond"),
    out=True,
    doc="Norm of a matrix times norm of its inverse.",
)
_composite("linalg_cond.p_str(Tensor self, str p) -> Tensor", out_check=castable("linalg.cond"), out=True)

# Functions of matrices and tensors

_plain(
    "linalg_matrix_exp(Tensor self) -> Tensor",
    exact_out=True,
    out=True,
    out_is_internal=True,
    doc="sum A^k / k! of square matrices.",
)
family.composite("matrix_exp(Tensor self) -> Tensor", doc="Matrix exponentials.")
_composite(
    "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
    out_check=castable("tensorinv"),
    out=True,
    doc="Inverse for `tensordot` over the first `ind` dimensions.",
)
_composite(
    "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    out_check=castable("tensorsolve"),
    out=True,
    doc="X with tensordot(A, X) = B.",
)
