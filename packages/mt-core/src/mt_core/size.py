"""``torch.Size``: the shape of a tensor."""

from __future__ import annotations

import math
from typing import Any

from .symbolic import SymInt

__all__ = ["Size"]


#: Classes of what stays as it is.
_SIZES = (int, SymInt)


class Size(tuple[int, ...]):
    """A tuple of non-negative ints; slicing, ``+`` and ``*`` give a Size again."""

    __slots__ = ()

    def __new__(cls, iterable: Any = ()) -> Size:
        items = tuple(iterable)
        for position, item in enumerate(items):
            if type(item) is not int and not hasattr(item, "__index__"):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {position} is '{type(item).__name__}')")
        return tuple.__new__(cls, (item if type(item) in _SIZES else item.__index__() for item in items))

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return tuple.__new__(Size, found) if key.__class__ is slice else found

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return tuple.__new__(Size, tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return tuple.__new__(Size, tuple.__add__(other, self))

    def __mul__(self, times: Any) -> Any:
        return tuple.__new__(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__

    def numel(self) -> int:
        """Number of elements of a tensor of this shape."""
        return math.prod(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)
