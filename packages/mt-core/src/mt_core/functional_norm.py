"""``torch.norm``, in terms of the vector and matrix norms of the linear-algebra family."""

from __future__ import annotations

from typing import Any

from .api import _functions as ops
from .dispatch.executors import write_result

__all__ = ["norm"]


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The p-norm of all elements or over `dim`; ``"fro"`` is the 2-norm, ``"nuc"`` the sum of singular values.

    Raises
    ------
    RuntimeError
        For other names.
    """
    result = _norm(input, p, dim, keepdim, dtype)
    if out is None:
        return result
    return write_result(out, result)


def _norm(input: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    dims = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    if p == "nuc":
        over = tuple(range(input.dim())) if dims is None else dims
        if len(over) != 2:
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, over))}")
        return ops.linalg_matrix_norm(input, "nuc", over, keepdim, dtype=dtype)
    if p == "fro" or p is None:
        p = 2
    if dims is None and not keepdim:
        return ops.linalg_vector_norm(input, p, None, False, dtype=dtype)
    return ops.linalg_vector_norm(input, p, dims, keepdim, dtype=dtype)
