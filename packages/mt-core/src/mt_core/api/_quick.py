"""Small tests and conversions that the generated wrappers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..devices import backend_key, device
from ..keys import CPU
from ..overriding import Overridden, Unanswered, handed_over, handed_over_from_python, is_overridden, must_ask
from ..size import Size
from ..state import tls
from ..symbolic import SYMBOLIC
from ..tensor_types import TENSORS

__all__ = [
    "NUMBERS", "REFLECTED", "array_operator_fallback", "as_device", "factory_keys", "int_tuple", "inverted",
    "operator_fallback", "reflected", "tensors_keys",
]  # fmt: skip

#: Classes of Python numbers.
NUMBERS = frozenset((bool, int, float, complex))

#: Packet -> function of (tensor on the right, number on the left), from `mt_core.api.reflected`, which stands above.
REFLECTED: dict[str, Callable[[Any, Any], Any]] = {}

#: Methods of right operands -> packet, for symbolic numbers on the left.
_RIGHT_OPERANDS = {
    "__rsub__": "rsub", "__rtruediv__": "div", "__rfloordiv__": "floor_divide", "__rmod__": "remainder",
    "__rpow__": "pow", "__rlshift__": "bitwise_left_shift", "__rrshift__": "bitwise_right_shift",
}  # fmt: skip

_SEQUENCES = frozenset((tuple, list, Size))


def int_tuple(value: Any) -> tuple[int, ...] | None:
    """A tuple of exact ints from a tuple, list or Size of them; None for anything else."""
    if value.__class__ in _SEQUENCES:
        for item in value:
            if item.__class__ is not int:
                return None
        return value if value.__class__ is tuple else tuple(value)
    return None


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


def as_device(value: Any) -> Any:
    """The device that a factory's ``device=`` means, None for the default one, False for what is no device."""
    if value is None or value.__class__ is device:
        return value
    return device(value) if value.__class__ is str else False


def factory_keys(where: device | None) -> int:
    """The key of what a factory makes on a device, or on the default one."""
    found = where or tls.default_device
    return CPU if found is None else backend_key(found.type)


def inverted(method: Any, told: Any, self: Any) -> Any:
    """``~tensor``, the one unary operator that overrides are told of under its own name.

    Raises
    ------
    TypeError
        For floating-point and complex tensors, of which the method says so in other words.
    """
    if is_overridden(self._keys | tls.mode):
        return handed_over(told, (self,), None)
    if self._dtype.is_floating_point or self._dtype.is_complex:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return method(self)


def operator_fallback(told: Any, self: Any, other: Any, name: str, in_python: bool) -> Any:
    """A binary operator where an operand overrides it, or is of neither a tensor class nor an exact number class."""
    if must_ask((self, other)):
        try:
            if in_python:
                return handed_over_from_python(told, (self, other), (self, other), {})
            return handed_over(told, (self, other), None)
        except Unanswered:
            return NotImplemented
    import numpy as np  # lazy: of all operands, only these need it

    if isinstance(other, SYMBOLIC):
        if told.__name__ != name:
            return told(self, other)
        formula = REFLECTED.get(_RIGHT_OPERANDS.get(name, ""))
        return NotImplemented if formula is None else formula(self, other)
    if isinstance(other, (int, float, complex, np.number, np.bool_)):
        number = other.item() if isinstance(other, np.generic) else _plain_number(other)
        return getattr(self, name)(number)
    return NotImplemented


class Arrays:
    """What operators ask of the module of arrays, which is above this one; `mt_core._assemble` enters it."""

    from_numpy: Callable[[Any], Any]


def array_operator_fallback(told: Any, told_other: Any, self: Any, other: Any, name: str) -> Any:
    """`operator_fallback`, where a NumPy array counts as the tensor of its elements.

    An override of the right operand alone is told of the method `told_other`, as PyTorch tells it.
    """
    import numpy as np  # lazy: of all operands, only these need it

    if isinstance(other, np.ndarray) and not must_ask((self,)):
        try:
            tensor = Arrays.from_numpy(other.copy())
        except TypeError:  # an array of objects or texts has no tensor
            return NotImplemented
        return getattr(self, name)(tensor.to(self.device))
    return operator_fallback(told if must_ask((self,)) else told_other, self, other, name, False)


def _plain_number(value: Any) -> Any:
    classes: tuple[Any, ...] = (bool, int, float, complex)
    for cls in classes:
        if isinstance(value, cls):
            return cls(value)
    raise TypeError(f"not a number: {value!r}")


def reflected(packet: Any, self: Any, other: Any) -> Any:
    """``other <operator> self``: a number becomes a 0-dim tensor that weighs as a number in promotion."""
    if is_overridden(self._keys | tls.mode):
        raise Overridden
    return REFLECTED[packet.name](self, other)
