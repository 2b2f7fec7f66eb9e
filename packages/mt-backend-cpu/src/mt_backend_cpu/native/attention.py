"""Attention by the native library: block by block, without the matrix of all scores."""

from __future__ import annotations

import math
from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..kernels.attention import are_batches_of_one_shape
from ..registry import fused
from . import library

#: Fewer queries than these leave most of a block empty.
_FEWEST = 16

if library is not None:
    _attention = library.attention

    def _fills_blocks(query: Any, key: Any, value: Any, *options: Any) -> bool:
        return query._array.shape[-2] >= _FEWEST and query._array.shape[-1] > 0

    def _are_taken(query: Any, key: Any, value: Any, *options: Any) -> bool:
        return are_batches_of_one_shape(query, key, value) and _fills_blocks(query, key, value)

    @fused("_plain_attention", Accepts(dtypes=frozenset((float32,)), also=_are_taken))
    def plain_attention(query: Any, key: Any, value: Any, is_causal: bool, scale: float | None) -> Any:
        """query (*, L, E), key (*, S, E), value (*, S, V) -> (*, L, V)."""
        # The root of the scale on either side, as the composite has it.
        root = math.sqrt(1 / math.sqrt(query.shape[-1]) if scale is None else abs(scale))
        sign = -1.0 if scale is not None and scale < 0 else 1.0
        return _attention(query, key, value, is_causal, root * sign, root)
