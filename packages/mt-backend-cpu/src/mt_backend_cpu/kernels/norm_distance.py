"""Distances between rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel

#: Differences held in memory at once, in elements.
_BLOCK = 1 << 20
#: Rows from which Euclidean distances come from one product, unless asked otherwise (compute_mode 0).
_MANY = 25


@kernel("_cdist_forward")
def cdist_forward(x1: np.ndarray, x2: np.ndarray, p: float, compute_mode: Any) -> np.ndarray:
    """x1 (*, P, M), x2 (*, R, M) -> (*, P, R), batches broadcast."""
    if p == 2 and (compute_mode == 1 or compute_mode in (None, 0) and max(x1.shape[-2], x2.shape[-2]) > _MANY):
        return _by_product(x1, x2)
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.empty((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    rows = max(_BLOCK // max(out[..., :1, :].size * x1.shape[-1], 1), 1)
    for start in range(0, x1.shape[-2], rows):
        difference = np.abs(x1[..., start : start + rows, None, :] - x2[..., None, :, :])
        out[..., start : start + rows, :] = _norm(difference, p)
    return out


def _norm(size: np.ndarray, p: float) -> np.ndarray:
    if not size.shape[-1]:
        return np.zeros(size.shape[:-1], size.dtype)
    if p == 0:
        return (size != 0).sum(-1)
    if p == 1:
        return size.sum(-1)
    if p == 2:
        return np.sqrt((size * size).sum(-1))
    if p == np.inf:
        return size.max(-1)
    return np.power(np.power(size, p).sum(-1), 1 / p)


def _by_product(x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """sqrt(|a|^2 - 2 a.b + |b|^2): quicker for many rows, less exact for close ones."""
    squares1, squares2 = (x1 * x1).sum(-1)[..., :, None], (x2 * x2).sum(-1)[..., None, :]
    products = x1 @ np.swapaxes(x2, -2, -1)
    return np.sqrt(np.maximum(squares1 - 2 * products + squares2, 0))
