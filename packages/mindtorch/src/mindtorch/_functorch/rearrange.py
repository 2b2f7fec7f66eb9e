"""``torch.func.rearrange``: dimensions split, reordered and joined, as a pattern of their names says."""

from __future__ import annotations

import functools
import keyword
import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from mt_core.api import _functions as ops
from mt_core.tensor import Tensor

__all__ = ["DimensionBindError", "rearrange"]

#: What stands for an ellipsis among the names of one side.
_REST = "…"


class DimensionBindError(Exception):
    """The sizes of a tensor's dimensions do not fit those of a pattern."""

    __module__ = "functorch.dim"


class _Side(NamedTuple):
    """One side of a pattern.

    Attributes
    ----------
    groups : tuple of tuple of str
        The names that each dimension is made of; none of one that is written ``1`` or ``()``.
    names : frozenset of str
        All names, and `_REST` for an ellipsis.
    rest_is_grouped : bool
        Whether the ellipsis stands in brackets.
    has_sizes : bool
        Whether a number other than 1 stands in it.
    """

    groups: tuple[tuple[str, ...], ...]
    names: frozenset[str]
    rest_is_grouped: bool
    has_sizes: bool


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor with its dimensions split, reordered and joined.

    Parameters
    ----------
    tensor : Tensor or sequence of Tensor
        Several tensors are stacked along a new first dimension.
    pattern
        Names of the dimensions before and behind ``->``: ``"b (h w) c -> b c h w"``. Brackets make one dimension of
        several, the last of them the innermost; ``1`` and ``()`` are dimensions of size 1, ``...`` is any
        number of dimensions. A dimension that is written ``1`` before the arrow is summed over.
    **axes_lengths
        Sizes of dimensions; of those in a bracket all but one must be known.

    Returns
    -------
    Tensor
        A view where the memory's order allows it.

    Raises
    ------
    ValueError
        For a pattern that is none, or that does not fit the number of dimensions.
    TypeError
        For a size that is no int.
    DimensionBindError
        For sizes that do not fit the tensor's.

    References
    ----------
    Rogozhnikov, "Einops: Clear and Reliable Tensor Manipulations with Einstein-like Notation", ICLR 2022.
    """
    if not isinstance(tensor, Tensor):
        tensor = ops.stack(tensor)
    left, right = _sides(pattern, tuple((name, type(length)) for name, length in axes_lengths.items()))
    groups = _with_rest(left, tensor.dim())
    if not groups:
        return tensor  # type: ignore[no-any-return]
    sizes = _sizes(groups, tensor.shape, axes_lengths)
    split = tensor.view([n for group in sizes for n in group])
    places = [name for group in groups for name in group or ("",)]
    units = [place for place, name in enumerate(places) if not name]
    wanted = _spelled_out(right, [name for name in places if name.startswith(_REST)])
    moved = split.permute([*[places.index(name) for group in wanted for name in group], *units])
    if units:
        moved = moved.sum(list(range(-len(units), 0)))
    if all(len(group) == 1 for group in wanted):
        return moved  # type: ignore[no-any-return]
    size_of = dict(zip(places, split.shape, strict=True))
    return moved.reshape([math.prod(size_of[name] for name in group) for group in wanted])  # type: ignore[no-any-return]


def _spelled_out(right: _Side, rest: list[str]) -> list[tuple[str, ...]]:
    """The groups of the right side, with the names that the ellipsis stands for."""
    groups: list[tuple[str, ...]] = []
    for group in right.groups:
        if group == (_REST,) and not right.rest_is_grouped:
            groups += [(name,) for name in rest]
        else:
            groups.append(tuple(n for name in group for n in (rest if name == _REST else [name])))
    return groups


def _with_rest(left: _Side, ndim: int) -> list[tuple[str, ...]]:
    """The groups of the left side, with a name for each dimension that the ellipsis stands for."""
    count = len(left.groups)
    if _REST not in left.names:
        if count != ndim:
            raise ValueError(
                f"Number of dimensions in pattern ({count}) must be equal to the number of dimensions in the tensor "
                f"({ndim})"
            )
        return list(left.groups)
    named = max(len(left.names), count) - 1  # those in brackets are counted, too, as PyTorch does
    if named > ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({named}) must be less than or equal to the number of dimensions in the "
            f"tensor ({ndim})"
        )
    at = left.groups.index((_REST,))
    return [*left.groups[:at], *[(f"{_REST}{i}",) for i in range(ndim - count + 1)], *left.groups[at + 1 :]]


def _sizes(groups: Sequence[tuple[str, ...]], shape: Sequence[int], given: dict[str, int]) -> list[list[int]]:
    """The sizes of the dimensions of each group, of which one may follow from the others."""
    found, first = [], 0
    for group, size in zip(groups, shape, strict=True):
        numbers = [f"d{first + i}" for i in range(len(group) or 1)]
        first += len(numbers)
        found.append(_sizes_of(group, numbers, size, given) if group else [size])
    return found


def _sizes_of(group: tuple[str, ...], numbers: list[str], size: int, given: dict[str, int]) -> list[int]:
    """`numbers` is what PyTorch calls the dimensions in its errors."""
    known = [given.get(name, -1) for name in group]
    unknown = [i for i, n in enumerate(known) if n == -1]
    if len(unknown) > 1:
        raise DimensionBindError(
            f"cannot infer the sizes of two dimensions at once {numbers[unknown[0]]} and {numbers[unknown[1]]}"
        )
    product = math.prod(n for n in known if n != -1)
    if not unknown:
        if product != size:
            pack = f"({', '.join(numbers)}{',' if len(numbers) == 1 else ''})"
            raise DimensionBindError(
                f"Dimension sizes to do not match ({size} != {product}) when matching dimension pack {pack}"
            )
        return known
    if size % product:
        shown = tuple("?" if n == -1 else n for n in known)
        raise DimensionBindError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {shown}")
    known[unknown[0]] = size // product
    if known[unknown[0]] < 0:
        raise ValueError(f"dimension {numbers[unknown[0]]} is unbound")
    return known


# Patterns


@functools.lru_cache(256)
def _sides(pattern: str, given: tuple[tuple[str, type], ...]) -> tuple[_Side, _Side]:
    """Both sides of a pattern, checked against each other and against the names and types of sizes."""
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_side, parts)
    if _REST in right.names and _REST not in left.names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.rest_is_grouped:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    for _, kind in given:
        if kind is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {kind}")
    if left.has_sizes or right.has_sizes:
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if lone := set(left.names ^ right.names):
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {lone}")
    if unknown := {name for name, _ in given} - left.names:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    return left, right


def _side(text: str) -> _Side:
    """One side of a pattern.

    Raises
    ------
    ValueError
        In PyTorch's words.
    """
    if _REST in text:
        raise ValueError(f"Unknown character '{_REST}'")
    if "." in text:
        if "..." not in text:
            raise ValueError("Expression may contain dots only inside ellipsis (...)")
        if text.count("...") != 1 or text.count(".") != 3:
            raise ValueError("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
        text = text.replace("...", _REST)
    reader = _Reader()
    for sign in text:
        reader.take(sign)
    reader.end_word()
    if reader.group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    return _Side(tuple(reader.groups), frozenset(reader.names), reader.rest_is_grouped, reader.has_sizes)


class _Reader:
    """One side of a pattern, sign by sign."""

    def __init__(self) -> None:
        self.groups: list[tuple[str, ...]] = []
        self.names: set[str] = set()
        self.rest_is_grouped = self.has_sizes = False
        #: The names in the bracket that is open; None outside of brackets.
        self.group: list[str] | None = None
        self._word = ""

    def take(self, sign: str) -> None:
        if sign.isalnum() or sign in ("_", _REST):
            self._word += sign
            return
        if sign not in "() ":
            raise ValueError(f"Unknown character '{sign}'")
        self.end_word()
        if sign == "(":
            if self.group is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            self.group = []
        elif sign == ")":
            if self.group is None:
                raise ValueError("Brackets are not balanced")
            self.groups.append(tuple(self.group))
            self.group = None

    def end_word(self) -> None:
        word, self._word = self._word, ""
        if not word:
            return
        if word in self.names:
            raise ValueError(f"Indexing expression contains duplicate dimension '{word}'")
        if word.isdecimal():
            self._take_number(word)
            return
        if word == _REST:
            self.rest_is_grouped = self.group is not None
        else:
            _check_name(word)
        self.names.add(word)
        self._enter((word,))

    def _take_number(self, word: str) -> None:
        """A 1 is a dimension of its own, or nothing in a bracket; other numbers are for callers to refuse."""
        if int(word) < 1:
            raise ValueError(f"Anonymous axis should have positive length, not {int(word)}")
        if int(word) == 1:
            if self.group is None:
                self.groups.append(())
            return
        self.has_sizes = True
        self._enter((word,))

    def _enter(self, names: tuple[str, ...]) -> None:
        if self.group is None:
            self.groups.append(names)
        else:
            self.group += names


def _check_name(word: str) -> None:
    reason = ""
    if not word.isidentifier():
        reason = "not a valid python identifier"
    elif word.startswith("_") or word.endswith("_"):
        reason = "axis name should should not start or end with underscore"
    if reason:
        raise ValueError(f"Invalid axis identifier: {word}\n{reason}")
    if keyword.iskeyword(word):
        warnings.warn(f"It is discouraged to use axes names that are keywords: {word}", RuntimeWarning, stacklevel=2)
    if word == "axis":
        warnings.warn(
            "It is discouraged to use 'axis' as an axis name and will raise an error in future",
            FutureWarning,
            stacklevel=2,
        )
