"""Ranges for backends without kernels for them: made on the host, and written to the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..construct import tensor
from ..dispatch.registry import register_composite as composite
from ..factories import check_options
from ..shape_rules import creation as rules


def _sequence(start: Any, step: Any, spec: Any, device: Any) -> Any:
    """start, start + step, ...: multiplied in double precision or int64, and rounded once."""
    if spec.dtype.is_integral:
        start, step = int(start), int(step)
    places = np.arange(spec.shape[0], dtype=np.int64 if spec.dtype.is_integral else np.float64)
    return tensor(start + step * places, dtype=spec.dtype, device=device)


@composite("arange.start_step", explicit=True)
def arange_step(start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """-> (ceil((end - start) / step),)."""
    check_options(layout, pin_memory)
    return _sequence(start, step, rules.arange_step(start, end, step, dtype, layout, device, pin_memory), device)


@composite("range", explicit=True)
def range_(start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """-> (floor((end - start) / step) + 1,): the end is included."""
    check_options(layout, pin_memory)
    return _sequence(start, step, rules.inclusive(start, end, step, dtype), device)


@composite("arange.start", explicit=True)
def arange_start(start: Any, end: Any, *options: Any) -> Any:
    """-> (ceil(end - start),)."""
    return arange_step(start, end, 1, *options)


@composite("arange", explicit=True)
def arange(end: Any, *options: Any) -> Any:
    """-> (ceil(end),)."""
    return arange_step(0, end, 1, *options)
