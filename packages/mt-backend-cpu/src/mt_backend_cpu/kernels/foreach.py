"""Operators over lists of arrays of one dtype, each row of one shape (`mt_core.dispatch.lists`).

A ufunc over all rows is one loop in C: ``map`` calls it, with the output as its last argument. Chains of ufuncs keep
what is in between for all small arrays at once; large ones are worked on piece by piece, as one of them would be.
Kernels do the very arithmetic of the operator of one item.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dispatch.registry import register_kernel
from mt_core.keys import CPU

from ..blocks import BLOCK
from ..registry import FLOATS
from .elementwise import addcdiv_into, addcmul_into, lerp_into, scaled

Arrays = list[Any]

#: Rows that go through a chain together: what is in between stays in the cache.
_TOGETHER = 64
_run_all: Callable[[Any], None] = deque(maxlen=0).extend


def _enter(name: str, function: Callable[..., Any], *, writes: bool) -> None:
    accepts = Accepts(dtypes=FLOATS, alike=True)
    register_kernel(
        CPU, (f"_foreach_{name}",), function, accepts=accepts, out="first" if writes else "fresh", recorded=False
    )


# One ufunc


def _unary(name: str, ufunc: Any) -> None:
    def fresh(self: Arrays) -> Arrays:
        return list(map(ufunc, self))

    def into(self: Arrays) -> None:
        _run_all(map(ufunc, self, self))

    _enter(name, fresh, writes=False)
    _enter(f"{name}_", into, writes=True)


def _numbers(numbers: Any, like: Arrays) -> Iterator[Any]:
    """Numbers as arrays without dimensions: beside an array they cost a ufunc less than a Python number."""
    return iter([np.array(number, like[0].dtype) for number in numbers])


def _binary(name: str, ufunc: Any, forms: str) -> None:
    """The forms of a second operand: a list of arrays, a number, or a list of numbers."""

    def of_list(self: Arrays, other: Arrays) -> Arrays:
        return list(map(ufunc, self, other))

    def of_list_into(self: Arrays, other: Arrays) -> None:
        _run_all(map(ufunc, self, other, self))

    def of_number(self: Arrays, number: Any) -> Arrays:
        return list(map(ufunc, self, repeat(np.array(number, self[0].dtype))))

    def of_number_into(self: Arrays, number: Any) -> None:
        _run_all(map(ufunc, self, repeat(np.array(number, self[0].dtype)), self))

    def of_numbers(self: Arrays, numbers: Any) -> Arrays:
        return list(map(ufunc, self, _numbers(numbers, self)))

    def of_numbers_into(self: Arrays, numbers: Any) -> None:
        _run_all(map(ufunc, self, _numbers(numbers, self), self))

    functions = {
        "List": (of_list, of_list_into), "Scalar": (of_number, of_number_into),
        "ScalarList": (of_numbers, of_numbers_into),
    }  # fmt: skip
    for form in forms.split():
        fresh, into = functions[form]
        _enter(f"{name}.{form}", fresh, writes=False)
        _enter(f"{name}_.{form}", into, writes=True)


def _scaling(name: str, ufunc: Any) -> None:
    """`add` and `sub` of lists, the second times a number."""

    def fresh(self: Arrays, other: Arrays, alpha: Any) -> Arrays:
        return list(map(ufunc, self, other if alpha == 1 else [scaled(one, alpha) for one in other]))

    def into(self: Arrays, other: Arrays, alpha: Any) -> None:
        if alpha == 1:
            _run_all(map(ufunc, self, other, self))
            return
        factor = np.array(alpha, self[0].dtype)
        for rows in _chunks(self, other):
            targets, others = zip(*rows, strict=True)
            _run_all(map(ufunc, targets, map(np.multiply, others, repeat(factor)), targets))

    _enter(f"{name}.List", fresh, writes=False)
    _enter(f"{name}_.List", into, writes=True)


def _chunks(*lists: Arrays) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of lists of one length, some at a time; large arrays in pieces, and single numbers one by one.

    Of arrays without dimensions ufuncs make NumPy scalars, which none can write to.
    """
    rows: list[tuple[Any, ...]] = []
    for row in zip(*lists, strict=True):
        if row[0].size > BLOCK:
            flat = [array.reshape(-1) for array in row]
            for start in range(0, flat[0].size, BLOCK):
                yield [tuple([array[start : start + BLOCK] for array in flat])]
        elif not row[0].shape:
            yield [row]
        else:
            rows.append(row)
        if len(rows) == _TOGETHER:
            yield rows
            rows = []
    if rows:
        yield rows


