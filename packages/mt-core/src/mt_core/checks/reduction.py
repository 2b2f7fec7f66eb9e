"""What counting refuses, elements that no bin can hold, and what variances warn of."""

from __future__ import annotations

import math
import warnings
from typing import NoReturn

__all__ = ["check_bin_range", "check_histogram_range", "refuse_negative_counted", "warn_of_freedom"]


def refuse_negative_counted() -> NoReturn:
    """`bincount`: a negative element."""
    raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")


def check_histogram_range(low: float, high: float, dim: int) -> None:
    """`histogram`, `histogramdd`: the least and the largest coordinate of a dimension must be finite.

    Raises
    ------
    RuntimeError
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")


def check_bin_range(low: float, high: float) -> None:
    """`histc`: the ends, given or found, must be finite and in order.

    Raises
    ------
    RuntimeError
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("max must be larger than min")


def warn_of_freedom(name: str) -> None:
    """`var`, `std`: so few elements, beside the correction, that the result is infinite or NaN."""
    warnings.warn(
        f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
        "numel divided by output numel).",
        stacklevel=3,
    )
