"""Chains of elementwise calls, handed to a backend that carries several out as one.

A backend that does has a member ``fuse`` (`mt_core.plugins.protocols.Backend`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..devices import backend_key
from ..dispatch.lookup import backend_for
from ..keys import AUTOGRAD, CONJUGATE, NEGATIVE, PIPELINE
from ..plugins.fusion import FusedCall, FusedInput, Given
from ..tensor import new_tensor
from ..tensor_types import tensors_in
from .calls import Call, State, fill_results

__all__ = ["joined"]

_NOT_FUSED = AUTOGRAD | CONJUGATE | NEGATIVE


class Chain:
    """A step that is several calls, carried out by one function of the backend's."""

    __slots__ = ("calls", "state", "_run", "_inputs", "_wanted")

    def __init__(self, calls: list[Call], run: Callable[..., Any], inputs: list[Any]) -> None:
        self.calls = calls
        self.state: State = calls[0].state
        self._run = run
        self._inputs = inputs

    def run(self) -> None:
        for call in self.calls:
            call.args = ()  # who has a result now, has it for other reasons than this chain
        made = [call.living()[0] for call in self.calls]
        wanted = tuple([i for i, tensor in enumerate(made) if tensor is not None])
        arrays = self._run([t._array for t in self._inputs], wanted)
        for i, array in zip(wanted, arrays, strict=True):
            tensor = made[i]
            fill_results(self.calls[i], [new_tensor(array, tensor._dtype, tensor._keys & ~PIPELINE)])

    def failed_call(self, error: BaseException) -> Call:
        """The last: which of them it was that failed, only the backend could tell."""
        return self.calls[-1]


def joined(calls: list[Call], single: Callable[[Call], Any], count: Callable[[str, int], None]) -> list[Any]:
    """The steps for calls in order, where neighbours that a backend fuses are one."""
    steps: list[Any] = []
    run: list[Call] = []
    for call in calls:
        if run and not (_may_join(call) and call.device == run[0].device and call.state is run[0].state):
            steps += _steps(run, single, count)
            run = []
        if _may_join(call):
            run.append(call)
        else:
            steps.append(single(call))
    return steps + _steps(run, single, count)


def _backend_of(call: Call) -> Any:
    return backend_for(backend_key(call.device.type))


def _may_join(call: Call) -> bool:
    """Whether a call is elementwise, not recorded, and on a backend that fuses."""
    declaration = call.overload.declaration
    if declaration.kind != "elementwise" or call.facts.written or len(call.outputs) != 1 or call.outputs[0] is None:
        return False
    if getattr(_backend_of(call), "fuse", None) is None:
        return False
    result = call.living()[0]
    keys = 0 if result is None else result._keys
    for tensor in tensors_in(call.args):
        keys |= tensor._keys
    return not keys & _NOT_FUSED and result is not None


def _steps(run: list[Call], single: Callable[[Call], Any], count: Callable[[str, int], None]) -> list[Any]:
    if len(run) > 1:
        described, inputs = _description(run)
        function = _backend_of(run[0]).fuse(described, tuple(map(_input_of, inputs)))
        if function is not None:
            count("fused", len(run))
            return [Chain(run, function, inputs)]
    return [single(call) for call in run]


def _input_of(tensor: Any) -> FusedInput:
    return FusedInput(tuple(tensor.shape), tensor.stride(), tensor._dtype)


def _description(run: list[Call]) -> tuple[tuple[FusedCall, ...], list[Any]]:
    """What is said of a chain, and the tensors that it is given."""
    places: dict[int, Given] = {}
    inputs: list[Any] = []
    described = []
    for position, call in enumerate(run):
        for tensor in tensors_in(call.args):
            if id(tensor) not in places:
                places[id(tensor)] = Given(False, len(inputs))
                inputs.append(tensor)
        arguments = tuple([places.get(id(value), value) if hasattr(value, "_array") else value for value in call.args])
        result = call.living()[0]
        described.append(FusedCall(call.overload.name, arguments, tuple(result.shape), result.stride(), result._dtype))
        places[id(result)] = Given(True, position)
    return tuple(described), inputs
