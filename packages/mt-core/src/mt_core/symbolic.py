"""``torch.SymInt``, ``SymFloat``, ``SymBool``: numbers of which an expression is known, and not the value.

They are no ``int``, ``float`` or ``bool``, so that nothing reads a value unseen. What is computed of them is another
of them; whoever needs the value (``int(s)``, ``if s > 2``, ``range(s)``) asks their `node`, which answers by an
example and remembers that the answer has been relied on (a guard), or refuses. A ``ShapeEnv`` makes the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

__all__ = [
    "SYMBOLIC", "SymBool", "SymFloat", "SymInt", "at_least_one", "has_symbols", "is_empty", "is_symbolic", "plain",
    "plain_sizes", "product", "quotient",
]  # fmt: skip


#: Class of a symbolic number -> what `isinstance` is to take it for; set where programs are run that know no symbols.
class_asked: Callable[[type], type] | None = None


class _Symbolic:
    """A number that its `node` knows.

    Attributes
    ----------
    node
        What computes with it, compares it, and is asked for its value.
    """

    __slots__ = ("node", "__weakref__", "__dict__")
    #: Arrays of NumPy leave operators with it to it.
    __array_ufunc__ = None

    def __init__(self, node: Any) -> None:
        self.node = node

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # `isinstance` asks for it where the type itself is not the one asked for.
        return type(self) if class_asked is None else class_asked(type(self))

    def __repr__(self) -> str:
        return str(self.node)

    __str__ = __repr__

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def _sympy_(self) -> Any:
        """The expression."""
        return self.node.expr


class _Number(_Symbolic):
    """What integers and floats have in common."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return other * int(self) if isinstance(other, _SEQUENCES) else _binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return other * int(self) if isinstance(other, _SEQUENCES) else _binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("truediv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return _binary("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary("mod", other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return _binary("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _binary("pow", other, self)

    def __eq__(self, other: object) -> Any:
        return _binary("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary("ne", self, other)

    def __lt__(self, other: Any) -> Any:
        return _binary("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _binary("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _binary("ge", self, other)

    def __neg__(self) -> Any:
        return self.node.unary("neg")

    def __pos__(self) -> Any:
        return self.node.unary("pos")

    def __abs__(self) -> Any:
        return self.node.unary("abs")

    def __floor__(self) -> Any:
        return self.node.unary("floor")

    def __ceil__(self) -> Any:
        return self.node.unary("ceil")

    def __trunc__(self) -> Any:
        return self.node.unary("trunc")

    def __round__(self, ndigits: Any = None) -> Any:
        return self.node.unary("round") if ndigits is None else self.node.binary("round_digits", ndigits)

    def __sym_float__(self) -> Any:
        return self.node.unary("sym_float")

    def __sym_max__(self, other: Any) -> Any:
        return _binary("sym_max", self, other)

    def __sym_min__(self, other: Any) -> Any:
        return _binary("sym_min", self, other)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def conjugate(self) -> Any:
        """Itself: it is real."""
        return self

    @property
    def real(self) -> Any:
        return self

    @property
    def imag(self) -> Any:
        return 0


class SymInt(_Number):
    """An integer that is an expression of sizes; ``int(s)`` fixes it, and a guard says so."""

    __slots__ = ()

    def __int__(self) -> int:
        return self.node.guard_int("", 0)  # type: ignore[no-any-return]

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.node.guard_int("", 0))

    def __hash__(self) -> int:
        if (nested := getattr(self.node, "identity", None)) is not None:
            return hash(nested)
        raise TypeError("unhashable type: non-nested SymInt")

    def __lshift__(self, other: Any) -> Any:
        return _binary("lshift", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _binary("lshift", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _binary("rshift", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _binary("rshift", other, self)

    def __and__(self, other: Any) -> Any:
        return _binary("bitwise_and", self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return _binary("bitwise_or", self, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return _binary("bitwise_xor", self, other)

    __rxor__ = __xor__

    def as_integer_ratio(self) -> tuple[Any, int]:
        """Itself and 1."""
        return self, 1

    def bit_length(self) -> int:
        """Of its value, which this fixes."""
        return int(self).bit_length()


class SymFloat(_Number):
    """A float that is an expression of sizes; ``float(s)`` fixes it, and a guard says so."""

    __slots__ = ()

    def __float__(self) -> float:
        return self.node.guard_float("", 0)  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return int(self.node.unary("trunc"))

    def __hash__(self) -> int:
        return hash(float(self))

    def __sym_int__(self) -> Any:
        return self.node.unary("trunc")

    def is_integer(self) -> Any:
        """Whether it has no fraction."""
        return self == self.node.unary("floor")

    def as_integer_ratio(self) -> tuple[int, int]:
        """Of its value, which this fixes."""
        return float(self).as_integer_ratio()

    def hex(self) -> str:
        """Of its value, which this fixes."""
        return float(self).hex()


class SymBool(_Symbolic):
    """A truth value that is a relation of sizes; ``bool(b)`` decides it, and a guard says so."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return self.node.guard_bool("", 0)  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return int(bool(self))

    def __hash__(self) -> int:
        return hash(bool(self))

    def __and__(self, other: Any) -> Any:
        return _binary("and", self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return _binary("or", self, other)

    __ror__ = __or__

    def __eq__(self, other: object) -> Any:
        return _binary("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary("ne", self, other)

    def __sym_not__(self) -> Any:
        return self.node.unary("sym_not")

    def __sym_ite__(self, yes: Any, no: Any) -> Any:
        return self.node.choice(yes, no)

    def __sym_float__(self) -> Any:
        return self.node.unary("sym_float")

    def __add__(self, other: Any) -> Any:
        return self.node.unary("sym_int") + other

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        return self.node.unary("sym_int") * other

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Any:
        return self.node.unary("sym_int") - other

    def __rsub__(self, other: Any) -> Any:
        return other - self.node.unary("sym_int")


#: The classes of symbolic numbers.
SYMBOLIC = (SymInt, SymFloat, SymBool)
#: What is repeated by a number, whose value that needs.
_SEQUENCES = (str, bytes, list, tuple)
_OPERANDS = (int, float, SymInt, SymFloat, SymBool)


def _binary(name: str, left: Any, right: Any) -> Any:
    """The node of either operand computes; anything but numbers is left to the other operand's class."""
    if not isinstance(left, _OPERANDS) or not isinstance(right, _OPERANDS):
        return NotImplemented
    known: Any = left if isinstance(left, _Symbolic) else right
    return known.node.operate(name, left, right)


def is_symbolic(value: object) -> bool:
    """Whether a value is a symbolic number."""
    return isinstance(value, SYMBOLIC)


def has_symbols(values: Iterable[Any]) -> bool:
    """Whether one of several values is a symbolic number."""
    return any(isinstance(value, SYMBOLIC) for value in values)


def plain(value: Any) -> Any:
    """A symbolic number that is constant by its expression alone as a plain one; anything else as it is."""
    if isinstance(value, SYMBOLIC):
        known = value.node.known()
        return value if known is None else known
    return value


def plain_sizes(values: Iterable[Any]) -> tuple[Any, ...]:
    """`plain` of each of several values."""
    return tuple([plain(value) for value in values])


def at_least_one(size: Any) -> Any:
    """A size, or 1 where it is 0; of a symbolic one, an expression and no guard."""
    if not isinstance(size, SymInt):
        return size if size > 1 else 1
    return size if (size >= 1).node.statically_known_true("", 0) else size.__sym_max__(1)


def is_empty(shape: tuple[Any, ...]) -> bool:
    """Whether one of the sizes is 0, which a layout depends on; sizes that depend on elements count as larger."""
    for size in shape:
        if isinstance(size, SymInt):
            found = size == 0
            if found.node.guard_size_oblivious("", 0) if isinstance(found, SymBool) else found:
                return True
        elif size == 0:
            return True
    return False


def product(sizes: tuple[Any, ...]) -> Any:
    """The number of elements of a shape, which no program has computed itself."""
    found = math.prod([size for size in sizes if not isinstance(size, SymInt)])
    for size in sizes:
        if isinstance(size, SymInt):
            found = size.node.of_layout("mul", found, size)
    return found


def quotient(step: Any, itemsize: int) -> Any:
    """A number of bytes in elements, which no program has computed itself."""
    return plain(step.node.of_layout("floordiv", step, itemsize)) if isinstance(step, SymInt) else step // itemsize
