"""``torch.einsum``: an equation and the operands' shapes make a plan of views, sums and batched matrix products."""

import functools
import math
from itertools import accumulate
from typing import Any, NamedTuple

from .overriding import overridable
from .symbolic import has_symbols
from .tensor import Tensor

__all__ = ["einsum"]

Ints = tuple[int, ...]
#: A letter, or a negative number for a dimension under ``...``.
Label = Any


@overridable
def einsum(equation: Any, *operands: Any) -> Any:
    """Sums of products written with one letter per dimension (``"bij,bjk->bik"``); ``...`` stands for batch dimensions.

    Operands are joined from left to right; each joining is one batched matrix product.

    Raises
    ------
    ValueError
        Without operands.
    RuntimeError
        For equations that do not fit the operands.
    """
    if not operands:
        raise _nothing_given()
    if not isinstance(equation, str):
        equation, operands = _from_lists(equation, operands)
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    if not given:
        raise _nothing_given()
    shapes = _shapes(given)
    try:
        plan = _plan(equation, shapes)
    except TypeError:
        if not any(map(has_symbols, shapes)):
            raise
        plan = _plan.__wrapped__(equation, shapes)  # symbolic sizes are no keys
    result = plan.parts[0].of(given[0])
    for part, operand, join in zip(plan.parts[1:], given[1:], plan.joins, strict=True):
        result = join.of(result, part.of(operand))
    return plan.last.of(result)


def _shapes(operands: Any) -> tuple[Ints, ...]:
    try:
        return tuple([operand._array.shape for operand in operands])
    except AttributeError:
        at, wrong = next((i, x) for i, x in enumerate(operands) if not isinstance(x, Tensor))
        raise TypeError(f"expected Tensor as element {at} in argument 1, but got {type(wrong).__name__}") from None


def _nothing_given() -> ValueError:
    return ValueError(
        "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
        "subscripts list"
    )


