"""Values of programs as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core import Tensor, dtypes

__all__ = ["make_np"]


def make_np(x: Any) -> np.ndarray[Any, Any]:
    """A number, an array or a tensor as an array of at least one dimension; bfloat16 as float32.

    Raises
    ------
    NotImplementedError
        For anything else.
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, Tensor):
        found = x.detach().cpu()
        return np.asarray((found.float() if found.dtype == dtypes.bfloat16 else found).numpy())
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
