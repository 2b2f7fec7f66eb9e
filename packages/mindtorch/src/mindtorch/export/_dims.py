"""Names of sizes that may vary."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["Dim", "DimHint", "dims"]


class DimHint:
    """A word about a size that has no name: ``AUTO``, ``DYNAMIC`` or ``STATIC``; called, the same with a range."""

    def __init__(self, name: str, min: int | None = None, max: int | None = None) -> None:
        for bound, value in (("min", min), ("max", max)):
            if value is not None and value < 0:
                raise AssertionError(f"{bound} must be non-negative, got {value}")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"min must be <= max, got min={min}, max={max}")
        self.name = name
        self.min, self.max = min, max

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        return DimHint(self.name, min, max)

    def __repr__(self) -> str:
        bounds = [f"{bound}={getattr(self, bound)}" for bound in ("min", "max") if getattr(self, bound) is not None]
        return f"DimHint({', '.join([self.name, *bounds])})"


class Dim:
    """The name of a size that may vary, from `min` to `max`.

    ``2 * dim + 1`` is a size that follows from it.
    """

    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self._min, self._max = 0 if min is None else min, sys.maxsize if max is None else max
        if self._max <= self._min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={self._min}, max={self._max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name

    @property
    def root(self) -> Dim:
        """What it is computed from; itself."""
        return self

    @property
    def factor(self) -> int:
        """What its `root` is multiplied by."""
        return 1

    @property
    def offset(self) -> int:
        """What is added then."""
        return 0

    @property
    def min(self) -> int:
        """The least size."""
        return self._min

    @property
    def max(self) -> int:
        """The largest size; `sys.maxsize` where there is none."""
        return self._max

    def __add__(self, other: Any) -> Dim:
        if type(other) is not int:
            raise _refused("add", f"{other} to {self.__name__}, where an integer was expected")
        return _DerivedDim(self.root, self.factor, self.offset + other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dim:
        if type(other) is not int:
            raise _refused("subtract", f"{other} from {self.__name__}, where an integer was expected")
        return self + -other

    def __rsub__(self, other: Any) -> Dim:
        raise _refused("negate", self.__name__)

    def __mul__(self, other: Any) -> Dim:
        if type(other) is not int or other <= 0:
            raise _refused("multiply", f"{other} with {self.__name__}, where a positive integer was expected")
        return _DerivedDim(self.root, self.factor * other, self.offset * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        parts = [repr(self.__name__)]
        parts += [f"min={self.min}"] if self.min != 2 else []
        parts += [f"max={self.max}"] if self.max != sys.maxsize else []
        return f"Dim({', '.join(parts)})"


class _DerivedDim(Dim):
    """A size that follows from another one: ``factor * root + offset``."""

    def __init__(self, root: Dim, factor: int, offset: int) -> None:
        self._root, self._factor, self._offset = root, factor, offset
        product = root.__name__ if factor == 1 else f"{factor}*{root.__name__}"
        self.__name__ = product if not offset else f"{product} {'+' if offset > 0 else '-'} {abs(offset)}"

    @property
    def root(self) -> Dim:
        return self._root

    @property
    def factor(self) -> int:
        return self._factor

    @property
    def offset(self) -> int:
        return self._offset

    @property
    def min(self) -> int:
        """The least size.

        Raises
        ------
        AssertionError
            Where it would be negative.
        """
        found = self._factor * self._root.min + self._offset
        if found < 0:
            raise AssertionError(
                f"Expected derived min value of {self.__name__} to be >= 0. Please specify an appropriate min value "
                f"for {self._root.__name__} (currently {self._root.min})."
            )
        return found

    @property
    def max(self) -> int:
        """The largest size; `sys.maxsize` where there is none."""
        return min(self._factor * self._root.max + self._offset, sys.maxsize)

    def __repr__(self) -> str:
        return self.__name__


def _refused(verb: str, what: str) -> NotImplementedError:
    return NotImplementedError(
        f"Attempted to {verb} {what}. (Only increasing linear operations with integer coefficients are supported.)"
    )


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A `Dim` for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)
