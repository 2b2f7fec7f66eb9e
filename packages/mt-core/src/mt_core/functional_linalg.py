"""``torch.functional``: factors, distances, norms, low-rank approximations."""

from typing import Any

from .api import _functions as ops
from .deprecation import warn_once
from .overriding import overridable
from .tensor import Tensor

__all__ = ["cdist", "chain_matmul", "get_lowrank_basis", "lu", "norm", "pca_lowrank", "svd_lowrank"]

_COMPUTE_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


@overridable
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """p-norm distances between all rows: (*, n, d), (*, m, d) -> (*, n, m); batch dimensions broadcast.

    Raises
    ------
    ValueError
        For an unknown `compute_mode`, which says whether Euclidean distances come from a matrix product.
    """
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return ops.cdist(x1, x2, p, _COMPUTE_MODES[compute_mode])


@overridable
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Tensor, ...]:
    """Packed LU factors and pivots of matrices (*, m, n), and with `get_infos` where a factor is singular."""
    results = ops._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    kept = results if get_infos else (results[0], results[1])
    if out is None:
        return kept
    for target, result in zip(out, kept, strict=True):
        target.resize_as_(result).copy_(result)
    return tuple(out)


@overridable
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Product of matrices (M, K1), (K1, K2), ..., (Kn, N) in the order that costs least: (M, N). See `multi_dot`."""
    for position, matrix in enumerate(matrices):
        if not isinstance(matrix, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(matrix).__name__}")
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    return ops.chain_matmul(list(matrices)) if out is None else ops.chain_matmul(list(matrices), out=out)


def get_lowrank_basis(A: Tensor, q: int, niter: int = 2, M: Tensor | None = None) -> Tensor:
    """Orthonormal columns (*, m, q) that nearly span the range of A - M (Halko et al. 2009, algorithm 4.4)."""
    centered = A if M is None else A - M
    wanted = ops.randn(
        (*A.shape[:-2], A.shape[-1], q) if A.dim() > 2 else (A.shape[-1], q), dtype=A.dtype, device=A.device
    )
    basis = ops.linalg_qr(centered @ wanted)[0]
    for _ in range(niter):
        basis = ops.linalg_qr(centered.mH @ basis)[0]
        basis = ops.linalg_qr(centered @ basis)[0]
    return basis


@overridable
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) of about the q largest singular values of (*, m, n) matrices, U (*, m, q), V (*, n, q).

    `M` is subtracted from A first. The result depends on random numbers (Halko et al. 2009, algorithm 5.1).
    """
    rank = 6 if q is None else q
    if M is not None:
        M = M.expand(A.shape)
    if A.shape[-2] < A.shape[-1]:
        flipped = svd_lowrank(A.mH, rank, niter, None if M is None else M.mH)
        return flipped[2], flipped[1], flipped[0]
    basis = get_lowrank_basis(A, rank, 2 if niter is None else niter, M)
    inside, values, vh = ops.linalg_svd(basis.mH @ (A if M is None else A - M), False)
    return basis @ inside, values, vh.mH


@overridable
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of (*, m, n) samples: `svd_lowrank` of A, with the mean of its rows taken off if `center`.

    Raises
    ------
    ValueError
        When q exceeds min(m, n), or `niter` is negative.
    """
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, q, niter)
    return svd_lowrank(A - A.mean(-2, keepdim=True), q, niter)


@overridable
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The p-norm of all elements or over `dim`; ``"fro"`` is the 2-norm, ``"nuc"`` the sum of singular values.

    Raises
    ------
    RuntimeError
        For other names.
    """
    return _norm(input, p, dim, keepdim, {"dtype": dtype} if out is None else {"dtype": dtype, "out": out})


def _norm(input: Any, p: Any, dim: Any, keepdim: bool, options: dict[str, Any]) -> Any:
    dims = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    if p == "nuc":
        over = tuple(range(input.dim())) if dims is None else dims
        if len(over) != 2:
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, over))}")
        return ops.linalg_matrix_norm(input, "nuc", over, keepdim, **options)
    if p == "fro" and dims is not None and len(dims) > 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    if p == "fro" or p is None:
        p = 2
    if dims is None and not keepdim:
        return ops.linalg_vector_norm(input, p, None, False, **options)
    return ops.linalg_vector_norm(input, p, dims, keepdim, **options)
