"""How a line of the Ascend table says what a primitive gets of an operator's arguments.

A line's arguments are names of the operator's, or objects of this module: ``of(given)`` is the value, and a condition's
``serves(given)`` tells whether the primitive does for these arguments what the operator does; where it does not, what
stands behind the table serves, down to the composite.

This module does not import MindSpore.
"""

from __future__ import annotations

import math
from typing import Any

import mt_core
import mt_core.dtypes

__all__ = [
    "AttentionScale", "Bit", "Call", "Constant", "Correction", "DtypeOrDefault", "Flag", "Flags", "Given",
    "Heads", "Index", "IndexDtype", "One", "Only", "OrNone", "Present", "Real", "Reduction", "Scales",
    "Several", "Side", "Stride", "Terms", "Word",
]  # fmt: skip


class Constant:
    """A value that is not the operator's to choose."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def of(self, given: dict[str, Any]) -> Any:
        return self.value


class Named:
    """A value made of the operator's argument of a name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Flag(Named):
    """A bool that is False where the operator leaves it open."""

    def of(self, given: dict[str, Any]) -> Any:
        return bool(given[self.name])


class Flags(Named):
    """Bools that the primitive takes as integers."""

    def of(self, given: dict[str, Any]) -> Any:
        return tuple(map(int, given[self.name]))


class Bit:
    """One of several bools."""

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self.place = place

    def of(self, given: dict[str, Any]) -> Any:
        return bool(given[self.name][self.place])


class Index(Named):
    """An index for which the operator says -1, and the primitive None, where there is none."""

    def of(self, given: dict[str, Any]) -> Any:
        return given[self.name] if given[self.name] >= 0 else None


class Real(Named):
    """A number that the primitive takes as a float."""

    def of(self, given: dict[str, Any]) -> Any:
        value = given[self.name]
        if isinstance(value, complex):
            raise NotImplementedError(f"{self.name}={value}: MindSpore takes real numbers on Ascend")
        return float(value)


class Correction:
    """What is taken from the number of elements: 1 where the operator leaves it open, and a whole number."""

    name = "correction"

    def of(self, given: dict[str, Any]) -> Any:
        value = 1 if given["correction"] is None else given["correction"]
        if int(value) != value:
            raise NotImplementedError(f"correction={value}: MindSpore takes whole numbers on Ascend")
        return int(value)


class Word(Named):
    """A word for which the operator has its place among these; others are not served."""

    def __init__(self, name: str, *words: str) -> None:
        super().__init__(name)
        self.words = words

    def of(self, given: dict[str, Any]) -> Any:
        return self.words[given[self.name]]

    def serves(self, given: dict[str, Any]) -> bool:
        return 0 <= given[self.name] < len(self.words)


class Reduction(Word):
    """How losses are put together."""

    def __init__(self) -> None:
        super().__init__("reduction", "none", "mean", "sum")


class Given(Named):
    """A tensor that the operator may leave out, and the primitive may not."""

    def of(self, given: dict[str, Any]) -> Any:
        return given[self.name]

    def serves(self, given: dict[str, Any]) -> bool:
        return given[self.name] is not None


class Present(Named):
    """Indices, none of them left out, and no masks among them."""

    def of(self, given: dict[str, Any]) -> Any:
        return list(given[self.name])

    def serves(self, given: dict[str, Any]) -> bool:
        return all(i is not None and not str(i.dtype).endswith("bool") for i in given[self.name])


class OrNone(Named):
    """Dimensions; None where there are none."""

    def of(self, given: dict[str, Any]) -> Any:
        return given[self.name] or None


class DtypeOrDefault(Named):
    """A dtype, the default one where the operator leaves it open."""

    def of(self, given: dict[str, Any]) -> Any:
        return given[self.name] or mt_core.get_default_dtype()


class One(Named):
    """A dimension, which kernels are given as a list of one."""

    def of(self, given: dict[str, Any]) -> Any:
        dim = given[self.name]
        return dim if type(dim) is int else dim[0]


class Several(Named):
    """Dimensions, one at least: none means all of them to the primitive, and nothing to the operator."""

    def of(self, given: dict[str, Any]) -> Any:
        return given[self.name]

    def serves(self, given: dict[str, Any]) -> bool:
        return given[self.name] is not None and len(given[self.name]) > 0


class Stride(Named):
    """Steps of windows; the windows' own sizes where the operator is given none."""

    def __init__(self) -> None:
        super().__init__("stride")

    def of(self, given: dict[str, Any]) -> Any:
        return tuple(given["stride"] or given["kernel_size"])


