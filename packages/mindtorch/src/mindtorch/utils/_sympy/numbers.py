"""``torch.utils._sympy.numbers``: the bounds of ranges of integers that have none."""

from __future__ import annotations

from ._library import sympy

__all__ = ["int_oo"]

#: Larger than any integer.
int_oo = sympy.oo

#: The classes of `int_oo` and of `-int_oo`, which are sympy's own here.
IntInfinity = type(int_oo)
NegativeIntInfinity = type(-int_oo)
