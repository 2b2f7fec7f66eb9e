"""Limits by the native library."""

from __future__ import annotations

import math
from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..registry import kernels
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
