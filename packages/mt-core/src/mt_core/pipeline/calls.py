"""A call that has been put off: what it was made with, and how it is carried out."""

from __future__ import annotations

from typing import Any

from ..block import set_geometry
from ..dispatch.registry import Overload, Resolver
from ..keys import (
    AUTOCAST,
    AUTOGRAD,
    BACKEND_MASK,
    FUNCTION_TRANSFORM,
    INFERENCE,
    PIPELINE,
    PYTHON,
    TORCH_FUNCTION,
    describe,
)
from ..state import tls
from ..tensor_types import tensors_in
from .waiting import fill

__all__ = ["Call", "Facts", "Restored", "State", "at_once", "fill_results", "name_in_text", "run_call"]

#: Layers that have seen a call before it was queued, or are not to see it.
_SEEN = AUTOCAST | TORCH_FUNCTION | PYTHON | FUNCTION_TRANSFORM


class State:
    """What a thread had switched on when a call was made."""

    __slots__ = ("include", "exclude", "grad_enabled", "inference", "default_device", "mode", "_seen_mode")

    def __init__(self) -> None:
        self._seen_mode = tls.mode
        self.include = tls.include & ~(PIPELINE | _SEEN)
        self.exclude = tls.exclude | _SEEN
        self.grad_enabled, self.inference = tls.grad_enabled, tls.inference
        self.default_device = tls.default_device
        with Restored():
            tls.include, tls.exclude = self.include, self.exclude
            tls.refresh()
            self.mode = tls.mode

    def is_now(self) -> bool:
        """Whether the thread still has the same switched on."""
        return (
            self._seen_mode == tls.mode
            and self.grad_enabled is tls.grad_enabled
            and self.inference is tls.inference
            and self.default_device is tls.default_device
        )

    def enter(self) -> None:
        tls.include, tls.exclude, tls.default_device = self.include, self.exclude, self.default_device
        tls.grad_enabled, tls.inference, tls.mode = self.grad_enabled, self.inference, self.mode


class Restored:
    """Context manager: what a thread has switched on is the same after as before, whatever the body enters."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        state = tls
        self._before = (
            state.include, state.exclude, state.grad_enabled, state.inference, state.default_device, state.transforms,
            state.mode,
        )  # fmt: skip
        state.transforms = []

    def __exit__(self, *exc_info: object) -> None:
        state = tls
        (
            state.include, state.exclude, state.grad_enabled, state.inference, state.default_device, state.transforms,
            state.mode,
        ) = self._before  # fmt: skip


class Facts:
    """What of an operator matters to a queue.

    Attributes
    ----------
    tensors, lists
        Positions of arguments that are a tensor, or a list of them.
    written
        Positions of those that it writes to.
    device, generator
        Position of the argument of that kind, -1 where there is none.
    draws
        Whether it may take numbers out of a random stream.
    is_silent
        Whether a call of which nobody sees the result can be left out, as far as the operator is concerned.
    """

    __slots__ = ("tensors", "lists", "written", "device", "generator", "draws", "is_silent")

    def __init__(self, overload: Overload) -> None:
        arguments = overload.schema.arguments
        self.tensors, self.lists = overload.tensor_positions, overload.list_positions
        self.written = tuple(i for i, a in enumerate(arguments) if a.writes)
        self.device = next((i for i, a in enumerate(arguments) if a.type == "Device"), -1)
        self.generator = next((i for i, a in enumerate(arguments) if a.type == "Generator"), -1)
        declaration = overload.declaration
        self.draws = self.generator >= 0 or declaration.family == "random" or declaration.kind == "composite"
        kind, family = declaration.kind, declaration.family
        self.is_silent = not self.written and (
            kind == "view"
            or not self.draws and (kind == "elementwise" or kind == "factory" or family in _ARITHMETIC)
        )  # fmt: skip


#: Families whose operators refuse nothing for the sake of the elements of floating-point tensors.
_ARITHMETIC = frozenset("matmul reduction conv pool".split())


class Call:
    """One call that has been put off.

    Attributes
    ----------
    args
        All arguments of the schema; the tensors in them are those of the program.
    outputs
        References to the new tensors among its results, None for a result that was there before.
    where
        File and line of the call, where that was to be noted.
    """

    __slots__ = ("overload", "args", "state", "outputs", "where", "facts", "device")

    def __init__(
        self, overload: Overload, args: tuple[Any, ...], state: State, where: str, facts: Facts, device: Any
    ) -> None:
        self.overload = overload
        self.args = args
        self.state = state
        self.outputs: list[Any] = []
        self.where = where
        self.facts = facts
        self.device = device

    def living(self) -> list[Any]:
        """Its results, None for those that nobody has any more."""
        return [None if output is None else output() for output in self.outputs]

    def may_be_left_out(self) -> bool:
        """Whether nothing but its results would tell that it was made."""
        if not self.facts.is_silent or any(output is None or output() is not None for output in self.outputs):
            return False
        kind = self.overload.declaration.kind
        return kind in ("view", "factory") or all(t._dtype.is_floating_point for t in tensors_in(self.args))

    def name(self) -> str:
        return self.overload.qualified_name + self.where


def name_in_text(error: BaseException, call: Call) -> None:
    """Say in the text of an error which of the calls that were put off has raised it."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n(raised by {call.name()}, a call that torch.pipeline() had put off)",)


