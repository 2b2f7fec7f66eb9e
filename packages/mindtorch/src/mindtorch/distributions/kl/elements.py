"""What formulas share."""

from __future__ import annotations

import math

import mt_core as mt
from mt_core import Tensor

__all__ = ["infinite_where", "x_log_x"]


def x_log_x(tensor: Tensor) -> Tensor:
    return mt.xlogy(tensor, tensor)


def infinite_where(result: Tensor, condition: Tensor) -> Tensor:
    result[condition] = math.inf
    return result
