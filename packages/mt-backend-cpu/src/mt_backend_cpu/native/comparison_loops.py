"""Comparisons, logic and tests of numbers by NumPy's own loops, which the native library divides among threads."""

from __future__ import annotations

import numpy as np

from ..kernels.comparison import of_floating_point
from ..registry import kernel, kernels
from . import library

if library is not None:
    kernels({name: library.Loops(function) for name, function in {
        "eq.Tensor": np.equal, "ne.Tensor": np.not_equal, "lt.Tensor": np.less, "le.Tensor": np.less_equal,
        "gt.Tensor": np.greater, "ge.Tensor": np.greater_equal, "logical_not": np.logical_not,
        "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
        "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "clamp_min.Tensor": np.maximum,
        "clamp_max.Tensor": np.minimum,
    }.items()})  # fmt: skip

    for _name, _function in (("isnan", np.isnan), ("isinf", np.isinf)):
        kernel(_name)(of_floating_point(library.Loops(_function)))
