"""Complex conjugates of what formulas multiply gradients with."""

from __future__ import annotations

from typing import Any

__all__ = ["conj"]


def conj(value: Any) -> Any:
    """The conjugate of a tensor or a number; real ones themselves.

    Gradients are those of PyTorch: for a real loss L and z = x + iy, ``dL/dx + i dL/dy``, so a holomorphic function
    passes the conjugate of its derivative.
    """
    dtype = getattr(value, "_dtype", None)
    if dtype is None:
        return value.conjugate()
    return value.conj() if dtype.is_complex else value
