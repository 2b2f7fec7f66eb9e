"""What linear algebra refuses: matrices that have no inverse, factors that are none."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import LinAlgError

__all__ = [
    "refuse_factor_pivots", "refuse_failure", "refuse_least_squares", "refuse_nan", "refuse_no_convergence",
    "refuse_not_finite", "refuse_pivot", "refuse_singular", "refuse_singular_factor",
]  # fmt: skip

_REASONS = {
    "cholesky": "The factorization could not be completed because the input is not positive-definite (the "
    "leading minor of order {} is not positive-definite).",
    "solve": "The solver failed because the input matrix is singular.",
    "cholesky_inverse": "The diagonal element {} is zero, the inversion could not be completed because the input "
    "matrix is singular.",
    "eigh": "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
    "eigenvalues (error code: {}).",
    "svd": "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
    "singular values (error code: {}).",
    "lstsq": "The least squares solution could not be computed because the input matrix does not have full rank (error "
    "code: {}).",
    "inv": "The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
    "singular.",
}  # fmt: skip


def refuse_singular(info: list[int], batched: bool, name: str) -> None:
    """Raise PyTorch's LinAlgError for the first matrix whose ``info`` is not zero.

    Parameters
    ----------
    name : str
        ``linalg.inv``, ``linalg.solve`` or ``linalg.cholesky``, or with ``_ex`` after it.
    """
    bad = next((i for i, v in enumerate(info) if v), None)
    if bad is None:
        return
    reason = _REASONS[name.removesuffix("_ex").rpartition(".")[2]].format(info[bad])
    raise LinAlgError(f"{name}: {f'(Batch element {bad}): ' if batched else ''}{reason}")


def refuse_failure(info: list[int], batched: bool, name: str) -> None:
    """`_linalg_check_errors`: the first factorization whose ``info`` is not zero, in the words of a function."""
    if "lu_factor" in name:
        refuse_singular_factor(info, batched, name)
    elif name.rpartition(".")[2] in _REASONS:
        refuse_singular(info, batched, name)
    elif any(info):
        raise RuntimeError(f"{name}: Unknown error code: {next(code for code in info if code)}.")


def refuse_not_finite() -> NoReturn:
    """`linalg_eig`: a matrix with an infinite element or a NaN."""
    raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def refuse_nan(number: int, batched: bool) -> NoReturn:
    """`linalg_svd`: the matrix of this number holds a NaN."""
    batch = f"(Batch element {number}): " if batched else ""
    raise LinAlgError(
        f"linalg.svd: {batch}The algorithm failed to converge because the input matrix contained non-finite values."
    )


def refuse_no_convergence(name: str, what: str) -> NoReturn:
    """`linalg_svd` and `linalg_eigh`: LAPACK gave up."""
    raise LinAlgError(
        f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        f"repeated {what}."
    )


def refuse_least_squares(reason: str, number: int, batched: bool) -> NoReturn:
    """`linalg_lstsq`: the matrix of this number has no solution, and why."""
    batch = f"(Batch element {number}): " if batched else ""
    raise LinAlgError(f"torch.linalg.lstsq: {batch}The least squares solution could not be computed because {reason}.")


def refuse_pivot() -> NoReturn:
    """`lu_unpack`: a pivot outside of 1 .. the number of rows."""
    raise RuntimeError(
        "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of "
        "lu_factor?"
    )


def refuse_factor_pivots(sizes: Any, rows: int) -> None:
    """`linalg_ldl_solve`: absolute pivots (an array) that are not in 1 .. the number of rows."""
    if (sizes < 1).any():
        raise RuntimeError(
            "Pivots given to ldl_solve must all satisfy |pivot| >= 1. Did you properly pass the result of ldl_factor?"
        )
    if (sizes > rows).any():
        raise RuntimeError(
            "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did you properly pass the result of "
            "ldl_factor?"
        )


def refuse_singular_factor(info: list[int], batched: bool, name: str) -> None:
    """Refuse factors with a zero on U's diagonal.

    Raises
    ------
    RuntimeError
        Naming the first such matrix.
    """
    bad = next((i for i, v in enumerate(info) if v), None)
    if bad is None:
        return
    batch, order = f"(Batch element {bad}): " if batched else "", info[bad]
    raise RuntimeError(
        f"{name}: {batch}U[{order},{order}] is zero and using it on lu_solve would result in a "
        "division by zero. "
        "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    )
