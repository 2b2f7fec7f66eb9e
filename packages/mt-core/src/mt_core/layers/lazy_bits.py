"""Conjugation and negation that wait until somebody reads the elements.

``x.conj()`` is a view of `x` with the key `CONJUGATE`, the imaginary part of such a view one with `NEGATIVE`: they say
how the elements in memory are to be read. Views pass the keys on. Every other operator is handed tensors that have been
read, and what it writes is written back through the key, so that no kernel ever sees one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..block import share_block
from ..dispatch.dispatcher import without
from ..dispatch.registry import Overload, find_overload, overload, register_interceptor
from ..formats import preserve_format
from ..keys import (
    ADINPLACE_OR_VIEW,
    AUTOGRAD,
    BACKEND_MASK,
    CONJUGATE,
    FORWARD_GRAD,
    NAMES,
    NEGATIVE,
    OTHER_INDEX,
    PYTHON,
    STRIDED,
)
from ..plugins.protocols import CONTRACT, FALLTHROUGH
from ..return_types import result_type
from ..state import effective_keys, excluding, mode_triple, tls
from ..tensor import Tensor, new_tensor

__all__ = ["LAYERS", "LazyBit"]

Callee = Callable[..., Any]

#: What says where and how a tensor's memory lies, and nothing of who is told of calls.
_STORED = BACKEND_MASK | STRIDED | OTHER_INDEX
#: What records calls above these keys.
_ABOVE = ADINPLACE_OR_VIEW | AUTOGRAD | FORWARD_GRAD


class LazyBit:
    """The layer of one of the two keys.

    Parameters
    ----------
    key
        `CONJUGATE` or `NEGATIVE`.
    operator
        The elementwise operator that the key stands for. It is its own inverse.
    called
        What PyTorch calls tensors with the key.
    """

    contract = CONTRACT

    def __init__(self, key: int, operator: Overload, called: str) -> None:
        self.key = key
        self.dispatch_key = NAMES[key]
        self.called = called
        self._operator = operator
        register_interceptor(key, "clone", self._cloning)
        register_interceptor(key, "copy_", self._copying)

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee | None:
        """None: no operator is told apart here; `clone` and ``copy_`` have interceptors, which go before the layer."""
        return None

    def fallback(
        self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Callee | None
    ) -> Callee:
        """Views pass unchanged; what reads gets the elements read, what writes is written back."""
        schema = overload.schema
        if overload.declaration.kind == "view":
            return FALLTHROUGH
        if schema.is_mutable:
            return self._writing(overload, below())
        if any(result.alias is not None for result in schema.returns):
            return FALLTHROUGH
        return self._reading(overload, below())

    # Elements

    def read(self, tensor: Any) -> Any:
        """A tensor as it reads, on memory of its own; what lacks the key, or is no tensor, itself."""
        if not getattr(tensor, "_keys", 0) & self.key:
            return tensor
        if _is_told_of(tensor):
            with excluding(_ABOVE):
                return _clone.call(tensor, None)
        fresh = self._applied(tensor)
        fresh._keys |= tensor._keys & (CONJUGATE | NEGATIVE) & ~self.key | mode_triple(tls.mode)[2]
        return fresh

    def _applied(self, tensor: Tensor) -> Tensor:
        """The operator on the elements in memory."""
        stored = new_tensor(tensor._array, tensor._dtype, tensor._keys & _STORED)
        if tensor._cell is not None:
            share_block(stored, tensor)  # parts of the operator may be views, which begin where its memory does
        return self._operator.cache[stored._keys](stored)  # type: ignore[no-any-return]

    def _turn(self, tensor: Tensor) -> None:
        """The operator on the elements in memory, in place; the version is left to the caller."""
        if self.key != CONJUGATE or tensor._dtype.is_complex:
            tensor._backend.copy(tensor._array, self._applied(tensor)._array)

    # Operators

    def _reading(self, overload: Overload, handled: Callee) -> Callee:
        singles, lists, read = overload.tensor_positions, overload.list_positions, self.read

        def run(*args: Any) -> Any:
            given = list(args)
            for i in singles:
                given[i] = read(given[i])
            for i in lists:
                if given[i] is not None:
                    given[i] = [read(item) for item in given[i]]
            return handled(*given)

        return run

    def _writing(self, overload: Overload, handled: Callee) -> Callee:
        """Compute on what the tensors read as, then write to those with the key: others may share their memory."""
        arguments, called = overload.schema.arguments, self.called
        written = [i for i, a in enumerate(arguments) if a.writes]
        lists = [i for i in written if arguments[i].is_list]
        reading = self._reading(overload, lambda *given: (given, handled(*given)))
        handed_over = result_type(overload.declaration)

        def run(*args: Any) -> Any:
            if any(item._keys & self.key for i in lists for item in args[i] or ()):
                raise RuntimeError(
                    f" fallback doesn't currently support mutable TensorLists with {called} inputs. Please "
                    f"materialize all the {called} input tensor(s) in the mutable TensorList inputs before calling "
                    f"{overload.qualified_name}"
                )
            given, result = reading(*args)
            originals = {id(given[i]): args[i] for i in written if given[i] is not args[i]}
            for i in written:
                if given[i] is not args[i]:
                    _write_back(args[i], given[i])
            if isinstance(result, Tensor):
                return originals.get(id(result), result)
            return handed_over([originals.get(id(item), item) for item in result]) if result else result

        return run

    def _cloning(self, call_keys: int) -> Callee:
        below = _clone.cache[without(call_keys, self.key)]
        if effective_keys(call_keys) & PYTHON:
            return below  # whoever is told of it clones the tensor as it reads

        def clone(self_: Tensor, memory_format: Any) -> Tensor:
            fresh = self.read(self_)
            settled = memory_format in (None, preserve_format) and not fresh._keys & (CONJUGATE | NEGATIVE)
            return fresh if settled else below(fresh, memory_format)  # type: ignore[no-any-return]

        return clone

    def _copying(self, call_keys: int) -> Callee:
        """Elements are copied as they lie; they are turned where only one of the two has the key."""
        below = overload("copy_", "creation").cache[without(call_keys, self.key)]
        if effective_keys(call_keys) & PYTHON:
            return below  # whoever is told of it copies what the tensors read as

        def copy_(target: Tensor, source: Any, non_blocking: bool) -> Tensor:
            below(target, source, non_blocking)
            if (target._keys ^ getattr(source, "_keys", 0)) & self.key:
                self._turn(target)
            return target

        return copy_


_clone = overload("clone", "creation")


def _is_told_of(tensor: Tensor) -> bool:
    """Whether a handler is to be told of what is read from a tensor, or written to it."""
    return bool(effective_keys(tensor._keys | tls.mode) & PYTHON)


def _write_back(target: Tensor, computed: Tensor) -> None:
    """Write what was computed to a tensor with the key; an ``out`` of another shape gets the shape of the result."""
    if target._array.shape != computed._array.shape:
        target.resize_(computed.shape)
    if _is_told_of(target):
        with excluding(_ABOVE):
            find_overload("copy_").call(target, computed, False)
        return
    keys = target._keys & (_STORED | CONJUGATE | NEGATIVE)
    find_overload("copy_").cache[keys](target, computed, False)


#: The layers of both keys; registered by `mt_core._assemble`.
LAYERS = (
    LazyBit(CONJUGATE, overload("_conj_physical", "elementwise"), "conjugate"),
    LazyBit(NEGATIVE, overload("neg", "elementwise"), "negation"),
)
