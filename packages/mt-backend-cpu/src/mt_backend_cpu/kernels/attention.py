"""Attention over NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts

from ..registry import FLOATS, fused
from .activation_softmax import softmax

Array = np.ndarray


def are_batches_of_one_shape(query: Any, key: Any, value: Any, *options: Any) -> bool:
    """Whether the tensors are (*, l, e), (*, s, e) and (*, s, v), without broadcasting and none of them empty."""
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    return (
        len(q) >= 2 and q[:-2] == k[:-2] == v[:-2] and q[-1] == k[-1] and k[-2] == v[-2]
        and 0 not in q and 0 not in k and 0 not in v
    )  # fmt: skip


_PLAIN = Accepts(dtypes=FLOATS, also=are_batches_of_one_shape)


@fused("_plain_attention", _PLAIN)
def plain_attention(query: Array, key: Array, value: Array, is_causal: bool, scale: float | None) -> Array:
    """query (*, L, E), key (*, S, E), value (*, S, V) -> (*, L, V)."""
    # The root of the scale on either side, as the composite has it.
    number = query.dtype.type
    width = query.shape[-1]
    root = math.sqrt((1 / math.sqrt(width) if width else math.inf) if scale is None else abs(scale))
    sign = -1.0 if scale is not None and scale < 0 else 1.0
    scores = np.matmul(query * number(root * sign), (key * number(root)).swapaxes(-2, -1))
    if is_causal:
        rows, columns = scores.shape[-2:]
        np.copyto(scores, -np.inf, where=np.arange(rows)[:, None] < np.arange(columns))
    return np.matmul(softmax(scores, -1, False), value)