def run_call(call: Call) -> None:
    """Carry a call out, in the state that the thread is in, and fill its results."""
    result = call.overload.cache[Resolver.call_keys_of(call.overload, call.args)](*call.args)
    fill_results(call, list(tensors_in((result,))))


def fill_results(call: Call, values: list[Any]) -> None:
    """Make the waiting results of a call what was computed."""
    if len(values) != len(call.outputs):
        raise _otherwise(call, f"{len(values)} results in place of {len(call.outputs)}")
    for output, value in zip(call.outputs, values, strict=True):
        made = None if output is None else output()
        if made is not None:
            _check_as_described(call, made, value)
            fill(made, value)


def _check_as_described(call: Call, made: Any, value: Any) -> None:
    """Refuse to hand out a value that is not what the program was told that it would be."""
    if any(value is t for t in tensors_in(call.args)):
        raise _otherwise(call, "one of its arguments")
    told, is_now = made._array, value._array
    if tuple(is_now.shape) != told.shape or made._dtype is not value._dtype:
        raise _otherwise(call, f"shape {tuple(is_now.shape)} and {value._dtype}")
    if value.stride() != told.stride():
        _lay_out_as_told(call, made, value)
    if (told.first_keys ^ value._keys) & _TOLD:
        raise _otherwise(call, f"keys {describe(value._keys)} in place of {describe(told.first_keys)}")


def _lay_out_as_told(call: Call, made: Any, value: Any) -> None:
    """Give a result the strides that the program was told of, where they tell no elements apart."""
    shape, told, found = value.shape, made._array.stride(), value.stride()
    if any(size > 1 and one != other for size, one, other in zip(shape, told, found, strict=True)) and 0 not in shape:
        raise _otherwise(call, f"strides {found} in place of {told}")
    set_geometry(value, tuple(shape), tuple(told), value.storage_offset())


#: What a program may have been told of a result, by its keys.
_TOLD = BACKEND_MASK | AUTOGRAD | INFERENCE


def _otherwise(call: Call, what: str) -> RuntimeError:
    return RuntimeError(f"a call that was put off returned {what}, which is not what its shape rule had told")


def at_once(overload: Overload, args: tuple[Any, ...]) -> Any:
    """Carry a call out, and all that it calls in turn, without putting anything off."""
    include = tls.include & PIPELINE
    tls.include &= ~PIPELINE
    tls.refresh()
    try:
        return overload.cache[Resolver.call_keys_of(overload, args)](*args)
    finally:
        tls.include |= include
        tls.refresh()