#: What a number stands for where an operator asks for one of two dtypes of indices.
INDICES = {False: mt_core.dtypes.int64, True: mt_core.dtypes.int32}


class IndexDtype(Named):
    """The dtype of indices, int32 where the operator's flag is set."""

    def of(self, given: dict[str, Any]) -> Any:
        return INDICES[bool(given[self.name])]


class Side:
    """Whether places are right of what is equal, which an operator says in two ways."""

    name = "right"

    def of(self, given: dict[str, Any]) -> Any:
        return given["right"] or given["side"] == "right"


class Heads:
    """The number of heads of a query (batch, heads, places, features)."""

    name = "query"

    def of(self, given: dict[str, Any]) -> Any:
        return int(given["query"].shape[1])

    def serves(self, given: dict[str, Any]) -> bool:
        return len(given["query"].shape) == 4 and given["query"].shape[1] == given["key"].shape[1]


class AttentionScale:
    """What products of queries and keys are multiplied with."""

    name = "scale"

    def of(self, given: dict[str, Any]) -> Any:
        return 1 / math.sqrt(given["query"].shape[-1]) if given["scale"] is None else float(given["scale"])


class Only:
    """Condition: an argument that the primitive has no place for has this value."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value

    def serves(self, given: dict[str, Any]) -> bool:
        return bool(given[self.name] == self.value)


class Terms:
    """Condition: there is something to add up: what primitives make of products over nothing is not initialized."""

    def __init__(self, name: str) -> None:
        self.name = name

    def serves(self, given: dict[str, Any]) -> bool:
        return 0 not in given[self.name].shape


class Scales:
    """Condition: the factors of sizes are left open, or are those that the sizes have.

    The primitives take sizes or factors, not both.
    """

    def __init__(self, *names: str, sizes: str | None = None) -> None:
        self.names = names
        self.sizes = sizes

    def serves(self, given: dict[str, Any]) -> bool:
        before = given["self"].shape[2:] if self.sizes is None else given[self.sizes][2:]
        factors = [given[name] for name in self.names]
        return all(f is None or f * n == m for f, n, m in zip(factors, before, given["output_size"], strict=True))


def value_of(argument: Any, given: dict[str, Any]) -> Any:
    return given[argument] if isinstance(argument, str) else argument.of(given)


class Call:
    """A primitive, and its arguments: names of the operator's, or objects of this module.

    Parameters
    ----------
    primitive
        Its name.
    arguments
        What it is called with, in order.
    made_with
        What it is made with, by its own names.
    where
        Conditions beside those of the arguments.
    numbers
        Whether numbers among the operator's operands are 0-dim tensors.
    masked
        The operator's argument that tells which of the results are asked for; others are None.
    alike
        Whether the primitive takes tensors of one shape alone: others are broadcast before.
    result
        Which of the primitive's results is the operator's; all, in order, where it is None.
    """

    def __init__(
        self, primitive: str, *arguments: Any, made_with: dict[str, Any] | None = None, where: tuple[Any, ...] = (),
        numbers: bool = False, masked: str | None = None, alike: bool = False, result: int | None = None,
    ) -> None:  # fmt: skip
        self.primitive = primitive
        self.arguments = arguments
        self.made_with = made_with or {}
        self.numbers = numbers
        self.masked = masked
        self.alike = alike
        self.result = result
        self.conditions = [c for c in (*arguments, *self.made_with.values(), *where) if hasattr(c, "serves")]

    def given(self, names: list[str], values: tuple[Any, ...]) -> list[Any]:
        """What the primitive gets, of an operator's arguments of these names."""
        by_name = dict(zip(names, values, strict=True))
        return [value_of(a, by_name) for a in self.arguments]

    def settings(self, names: list[str], values: tuple[Any, ...]) -> dict[str, Any]:
        """What the primitive is made with."""
        by_name = dict(zip(names, values, strict=True))
        return {name: value_of(a, by_name) for name, a in self.made_with.items()}

    def results(self, made: Any, names: list[str], values: tuple[Any, ...]) -> Any:
        """The operator's results, of what the primitive made."""
        if self.result is not None:
            return made[self.result]
        if self.masked is None:
            return made
        asked = values[names.index(self.masked)]
        return tuple(part if wanted else None for part, wanted in zip(made, asked, strict=True))

    def serves(self, names: list[str], values: tuple[Any, ...]) -> bool:
        """Whether the primitive does for these arguments what the operator does."""
        by_name = dict(zip(names, values, strict=True))
        return all(condition.serves(by_name) for condition in self.conditions)