_unary("sqrt", np.sqrt)
_unary("neg", np.negative)
_unary("abs", np.absolute)
_unary("reciprocal", np.reciprocal)
_binary("add", np.add, "Scalar ScalarList")
_binary("sub", np.subtract, "Scalar ScalarList")
_binary("mul", np.multiply, "List Scalar ScalarList")
_binary("div", np.true_divide, "List Scalar ScalarList")
_scaling("add", np.add)
_scaling("sub", np.subtract)
for _name, _ufunc in (("maximum", np.maximum), ("minimum", np.minimum)):
    _binary(_name, _ufunc, "List")
for _name, _ufunc in (("clamp_min", np.maximum), ("clamp_max", np.minimum)):
    _binary(_name, _ufunc, "List")


# Chains


def _chain(name: str, into: Callable[..., None], together: Callable[..., None]) -> None:
    """``name.Scalar``, ``name_.Scalar`` and with a number for each item.

    Parameters
    ----------
    into
        What writes to one array of a row, and takes the row's number last.
    together
        The same of several rows with one number.
    """

    def of_number_into(self: Arrays, *rest: Any) -> None:
        *others, number = rest
        for rows in _chunks(self, *others):
            if len(rows) == 1:
                into(*rows[0], number)
            else:
                together(*zip(*rows, strict=True), number)

    def of_number(self: Arrays, *rest: Any) -> Arrays:
        made = [array.copy() for array in self]
        of_number_into(made, *rest)
        return made

    _enter(f"{name}.Scalar", of_number, writes=False)
    _enter(f"{name}_.Scalar", of_number_into, writes=True)
    if name == "lerp":
        return

    def of_numbers_into(*columns: Any) -> None:
        _run_all(map(into, *columns))

    def of_numbers(self: Arrays, *rest: Any) -> Arrays:
        made = [array.copy() for array in self]
        of_numbers_into(made, *rest)
        return made

    _enter(f"{name}.ScalarList", of_numbers, writes=False)
    _enter(f"{name}_.ScalarList", of_numbers_into, writes=True)


def _addcmul_together(self: Any, tensor1: Any, tensor2: Any, value: Any) -> None:
    products = list(map(np.multiply, tensor1, repeat(np.array(value, self[0].dtype))))
    _run_all(map(np.multiply, products, tensor2, products))
    _run_all(map(np.add, self, products, self))


def _addcdiv_together(self: Any, tensor1: Any, tensor2: Any, value: Any) -> None:
    quotients = list(map(np.multiply, tensor1, repeat(np.array(value, self[0].dtype))))
    _run_all(map(np.true_divide, quotients, tensor2, quotients))
    _run_all(map(np.add, self, quotients, self))


def _lerp_together(self: Any, end: Any, weight: Any) -> None:
    near = abs(weight) < 0.5
    steps = list(map(np.subtract, end, self))
    _run_all(map(np.multiply, steps, repeat(np.array(weight if near else 1 - weight, self[0].dtype)), steps))
    if near:
        _run_all(map(np.add, self, steps, self))
    else:
        _run_all(map(np.subtract, end, steps, self))


_chain("addcmul", addcmul_into, _addcmul_together)
_chain("addcdiv", addcdiv_into, _addcdiv_together)
_chain("lerp", lerp_into, _lerp_together)


def _zero_into(self: Arrays) -> None:
    for array in self:
        array.fill(0)


_enter("zero_", _zero_into, writes=True)
