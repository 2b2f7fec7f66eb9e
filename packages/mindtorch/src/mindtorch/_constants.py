"""The numbers that PyTorch has at the top level."""

from math import e, inf, nan, pi

__all__ = ["e", "inf", "nan", "newaxis", "pi"]

newaxis = None
