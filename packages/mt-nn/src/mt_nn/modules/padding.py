"""Putting values around the last 1, 2 or 3 dimensions.

`padding` is one number for all sides, or two numbers (before, after) for each dimension from the last to the first;
negative numbers cut off. Inputs have the shape (N, C, *) or (C, *).
"""

from collections.abc import Sequence

from mt_core import Tensor

from .. import functional as F
from .._arguments import _ntuple
from .module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

Padding = int | tuple[int, ...]


class _PadNd(Module):
    """What every padding has: how many values to put on each side of `_dims` dimensions, and which."""

    __constants__ = ["padding"]
    _dims: int
    _mode: str
    padding: Sequence[int]

    def __init__(self, padding: Padding) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        allowed = (self._dims + 1, self._dims + 2)
        if input.dim() not in allowed:
            raise ValueError(f"expected {allowed[0]}D or {allowed[1]}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Puts values from the other end around the last dimension."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Puts values from the other end around the last two dimensions."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Puts values from the other end around the last three dimensions."""

    _dims = 3


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    value: float

    def __init__(self, padding: Padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Puts one value around the last dimension."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Puts one value around the last two dimensions."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Puts one value around the last three dimensions."""

    _dims = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirrors values at both ends of the last dimension; the end itself is not repeated."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirrors values at both ends of the last two dimensions; the ends themselves are not repeated."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirrors values at both ends of the last three dimensions; the ends themselves are not repeated."""

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the values at both ends of the last dimension."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the values at both ends of the last two dimensions."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the values at both ends of the last three dimensions."""

    _dims = 3


class _Zeros(_ConstantPadNd):
    def __init__(self, padding: Padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_Zeros, ConstantPad1d):
    """Puts zeros around the last dimension."""


class ZeroPad2d(_Zeros, ConstantPad2d):
    """Puts zeros around the last two dimensions."""


class ZeroPad3d(_Zeros, ConstantPad3d):
    """Puts zeros around the last three dimensions."""
