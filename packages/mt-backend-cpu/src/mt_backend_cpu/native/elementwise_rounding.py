"""Rounding by NumPy's own loops, which the native library calls, and divides among threads."""

from __future__ import annotations

import numpy as np

from ..kernels.elementwise_rounding import whole
from ..registry import kernel, kernels
from . import library

if library is not None:
    for _name, _function in (("ceil", np.ceil), ("floor", np.floor), ("trunc", np.trunc), ("round", np.rint)):
        kernel(_name)(whole(library.Loops(_function)))

    _copysign = library.Loops(np.copysign)
    kernels({"copysign.Tensor": _copysign, "copysign.Scalar": _copysign})
