"""Arithmetic with a number inside of composites, recorded under the overloads for numbers (``MulBackward1``).

``x * 2`` in a composite is what a user writes: the number becomes a tensor, and the node is that of two tensors.
"""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import find_overload

__all__ = ["divided", "times"]


def times(self: Any, number: Any) -> Any:
    """self * number."""
    return find_overload("mul.Scalar").call(self, number)


def divided(self: Any, number: Any) -> Any:
    """self / number."""
    return find_overload("div.Scalar").call(self, number)
