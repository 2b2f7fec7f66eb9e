"""What linear algebra refuses: matrices that have no inverse, factors that are none."""

from __future__ import annotations

from typing import NoReturn

from ..errors import LinAlgError

__all__ = ["refuse_not_finite", "refuse_pivot", "refuse_singular", "refuse_singular_factor"]

_REASONS = {
    "cholesky": "The factorization could not be completed because the input is not positive-definite (the "
    "leading minor of order {} is not positive-definite).",
    "solve": "The solver failed because the input matrix is singular.",
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


def refuse_not_finite() -> NoReturn:
    """`linalg_eig`: a matrix with an infinite element or a NaN."""
    raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def refuse_pivot() -> NoReturn:
    """`lu_unpack`: a pivot outside of 1 .. the number of rows."""
    raise RuntimeError(
        "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of "
        "lu_factor?"
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
