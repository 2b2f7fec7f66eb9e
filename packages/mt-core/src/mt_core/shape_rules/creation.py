"""Shape rules of factories that have kernels of their own."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..spec import Spec


def _arange_dtype(requested: Any, *numbers: Any) -> Any:
    if requested is not None:
        return requested
    return dtypes.get_default_dtype() if any(isinstance(n, float) for n in numbers) else dtypes.int64


@shape_rule("arange.start_step")
def arange_step(start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Spec:
    """-> (ceil((end - start) / step),); int64 where all three are integers, else the default dtype."""
    d = _arange_dtype(dtype, start, end, step)
    for value in (start, end):
        if isinstance(value, float) and not math.isfinite(value):
            raise RuntimeError(f"unsupported range: {start} -> {end}")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    exact = all(isinstance(n, int) for n in (start, end, step))
    if d.is_integral and not exact:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
        exact = True
    count = -((start - end) // step) if exact else math.ceil((end - start) / step)
    return Spec((count,), d)


@shape_rule("arange.start")
def arange_start(start: Any, end: Any, *options: Any) -> Spec:
    """-> (ceil(end - start),); dtype as for a step."""
    return arange_step(start, end, 1, *options)


@shape_rule("arange")
def arange(end: Any, *options: Any) -> Spec:
    """-> (ceil(end),); dtype as for a step."""
    return arange_step(0, end, 1, *options)
