"""Activation functions by the native library."""

from __future__ import annotations

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, float16, float32

from ..registry import kernels
from . import library

#: In single precision, and the half types as they are stored.
SINGLE, HALVES = Accepts(dtypes=frozenset((float32,))), Accepts(dtypes=frozenset((bfloat16, float16)))

if library is not None:
    library.use_bfloat16(bfloat16.numpy_dtype)
    TABLE = {
        "gelu": library.gelu,
        "gelu_backward": library.gelu_backward,
        "relu": library.relu,
        "hardswish": library.hardswish,
        "leaky_relu": library.leaky_relu,
        "silu": library.silu,
        "silu_backward": library.silu_backward,
        "sigmoid": library.sigmoid,
        "sigmoid_backward": library.sigmoid_backward,
        "tanh": library.tanh,
        "tanh_backward": library.tanh_backward,
    }
    kernels(TABLE, accepts=SINGLE)
    kernels(TABLE, accepts=HALVES, half="native")
