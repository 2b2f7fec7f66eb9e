"""The size of a ragged dimension: a number that is known to equal itself, and to be 2 or more."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from mt_core.symbolic import SymInt
from mt_core.tensor import Tensor

__all__ = ["NestedIntNode", "nested_int_of"]

_RELATIONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


class NestedIntNode:
    """The node of ``coefficient * j<number>``.

    Every ragged structure (a tensor of offsets, or of lengths) has its number, so that two sizes are equal exactly when
    they are of the same structure. Two of them have no order, and nothing but products with integers is known of one.
    """

    def __init__(self, number: int, coefficient: int = 1) -> None:
        self.number, self.coefficient = number, coefficient

    @property
    def identity(self) -> tuple[int, int]:
        """What it is told apart by."""
        return self.number, self.coefficient

    def nested_int(self) -> int:
        """The number of its structure."""
        return self.number

    def nested_int_coeff(self) -> int:
        """How many times the size of the structure it is."""
        return self.coefficient

    def is_nested_int(self) -> bool:
        return True

    def is_symbolic(self) -> bool:
        return False

    def is_constant(self) -> bool:
        return False

    def is_int(self) -> bool:
        return True

    def is_float(self) -> bool:
        return False

    def is_bool(self) -> bool:
        return False

    def maybe_as_int(self) -> None:
        """No plain integer."""

    def known(self) -> None:
        """No plain number."""

    def has_hint(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"j{self.number}" if self.coefficient == 1 else f"{self.coefficient}*j{self.number}"

    __repr__ = __str__

    def operate(self, name: str, left: Any, right: Any) -> Any:
        """A relation, or a product with an integer.

        Raises
        ------
        ValueError
            For orders that are not known, and for products of two.
        AttributeError
            For any other operation.
        """
        swapped = not (isinstance(left, SymInt) and left.node is self)
        other = left if swapped else right
        if name in _RELATIONS:
            return self._compare(_MIRRORED[name] if swapped else name, other)
        if name == "mul":
            return self.times(other)
        raise AttributeError(f"'NestedIntNode' object has no attribute '{_NAMES.get(name, name)}'")

    def of_layout(self, name: str, left: Any, right: Any) -> Any:
        """As `operate`, of numbers that no program has computed."""
        return self.operate(name, left, right)

    def times(self, factor: Any) -> Any:
        """The product with an integer."""
        if isinstance(factor, SymInt):
            raise ValueError(f"unsupported: {type(factor.node)}")
        return SymInt(NestedIntNode(self.number, self.coefficient * factor))

    def _compare(self, name: str, other: Any) -> bool:
        identity = getattr(other.node, "identity", None) if isinstance(other, SymInt) else None
        if name in ("eq", "ne"):
            return (identity == self.identity) == (name == "eq")
        if identity is not None and identity[0] == self.number:
            mine, theirs = self.coefficient, identity[1]
        elif identity is None and other <= 2 and name in ("ge", "lt"):
            mine, theirs = 2, 2
        elif identity is None and other < 2:
            mine, theirs = 2, 1
        else:
            raise ValueError("ge: relation is indeterminate")
        return {"lt": mine < theirs, "le": mine <= theirs, "gt": mine > theirs, "ge": mine >= theirs}[name]

    def unary(self, name: str) -> Any:
        if name == "pos":
            return SymInt(self)
        raise AttributeError(f"'NestedIntNode' object has no attribute '{_NAMES.get(name, name)}'")

    binary = unary

    def guard_int(self, file: str, line: int) -> int:
        """No plain integer.

        Raises
        ------
        AttributeError
            Always, in PyTorch's words.
        """
        raise AttributeError("'NestedIntNode' object has no attribute 'int_'")


_NAMES = {"floordiv": "int_floordiv"}
_numbers = itertools.count(1)
#: Identity of a tensor of offsets or lengths -> the size of the dimension that it describes.
_sizes: dict[int, SymInt] = {}


def nested_int_of(structure: Tensor) -> SymInt:
    """The size of the ragged dimension that a tensor of offsets, or of lengths, describes; always the same."""
    found = _sizes.get(id(structure))
    if found is None:
        found = _sizes[id(structure)] = SymInt(NestedIntNode(next(_numbers)))
        weakref.finalize(structure, _sizes.pop, id(structure), None).atexit = False
    return found
