"""Limits, and choices by a condition, by the native library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..kernels.comparison import of_floating_point
from ..registry import kernel, kernels
from . import library

if library is not None:
    # NumPy's own loops, which the library calls, and divides among threads

    kernels({name: library.Loops(function) for name, function in {
        "eq.Tensor": np.equal, "ne.Tensor": np.not_equal, "lt.Tensor": np.less, "le.Tensor": np.less_equal,
        "gt.Tensor": np.greater, "ge.Tensor": np.greater_equal, "logical_not": np.logical_not,
        "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
        "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "clamp_min.Tensor": np.maximum,
        "clamp_max.Tensor": np.minimum,
    }.items()})  # fmt: skip
    for _name, _function in (("isnan", np.isnan), ("isinf", np.isinf)):
        kernel(_name)(of_floating_point(library.Loops(_function)))

    # Limits, and choices

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
