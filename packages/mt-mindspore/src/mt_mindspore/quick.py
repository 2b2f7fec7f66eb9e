"""The short way of frequent operators: one primitive, and no conversion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from mt_core.dispatch.registry import find_overload

from .array import MindSporeArray
from .calls import NUMBERS, opener, unavailable

__all__ = ["Quick", "quick_kernel", "quick_product", "quick_sum"]


class Quick(NamedTuple):
    """A kernel of the core's, and the arguments that it is not given: those that have no part in the primitive."""

    function: Callable[..., Any]
    left_out: tuple[str, ...]


def quick_kernel(backend: Any, name: str, function: Callable[..., Any], takes: str, slow: Callable[..., Any]) -> Quick:
    """The kernel by a primitive; what it does not take goes to the operator's kernel `slow`, of all arguments.

    Both may be given numbers in place of an operand, and an array to write to.
    """
    arguments = find_overload(name).schema.arguments
    promotes = find_overload(name).declaration.promotes
    left_out = [a for a in arguments if not (a.is_tensor or a.name in promotes)]
    count = len(arguments) - len(left_out)
    make = _unary if count == 1 else _binary
    served = frozenset(numpy.dtype(letter) for letter in takes)
    defaults = tuple(a.default for a in left_out)
    return Quick(make(backend, name, function, served, slow, defaults), tuple(a.name for a in left_out))


def _unary(
    backend: Any, name: str, function: Callable[..., Any], served: frozenset[Any], slow: Callable[..., Any],
    defaults: tuple[Any, ...],
) -> Callable[..., Any]:  # fmt: skip
    memory, open_one, copy = backend.memory, opener(backend), backend.copy
    shaped = memory.shaped

    def quick(self: MindSporeArray, *, out: Any = None) -> Any:
        if self.dtype not in served:
            made = slow(self, *defaults)
        else:
            tensor = self.tensor
            try:
                tensor = function(tensor if tensor is self.base else open_one(self))
            except (RuntimeError, TypeError, ValueError) as error:
                raise unavailable(name, error) from error
            made = shaped(tensor, self.shape)
        if out is None:
            return made
        if not memory.replaced(out, made):
            copy(out, made)
        return out

    return quick


def _binary(
    backend: Any, name: str, function: Callable[..., Any], served: frozenset[Any], slow: Callable[..., Any],
    defaults: tuple[Any, ...],
) -> Callable[..., Any]:  # fmt: skip
    memory, open_one, copy = backend.memory, opener(backend), backend.copy
    shaped, fresh, number = memory.shaped, memory.fresh, memory.number

    def quick(self: Any, other: Any, *, out: Any = None) -> Any:
        if self.__class__ is not MindSporeArray or self.dtype not in served:
            made = slow(self, other, *defaults)
        else:
            left, shape = self.tensor, self.shape
            alike = True
            if other.__class__ is MindSporeArray:
                right = other.tensor
                if right is not other.base:
                    right = open_one(other)
                alike = other.shape == shape
            elif other.__class__ in NUMBERS:
                right = number(other, self.dtype)
            else:
                right = other
            try:
                tensor = function(left if left is self.base else open_one(self), right)
            except (RuntimeError, TypeError, ValueError) as error:
                raise unavailable(name, error) from error
            made = shaped(tensor, shape) if alike else fresh(tensor)
        if out is None:
            return made
        if not memory.replaced(out, made):
            copy(out, made)
        return out

    return quick


def quick_product(
    backend: Any, name: str, function: Callable[..., Any], takes: str, slow: Callable[..., Any]
) -> Callable[..., Any]:
    """The kernel of products of matrices (*, M, K) and (*, K, N) by a primitive."""
    known, open_one = backend.memory.known, opener(backend)
    served = frozenset(numpy.dtype(letter) for letter in takes)

    def quick(self: MindSporeArray, other: MindSporeArray) -> Any:
        shape = self.shape
        if self.dtype not in served or 0 in shape:
            return slow(self, other)
        left, right = self.tensor, other.tensor
        if left is not self.base:
            left = open_one(self)
        try:
            made = function(left, right if right is other.base else open_one(other))
        except (RuntimeError, TypeError, ValueError) as error:
            raise unavailable(name, error) from error
        return known(made, (*shape[:-1], other.shape[-1]), self.dtype)

    return quick


def quick_sum(
    backend: Any, name: str, function: Callable[..., Any], takes: str, slow: Callable[..., Any]
) -> Callable[..., Any]:
    """The kernel of the sum of all elements by a primitive that is given dimensions."""
    single, open_one = backend.memory.single, opener(backend)
    served = frozenset(numpy.dtype(letter) for letter in takes)

    def quick(self: MindSporeArray, dtype: Any) -> Any:
        shape = self.shape
        if dtype is not None or self.dtype not in served or not shape or 0 in shape:
            return slow(self, dtype)
        tensor = self.tensor
        try:
            made = function(tensor if tensor is self.base else open_one(self), tuple(range(len(shape))), True, None)
        except (RuntimeError, TypeError, ValueError) as error:
            raise unavailable(name, error) from error
        return single(made, self.dtype)

    return quick
