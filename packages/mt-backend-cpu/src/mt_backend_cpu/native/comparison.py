"""Limits, and choices by a condition, by the native library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..registry import kernel, kernels
from . import library

if library is not None:
    _clamp = library.clamp

    def clamp(self: Any, low: Any, high: Any, out: Any = None) -> Any:
        """self (*), low and high numbers or None -> (*)."""
        return _clamp(self, -math.inf if low is None else low, math.inf if high is None else high, out=out)

    kernels(
        {"clamp_min": library.clamp_min, "clamp_max": library.clamp_max, "clamp": clamp},
        accepts=Accepts(dtypes=frozenset((float32,))),
    )

    _where = library.where

    @kernel("where.self", half="native")
    def where(condition: Any, self: Any, other: Any) -> Any:
        """condition (*), self (*), other (*), broadcast -> the common shape."""
        made = _where(condition, self, other)
        return np.where(condition, self, other) if made is None else made
