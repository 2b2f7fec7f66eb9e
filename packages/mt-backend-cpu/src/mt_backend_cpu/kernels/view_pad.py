"""Padding over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel


@kernel("constant_pad_nd", half="native")
def constant_pad_nd(self: np.ndarray, pad: Any, value: Any) -> np.ndarray:
    """self (*S) -> S + pad before + pad after, for the last len(pad) / 2 dimensions, last first."""
    shape = list(self.shape)
    to, source = [slice(None)] * self.ndim, [slice(None)] * self.ndim
    for i in range(len(pad) // 2):
        at = self.ndim - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        shape[at] += before + after
        to[at] = slice(max(before, 0), shape[at] - max(after, 0))
        source[at] = slice(max(-before, 0), self.shape[at] - max(-after, 0))
    out = np.full(shape, np.asarray(value).astype(self.dtype), self.dtype)
    out[tuple(to)] = self[tuple(source)]
    return out
