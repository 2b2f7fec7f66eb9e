"""Factories and fills over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.spec import Spec

from ..registry import kernel


@kernel("arange.start_step", half="native")
def arange_step(start: Any, end: Any, step: Any, spec: Spec) -> np.ndarray:
    """-> (ceil((end - start) / step),); int64 where all three are integers, else the default dtype."""
    d = spec.dtype.compute
    if d.is_integral:
        first, by = int(start), int(step)
        if first == 0 and by == 1:
            return np.arange(spec.shape[0], dtype=d.numpy_dtype)
        return (first + by * np.arange(spec.shape[0], dtype=np.int64)).astype(d.numpy_dtype)
    # PyTorch multiplies in the accumulation type, double for float32, and rounds once.
    return (start + step * np.arange(spec.shape[0], dtype=np.float64)).astype(d.numpy_dtype)


@kernel("range", half="native")
def range_(start: Any, end: Any, step: Any, spec: Spec) -> np.ndarray:
    """-> (floor((end - start) / step) + 1,); the default dtype unless told."""
    return arange_step(start, end, step, spec)


@kernel("arange.start", half="native")
def arange_start(start: Any, end: Any, spec: Spec) -> np.ndarray:
    """-> (ceil(end - start),); dtype as for a step."""
    return arange_step(start, end, 1, spec)


@kernel("arange", half="native")
def arange(end: Any, spec: Spec) -> np.ndarray:
    """-> (ceil(end),); dtype as for a step."""
    return arange_step(0, end, 1, spec)
