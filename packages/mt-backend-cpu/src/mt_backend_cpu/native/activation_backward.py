"""Derivatives of activation functions that are linear in pieces, by the native library."""

from __future__ import annotations

from typing import Any

from mt_core.checks.activation import refuse_leaky
from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, float16, float32

from ..registry import kernels
from . import library

if library is not None:
    _leaky_relu_backward = library.leaky_relu_backward

    def leaky_relu_backward(grad: Any, self: Any, slope: Any, self_is_result: bool, out: Any = None) -> Any:
        """grad (*), self (*), broadcast -> the common shape."""
        refuse_leaky(self_is_result, slope)
        return _leaky_relu_backward(grad, self, slope, out=out)

    _TABLE = {
        "threshold_backward": library.threshold_backward,
        "hardtanh_backward": library.hardtanh_backward,
        "leaky_relu_backward": leaky_relu_backward,
        "hardsigmoid_backward": library.hardsigmoid_backward,
        "hardswish_backward": library.hardswish_backward,
    }
    kernels(_TABLE, accepts=Accepts(dtypes=frozenset((float32,))))
    library.use_bfloat16(bfloat16.numpy_dtype)
    kernels(_TABLE, accepts=Accepts(dtypes=frozenset((bfloat16, float16))), half="native")
