"""Executors that a backend may put before those of `mt_core.dispatch`, for the plainest form of a call.

Each takes the schema's arguments positionally, as they do, and hands what it does not recognize to the executor that it
stands before, `otherwise`: what is computed, refused and returned is the same with it and without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Executors"]

Callee = Callable[..., Any]


class Executors(Protocol):
    """What makes them."""

    def elementwise(
        self, otherwise: Callee, finish: Callee, keys: int, operands: int, defaults: tuple[Any, ...], first: Any,
        numbers: bool, entries: list[tuple[Any, ...]],
    ) -> Callee:  # fmt: skip
        """Operands of one dtype and shape, row-major, and parameters after them.

        Parameters
        ----------
        finish
            (what the kernel returned, dtype) -> tensor, for what is no array of the result's dtype.
        keys
            Of the result.
        operands
            How many tensors come first.
        defaults
            Of the parameters.
        first
            The dtype of the first operand where it is a condition, else None.
        numbers
            Whether a number may stand in the place of the last operand.
        entries
            For each dtype that is computed in: (dtype, function, what the function gets beside the operands where
            parameters are at their defaults, dtype of the result, NumPy's dtype of it, whether other parameters go to
            the function as they are, whether small integers take the dtype, whether floats do).
        """
        ...

    def planned(
        self, otherwise: Callee, plan: Callee, keys: int, as_array: Callee, kinds: tuple[str, ...], lead: int,
        strided: bool, writes: bool,
    ) -> Callee:  # fmt: skip
        """Calls that are planned once per description.

        Parameters
        ----------
        plan
            (tuple of arguments) -> `mt_core.dispatch.call_plans.Call`.
        kinds
            Of the arguments, as `mt_core.dispatch.call_plans` names them.
        lead
            How many arguments there are up to the last that changes from call to call.
        strided
            Whether strides belong to the description.
        writes
            Whether the function writes into the first argument, which is returned, and whose version is counted. Only
            calls are taken then in which no other tensor shares memory with it.
        """
        ...

    def view(self, otherwise: Callee, function: Callee, keys: int, strided: int) -> Callee:
        """Views that `function` makes of an array, one or a list of them; where it returns None, `otherwise` decides.

        Parameters
        ----------
        keys, strided
            Of row-major views, and of others.
        """
        ...

    #: (array, an integer, a slice, None, Ellipsis or a tuple of them) -> a view of the array; None where it has no
    #: elements, for other keys, and for what is to be refused.
    basic_index: Callee

    #: Overload -> (function, the dtype of what it returns or the place of the argument that has it, or is it). The
    #: function gets all arguments of the schema, arrays in place of tensors, looks at everything itself, and returns a
    #: new array, or None where the core is to decide.
    functions: dict[str, tuple[Callee, Any]]

    def direct(self, otherwise: Callee, function: Callee, keys: int, strided: int, dtype: Any) -> Callee:
        """One of `functions` before the executor that takes what it leaves.

        Parameters
        ----------
        keys, strided
            Of row-major results, and of others.
        """
        ...

    #: Overload -> what writes into the first of arrays alike without a kernel, given all arguments of the schema, or
    #: returns NotImplemented, having written nothing: ``copy_``, ``fill_.Scalar``, ``zero_``.
    writes: dict[str, Callee]

    def writer(
        self, otherwise: Callee, operands: int, defaults: tuple[Any, ...], into_last: bool,
        entries: list[tuple[Any, ...]],
    ) -> Callee:  # fmt: skip
        """Operators that write, of row-major tensors of one dtype and shape, each on memory of its own.

        Parameters
        ----------
        operands
            How many tensors, or numbers, come first.
        defaults
            Of the parameters after them.
        into_last
            Whether the output is the last argument; else it is the first operand.
        entries
            Asked in turn: (dtype of the operands, dtype of the output or None for any, function, a further condition
            on all arguments or None, how the function is called, whether small integers may be the last operand,
            whether floats may). It is called with the operands and ``out=``, parameters being at their defaults (0);
            with all arguments, tensors and real numbers (1); with all arguments (2). The last may return
            NotImplemented, having written nothing.

        Returns
        -------
        A callable with `entries`, and ``before(otherwise)``, which puts the same before another executor.
        """
        ...

    def factory(
        self, otherwise: Callee, keys: int, places: str, number: int | None, stored: dict[Any, Any],
        default_dtype: Callee, determinism: Any, int64: Any,
    ) -> Callee:  # fmt: skip
        """Small row-major tensors, empty or of one number.

        Parameters
        ----------
        keys
            Of the result.
        places
            What stands at each place of the schema, a letter each: s the size, t a tensor whose size and dtype it is,
            n one that gives the dtype, v the number, d the dtype, o an option that must be None or False.
        number
            That all elements are; None where it is an argument, or where they mean nothing.
        stored
            dtype -> NumPy's, of those that are made here.
        default_dtype
            () -> dtype of floats.
        determinism
            Its ``enabled`` says whether elements that mean nothing are filled; None where they have a value.
        int64
            The dtype of integers.
        """
        ...

    def recorder(
        self, otherwise: Callee, cls: type, below: Callee, tools: tuple[Any, ...], kinds: tuple[str, ...],
        inputs: tuple[int, ...], saved: tuple[Any, ...], values: tuple[int, ...], specs: tuple[Any, ...],
        outputs: tuple[bool, ...], single: bool, is_view: bool,
    ) -> Callee:  # fmt: skip
        """What runs an operator below autograd and enters its node; `mt_autograd.recorders` tells of the arguments.

        Parameters
        ----------
        tools
            What of mt_autograd it works with.
        """
        ...
