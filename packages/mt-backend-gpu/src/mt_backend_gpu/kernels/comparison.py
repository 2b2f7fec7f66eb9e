"""Comparisons: an array meets a number as it is."""

from __future__ import annotations

from typing import Any

from ..shared import replace


def beside_number(function: Any, array: Any, number: Any) -> Any:
    """maximum or minimum of an array and a number."""
    return function(array, number)


replace("kernels.comparison", beside_number=beside_number)
