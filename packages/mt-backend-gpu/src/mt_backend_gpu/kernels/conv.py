"""Windows: what may be a view of the input is copied."""

from __future__ import annotations

import math
from typing import Any

from .. import namespace as np
from ..registry import kernel
from ..shared.kernels.conv import Ints, padded, windows


@kernel("im2col", half="native")
def im2col(self: Any, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    """self (N, C, H, W) or (C, H, W) -> (N, C KH KW, L) or (C KH KW, L); L counts the places of the window."""
    batch = self if self.ndim == 4 else self[None]
    view = windows(padded(batch, padding), kernel_size, stride, dilation)
    n, channels = batch.shape[:2]
    columns = view.transpose(0, 1, 4, 5, 2, 3).reshape(n, channels * math.prod(kernel_size), math.prod(view.shape[2:4]))
    if np.may_share_memory(columns, self):  # a single window, or one element in each
        columns = columns.copy()
    return columns if self.ndim == 4 else columns[0]