def _from_lists(first: Any, rest: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The form ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    items = [first, *rest]

    def letters(labels: Any) -> str:
        if any(n is not Ellipsis and not 0 <= n < 52 for n in labels):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join(
            "..." if n is Ellipsis else chr(ord("A") + n) if n < 26 else chr(ord("a") + n - 26) for n in labels
        )

    operands = items[: len(items) // 2 * 2 : 2]
    terms = [letters(labels) for labels in items[1::2]]
    equation = ",".join(terms)
    if len(items) % 2:
        equation += "->" + letters(items[-1])
    return equation, tuple(operands)


# Plans


class _Steps(NamedTuple):
    """What is done to one tensor, in this order; None where it would change nothing."""

    diagonals: tuple[tuple[int, int], ...] = ()
    summed: Ints | None = None
    order: Ints | None = None
    wide: Ints | None = None
    shape: Ints | None = None

    def of(self, tensor: Any) -> Any:
        """Do it."""
        for first, second in self.diagonals:
            tensor = tensor.diagonal(0, first, second)
        if self.summed is not None:
            tensor = tensor.sum(self.summed)
        if self.order is not None:
            tensor = tensor.permute(self.order)
        if self.wide is not None:
            tensor = tensor.expand(self.wide)
        return tensor if self.shape is None else tensor.reshape(self.shape)


class _Join(NamedTuple):
    """Two tensors made one: by a batched matrix product, whose result gets `shape`, or (None) element by element."""

    left: _Steps
    right: _Steps
    swapped: bool
    shape: Ints | None

    def of(self, a: Any, b: Any) -> Any:
        """Do it."""
        a, b = self.left.of(a), self.right.of(b)
        if self.swapped:
            a, b = b, a
        if self.shape is None:
            return a * b
        # A sum over one element is none, and every dtype has a product.
        return (a * b if a._array.shape[-1] == 1 else a.bmm(b)).view(self.shape)


class _Plan(NamedTuple):
    """Steps of each operand, the joins from left to right, and steps of the result."""

    parts: list[_Steps]
    joins: list[_Join]
    last: _Steps


class _Layout(NamedTuple):
    """Labels of a tensor's dimensions, and their sizes."""

    labels: list[Label]
    sizes: list[int]

    def size(self, label: Label) -> int:
        return self.sizes[self.labels.index(label)]

    def without(self, gone: list[Label]) -> "_Layout":
        kept = [(x, n) for x, n in zip(self.labels, self.sizes, strict=True) if x not in gone]
        return _Layout([x for x, _ in kept], [n for _, n in kept])

    def places(self, labels: list[Label]) -> Ints:
        return tuple([self.labels.index(x) for x in labels])


@functools.lru_cache(maxsize=512)
def _plan(equation: str, shapes: tuple[Ints, ...]) -> _Plan:
    inputs, output = _parse(equation, shapes)
    sizes = _sizes(inputs, shapes)
    parts, layouts = [], []
    for labels, shape in zip(inputs, shapes, strict=True):
        diagonals, layout = _diagonals(_Layout(list(labels), list(shape)))
        parts.append(_Steps(diagonals))
        layouts.append(layout)
    if len(parts) == 1:
        return _plan_of_one(parts[0].diagonals, layouts[0], output)
    joins, result = [], layouts[0]
    for position, other in enumerate(layouts[1:], 1):
        later = {x for rest in inputs[position + 1 :] for x in rest} | set(output)
        join, result = _joined(result, other, later, output if position + 1 == len(layouts) else [])
        joins.append(join)
    return _Plan(parts, joins, _last_steps(result, output, sizes))


def _plan_of_one(diagonals: tuple[tuple[int, int], ...], layout: _Layout, output: list[Label]) -> _Plan:
    """A single operand is always permuted; what is summed out of it stands last then."""
    gone = [x for x in layout.labels if x not in output]
    summed = tuple(range(len(output), len(layout.labels))) or None
    return _Plan([_Steps(diagonals, None, layout.places(output + gone))], [], _Steps((), summed))


def _sizes(inputs: list[list[Label]], shapes: tuple[Ints, ...]) -> dict[Label, int]:
    """The size that each label stands for, 1 counting less than any other."""
    sizes: dict[Label, int] = {}
    for position, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        own: dict[Label, int] = {}
        for label, n in zip(labels, shape, strict=True):
            if own.setdefault(label, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {position} but the sizes don't match, {n} "
                    f"!= {own[label]}"
                )
            if sizes.get(label, 1) == 1:
                sizes[label] = n
            elif n not in (1, sizes[label]):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {n} for operand {position} which does not broadcast "
                    f"with previously seen size {sizes[label]}"
                )
    return sizes


def _diagonals(layout: "_Layout") -> "tuple[tuple[tuple[int, int], ...], _Layout]":
    """Repeated labels of one operand become the diagonal of their dimensions."""
    pairs = []
    labels, sizes = layout
    for label in list(dict.fromkeys(labels)):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            pairs.append((first, second))
            n = sizes[first]
            kept = [i for i in range(len(labels)) if i not in (first, second)]
            labels, sizes = [*[labels[i] for i in kept], label], [*[sizes[i] for i in kept], n]
    return tuple(pairs), _Layout(labels, sizes)


def _joined(a: "_Layout", b: "_Layout", later: set[Label], output: list[Label]) -> "tuple[_Join, _Layout]":
    """One batched matrix product: shared labels that are needed later are batch, the others are summed over.

    A dimension that is broadcast cannot be summed by a product, and is batch, too.
    """
    shared = [x for x in a.labels if x in b.labels]
    # What is summed and has one element in one of the two is summed out of the other first.
    spread = [x for x in shared if x not in later and a.size(x) != b.size(x)]
    shared = [x for x in shared if x not in spread]
    batch = sorted([x for x in shared if x in later], key=lambda x: output.index(x) if x in output else len(output))
    inner = [x for x in shared if x not in batch]
    gone = [[x for x in t.labels if x not in shared and x not in later] for t in (a, b)]
    summed = [t.places(labels) or None for t, labels in zip((a, b), gone, strict=True)]
    a, b = a.without(gone[0]), b.without(gone[1])
    rows, columns = [x for x in a.labels if x not in shared], [x for x in b.labels if x not in shared]
    batch_shape = [0 if 0 in (a.size(x), b.size(x)) else max(a.size(x), b.size(x)) for x in batch]
    row_shape, column_shape = [a.size(x) for x in rows], [b.size(x) for x in columns]
    swapped = bool(rows and columns) and output == batch + columns + rows
    made = _Layout(
        batch + (columns + rows if swapped else rows + columns),
        batch_shape + (column_shape + row_shape if swapped else row_shape + column_shape),
    )
    if not inner and not spread:
        if sorted(output, key=str) == sorted(made.labels, key=str):
            made = _Layout(output, [made.size(x) for x in output])
        sides = [_factor(t, s, made.labels) for t, s in zip((a, b), summed, strict=True)]
        return _Join(sides[0], sides[1], False, None), made
    # A swapped product is that of the transposed matrices.
    flat = (math.prod(batch_shape), math.prod(row_shape), math.prod([a.size(x) for x in inner]))
    columns_flat = math.prod(column_shape)
    left_order, left_flat = (batch + inner + rows, (flat[0], flat[2], flat[1])) if swapped else (
        batch + rows + inner, flat,
    )  # fmt: skip
    right_order, right_flat = (batch + columns + inner, (flat[0], columns_flat, flat[2])) if swapped else (
        batch + inner + columns, (flat[0], flat[2], columns_flat),
    )  # fmt: skip
    left = _matrix(a, summed[0], left_order, batch_shape, left_flat)
    right = _matrix(b, summed[1], right_order, batch_shape, right_flat)
    return _Join(left, right, swapped, tuple(made.sizes)), made


def _factor(tensor: "_Layout", summed: Ints | None, labels: list[Label]) -> _Steps:
    """A tensor laid out in the order of `labels`, with dimensions of size 1 for those it has not."""
    order = [x for x in labels if x in tensor.labels]
    shape = tuple([tensor.size(x) if x in tensor.labels else 1 for x in labels])
    have = tuple([tensor.size(x) for x in order])
    return _Steps((), summed, _unless_same(tensor, order), None, None if shape == have else shape)


def _matrix(tensor: "_Layout", summed: Ints | None, order: list[Label], batch: list[int], flat: Ints) -> _Steps:
    """A tensor laid out in an order whose first labels are the batch's, as a batch of matrices."""
    have = tuple([tensor.size(x) for x in order])
    wide = (*batch, *have[len(batch) :])
    return _Steps(
        (), summed, _unless_same(tensor, order), None if wide == have else wide, None if flat == wide else flat
    )


def _unless_same(tensor: "_Layout", order: list[Label]) -> Ints | None:
    return None if order == tensor.labels else tensor.places(order)


def _last_steps(result: "_Layout", output: list[Label], sizes: dict[Label, int]) -> _Steps:
    """Sum out what the output lacks, and order the rest as it has it."""
    gone = [x for x in result.labels if x not in output]
    kept = result.without(gone)
    order = _unless_same(kept, output)
    wide = tuple([sizes[x] for x in output])
    have = tuple([kept.size(x) for x in output])
    return _Steps((), result.places(gone) or None, order, None if wide == have else wide)


# Equations


def _parse(equation: str, shapes: tuple[Ints, ...]) -> tuple[list[list[Label]], list[Label]]:
    """Labels of each operand's dimensions and of the result's."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        fewer = "fewer" if len(terms) > len(shapes) else "more"
        raise RuntimeError(f"einsum(): {fewer} operands were provided than specified in the equation")
    starts = accumulate([len(term) + 1 for term in terms], initial=0)
    inputs = [
        _labels(_symbols(term, start, f"operand {i}"), len(shape), i)
        for i, (term, shape, start) in enumerate(zip(terms, shapes, starts, strict=False))
    ]
    batch = max([sum([isinstance(x, int) for x in labels]) for labels in inputs], default=0)
    everything = [x for labels in inputs for x in labels]
    ellipsis = list(range(-batch, 0))
    if not arrow:
        return inputs, ellipsis + sorted({x for x in everything if not isinstance(x, int) and everything.count(x) == 1})
    output: list[Label] = []
    for symbol in _symbols(right, len(left) + 2, "output"):
        output += ellipsis if symbol == _DOTS else [symbol]
    for label in output:
        if isinstance(label, int):
            continue
        if label not in everything:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    return inputs, output


_DOTS = "..."


def _symbols(text: str, start: int, where: str) -> list[str]:
    """The letters and the ``...`` of one term, which begins at `start` in the equation; spaces stand between them only.

    Raises
    ------
    RuntimeError
        For anything else, and for a second ``...``.
    """
    found: list[str] = []
    at = 0
    while at < len(text):
        symbol = _DOTS if text.startswith(_DOTS, at) else text[at]
        if symbol[0] == ".":
            _check_dots(symbol, found, where)
        elif symbol != " " and not (symbol.isascii() and symbol.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + at} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
        if symbol != " ":
            found.append(symbol)
        at += len(symbol)
    return found


def _check_dots(symbol: str, before: list[str], where: str) -> None:
    is_output = where == "output"
    if _DOTS in before:
        words = "but an ellipsis (...) was already found" if is_output else "for which an ellipsis was already found"
        raise RuntimeError(f"einsum(): found '.' for {where} {words}")
    if symbol != _DOTS:
        shown = " (...)" if is_output else ""
        raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis{shown}")


def _labels(symbols: list[str], ndim: int, position: int) -> list[Label]:
    dots = _DOTS in symbols
    at = symbols.index(_DOTS) if dots else len(symbols)
    before, after = symbols[:at], symbols[at + 1 :]
    named = len(before) + len(after)
    if not dots and named != ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
            f"({ndim}) for operand {position} and no ellipsis was given"
        )
    if named > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
            f"({ndim}) for operand {position}"
        )
    return [*before, *range(named - ndim, 0), *after]
