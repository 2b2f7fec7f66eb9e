"""Shape rules of factories that have kernels of their own."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..number_range import check_factor, check_number
from ..spec import Spec
from ..symbolic import SymFloat, SymInt


def _arange_dtype(requested: Any, *numbers: Any) -> Any:
    if requested is not None:
        return requested
    return dtypes.get_default_dtype() if any(isinstance(n, (float, SymFloat)) for n in numbers) else dtypes.int64


@shape_rule("arange.start_step")
def arange_step(start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Spec:
    """-> (ceil((end - start) / step),); int64 where all three are integers, else the default dtype."""
    d = _arange_dtype(dtype, start, end, step)
    check_range(start, end, step, "lower")
    if d is dtypes.int64:
        start, end, step = map(_whole, (start, end, step))
        for number in (start, end, step):
            if isinstance(number, int):
                check_number(number, d)
        if step == 0:
            raise ValueError("step must be nonzero")
    exact = all(isinstance(n, (int, SymInt)) for n in (start, end, step))
    _check_factors(d, start, end, step)
    if d is dtypes.int64 and all(n.__class__ is int for n in (start, end, step)):
        count = _count_in_64_bits(start, end, step)
    else:
        count = -((start - end) // step) if exact else math.ceil((end - start) / step)
    known = isinstance(count, int)  # of a symbolic one, it would be a guard that tells nothing
    if known and not 0 <= count < 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    if known and count * d.itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{count}]")
    return Spec((count,), d)


def _count_in_64_bits(start: int, end: int, step: int) -> int:
    """How many steps there are from start to end, in integers that wrap around as PyTorch's do."""
    reach = (end - start + step - (1 if step > 0 else -1) + 2**63) % 2**64 - 2**63
    return abs(reach) // abs(step) * (1 if (reach < 0) == (step < 0) else -1)


def _whole(number: Any) -> Any:
    """A number cut off to an integer; a symbolic one stays symbolic."""
    return math.trunc(number) if isinstance(number, (SymInt, SymFloat)) else int(number)


def _check_factors(d: dtypes.dtype, *numbers: Any) -> None:
    """Half types are counted up in float32, which has to hold the numbers."""
    if d in (dtypes.float16, dtypes.bfloat16):
        for number in numbers:
            check_factor(number, d)


def check_range(start: Any, end: Any, step: Any, other_bound: str) -> None:
    """Refuse what no range of real numbers has: complex or infinite ends, no step, or one away from the end."""
    for value in (start, end, step):
        if isinstance(value, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
    if not (step > 0 or step < 0):
        raise RuntimeError("step must be nonzero")
    for value in (start, end):
        if isinstance(value, float) and not math.isfinite(value):
            raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError(f"upper bound and {other_bound} bound inconsistent with step sign")


@shape_rule("range", warns=True)
def range_(start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Spec:
    """-> (floor((end - start) / step) + 1,): the end is included; the default dtype unless told."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=3,
    )
    return inclusive(start, end, step, dtype)


def inclusive(start: Any, end: Any, step: Any, dtype: Any) -> Spec:
    """What `range` describes, without its warning."""
    d = dtype or dtypes.get_default_dtype()
    check_range(start, end, step, "lower")
    if d.is_integral:
        start, end, step = map(_whole, (start, end, step))
        if step == 0:
            raise RuntimeError("step must be nonzero")
    _check_factors(d, start, end, step)
    return Spec((math.floor((end - start) / step) + 1,), d)


@shape_rule("arange.start")
def arange_start(start: Any, end: Any, *options: Any) -> Spec:
    """-> (ceil(end - start),); dtype as for a step."""
    return arange_step(start, end, 1, *options)


@shape_rule("arange")
def arange(end: Any, *options: Any) -> Spec:
    """-> (ceil(end),); dtype as for a step."""
    return arange_step(0, end, 1, *options)
