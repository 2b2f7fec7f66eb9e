"""Small tests and conversions that the generated wrappers share."""

from __future__ import annotations

from typing import Any

from ..schema import MISSING
from ..size import Size
from ..tensor_types import TENSORS

__all__ = ["NUMBERS", "given", "int_tuple", "operator_fallback", "reflected", "sized_ints", "tensors_keys"]

#: Classes of Python numbers.
NUMBERS = frozenset((bool, int, float, complex))

_SEQUENCES = frozenset((tuple, list, Size))


def int_tuple(value: Any) -> tuple[int, ...] | None:
    """A tuple of exact ints from a tuple, list or Size of them; None for anything else."""
    if value.__class__ in _SEQUENCES:
        for item in value:
            if item.__class__ is not int:
                return None
        return value if value.__class__ is tuple else tuple(value)
    return None


def sized_ints(value: Any, size: int) -> tuple[int, ...] | None:
    """As `int_tuple`, where one int stands for `size` of them."""
    if value.__class__ is int:
        return (value,) * size
    return int_tuple(value)


def tensors_keys(value: Any) -> int:
    """The key set of a non-empty list or tuple of tensors; 0 when it is anything else."""
    if value.__class__ is not list and value.__class__ is not tuple:
        return 0
    keys = 0
    for item in value:
        if item.__class__ not in TENSORS:
            return 0
        keys |= item._keys
    return keys


def given(named: tuple[tuple[str, Any], ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Positional arguments as the caller gave them; named ones after a gap go to `kwargs`."""
    positional = []
    for i, (_, value) in enumerate(named):
        if value is MISSING:
            kwargs.update({n: v for n, v in named[i + 1 :] if v is not MISSING})
            break
        positional.append(value)
    return (*positional, *args)


def operator_fallback(self: Any, other: Any, name: str) -> Any:
    """A binary operator with an operand that is neither a tensor class nor an exact number class."""
    import numpy as np

    if isinstance(other, (int, float, complex, np.number, np.bool_)):
        number = other.item() if isinstance(other, np.generic) else _plain_number(other)
        return getattr(self, name)(number)
    return NotImplemented


def _plain_number(value: Any) -> Any:
    for cls in (bool, int, float, complex):
        if isinstance(value, cls):
            return cls(value)
    raise TypeError(f"not a number: {value!r}")


def reflected(packet: Any, self: Any, number: Any) -> Any:
    """``number <operator> self``: the number becomes a 0-dim tensor that weighs as a number in promotion."""
    from .reflected import REFLECTED

    return REFLECTED[packet.name](self, number)
