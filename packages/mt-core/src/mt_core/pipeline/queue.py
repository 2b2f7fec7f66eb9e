"""The queue of a thread: calls that have been described and not yet carried out."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from ..autograd_state import is_grad_enabled
from ..cell import Cell
from ..determinism import DETERMINISM
from ..devices import backend_key, device
from ..dispatch.registry import Overload, Resolver
from ..keys import AUTOGRAD, BACKEND_MASK, META, PRIVATE_TYPES, PROFILED
from ..state import tls
from ..tensor import Tensor
from ..tensor_types import TENSORS, tensors_in
from .calls import Call, Facts, Restored, State, at_once, name_in_text
from .describing import describing, refuse_warnings
from .descriptions import description_of, keep, known
from .plan import planned
from .shadows import FIT, Shadows, is_fit
from .waiting import WaitingArray, give_back, hide, hide_state, is_waiting, may_wait, slots_answer, waiting_result

__all__ = ["Queue"]

#: Changes of one element are not worth their description, and counters are read as soon as they have been changed.
_COUNTER_SIZE = 1
_REFUSED: Any = object()
#: One for all queues: threads may use the same tensors, of which each of their queues takes hold.
_LOCK = threading.RLock()
_CPU, _META = device("cpu"), device("meta")
_OWN_PACKAGES = frozenset("mindtorch mt_autograd mt_backend_cpu mt_backend_gpu mt_core mt_library mt_nn torch".split())


class Queue:
    """The calls of one thread that wait, and the tensors that wait with them."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._taken: list[Tensor] = []
        self._shadows = Shadows()
        #: id of a shadow -> reference to the tensor that it stands for.
        self._owners: dict[int, ref[Tensor]] = {}
        self._state: State | None = None
        #: Whether calls are being carried out, or one is being described: it is no time to flush.
        self._is_busy = False
        #: The pipelines of the thread, the innermost last; what happens counts for each.
        self.pipelines: list[Any] = []

    def count(self, what: str, number: int = 1) -> None:
        """Add to what each pipeline of the thread has counted."""
        pipelines = self.pipelines
        for pipeline in pipelines if len(pipelines) == 1 else {id(p): p for p in pipelines}.values():
            setattr(pipeline, what, getattr(pipeline, what) + number)

    def leave(self, pipeline: Any) -> None:
        """Take a pipeline away that the thread leaves: the innermost, where it was entered several times."""
        at = max(i for i, entered in enumerate(self.pipelines) if entered is pipeline)
        del self.pipelines[at]

    # A call

    def add(self, overload: Overload, args: tuple[Any, ...], facts: Facts) -> Any:
        """Describe a call and put it off, or carry it out where it cannot wait."""
        tensors = _tensors(args, facts)
        with _LOCK:
            fresh, keys = [], 0
            for tensor in tensors:
                array = tensor._array
                if array.__class__ is WaitingArray and (array.queue is not self or array.failure is not None):
                    array.settle()
                    array = tensor._array
                if array.__class__ is not WaitingArray:
                    fresh.append(tensor)
                keys |= tensor._keys
            if len(fresh) == len(tensors) and not facts.draws and _need_not_wait(args, facts, fresh):
                self.count("immediate")
                return at_once(overload, args)
            if DETERMINISM.enabled:  # kernels refuse, or warn of, what has no deterministic algorithm
                return self.carry_out(overload, args)
            if self._is_busy or keys & ~FIT or not _are_together(keys, args, facts) or not self._take_all(fresh):
                return self.carry_out(overload, args)
            description = description_of(overload, args, facts, keys)
            described = None if description is None else known(description)
            if described is None:
                described = self._described(overload, args, facts)
                if description is not None and described is not _REFUSED:
                    keep(description, described)
            if described is _REFUSED:
                return self.carry_out(overload, args)
            return self._put_off(overload, args, facts, tensors[0].device if tensors else _CPU, described)

    def carry_out(self, overload: Overload, args: tuple[Any, ...]) -> Any:
        """Carry a call out after all that wait."""
        self.flush()
        self.count("immediate")
        return at_once(overload, args)

    def _take_all(self, tensors: list[Tensor]) -> bool:
        """Put tensors, and all who share their memory, out of reach; False where there may be others who have it."""
        for tensor in tensors:
            if not is_waiting(tensor) and not self._take(tensor):
                return False
        return True

    def _take(self, tensor: Tensor) -> bool:
        sharing = _sharing(tensor)
        for other in sharing:
            if is_waiting(other) and other._array.queue is not self:
                other._array.settle()
        if _is_exposed(tensor) or any(is_waiting(t) or not is_fit(t) or not may_wait(t) for t in sharing):
            return False
        for other in sharing:
            self._take_one(other)
        return True

    def _take_one(self, tensor: Any) -> Any:
        if is_waiting(tensor):
            return tensor._array.shadow
        base = None if tensor._base is None else self._take_one(tensor._base)
        shadow = self._shadows.of(tensor, base)
        hide(tensor, self, shadow)
        self._taken.append(tensor)
        self._owners[id(shadow)] = ref(tensor)
        return shadow

    def _described(self, overload: Overload, args: tuple[Any, ...], facts: Facts) -> Any:
        """What a call returns of the shadows of its tensors; `_REFUSED` where it raises, warns or changes a layout."""
        shadows = tuple([_as_shadow(value) for value in args])
        if facts.device >= 0:
            shadows = (*shadows[: facts.device], _META, *shadows[facts.device + 1 :])
        if facts.generator >= 0:
            shadows = (*shadows[: facts.generator], None, *shadows[facts.generator + 1 :])
        refuse_warnings()
        describing.active = True
        try:
            result = self.asked(lambda: overload.cache[Resolver.call_keys_of(overload, shadows)](*shadows))
        except Exception:  # noqa: BLE001 - the call is made again, and raises what it has to say
            return _REFUSED
        finally:
            describing.active = False
        if not facts.written:
            return result
        written = [t for position in facts.written for t in tensors_in((args[position],))]
        if any(not _has_layout(t._array, t._array.shadow._array) for t in written):
            return _REFUSED
        return result

    def asked(self, question: Callable[[], Any]) -> Any:
        """The answer of shadows to a question."""
        with _LOCK, Restored():
            self._state_now().enter()
            if tls.include & PROFILED:  # what takes time is the call, not what is asked about it
                tls.include &= ~PROFILED
                tls.refresh()
            self._is_busy, before = True, self._is_busy
            try:
                return question()
            finally:
                self._is_busy = before

    def _put_off(self, overload: Overload, args: tuple[Any, ...], facts: Facts, place: device, described: Any) -> Any:
        where = _caller() if self.pipelines[-1].debug else ""
        call = Call(overload, _kept(args), self._state_now(), where, facts, place)
        result = self._presented(described, call)
        for position in facts.written:
            for tensor in tensors_in((args[position],)):
                self._follow(tensor)
        self._calls.append(call)
        self.count("queued")
        return result

    def _presented(self, described: Any, call: Call) -> Any:
        """What a program gets for what a call returned of shadows."""
        if described.__class__ in TENSORS:
            owner = self._owner_of(described)
            if owner is not None:
                call.outputs.append(None)
                return owner
            made = waiting_result(self, described, call.device)
            self._owners[id(described)] = ref(made)
            call.outputs.append(ref(made))
            return made
        if isinstance(described, (tuple, list)):
            return type(described)([self._presented(item, call) for item in described])
        return described

    def _owner_of(self, shadow: Any) -> Any:
        owner = self._owners.get(id(shadow))
        found = None if owner is None else owner()
        return found if found is not None and is_waiting(found) and found._array.shadow is shadow else None

    def _follow(self, written: Any) -> None:
        """Let tensors on written memory require grad where their shadows do by now."""
        shadow = written._array.shadow
        for other in [shadow] if shadow._cell is None else shadow._cell.tensors():
            owner = self._owner_of(other)
            if owner is not None and (owner._keys ^ other._keys) & AUTOGRAD:
                owner._keys = owner._keys & ~AUTOGRAD | other._keys & AUTOGRAD
                hide_state(owner)

    def _state_now(self) -> State:
        state = self._state
        if state is None or not state.is_now():
            state = self._state = State()
        return state

    # Flushing

    def flush(self) -> None:
        """Carry out all calls that wait, in order.

        Raises
        ------
        Exception
            What the first call raises that fails; its text names the call. The queue is empty then, and tensors
            without a value raise a RuntimeError that tells why.
        """
        with _LOCK:
            if self._is_busy or not (self._calls or self._taken):
                return
            self._is_busy = True
            calls, self._calls = self._calls, []
            taken, self._taken = self._taken, []
            try:
                while taken:
                    give_back(taken.pop())
                if calls:
                    self.count("flushes")
                    self._run(calls)
            finally:
                self._owners.clear()
                self._shadows.forget()
                self._is_busy = False

    def _run(self, calls: list[Call]) -> None:
        steps: list[Any] = planned(calls, self.count)
        done = 0
        with Restored():
            try:
                state = None
                for done, step in enumerate(steps):
                    if step.state is not state:
                        state = step.state
                        state.enter()
                    step.run()
                    steps[done] = None
            except BaseException as error:
                self._fail([step for step in steps[done:] if step is not None], error)
                raise

    def _fail(self, steps: Sequence[Any], error: BaseException) -> None:
        """Leave the results of calls that will not be carried out without a value for good."""
        failed = steps[0].failed_call(error)
        name_in_text(error, failed)
        reason = f"{type(error).__name__}: {error}"
        for step in steps:
            for call in step.calls:
                for tensor in call.living():
                    if tensor is not None and is_waiting(tensor):
                        slots_answer.keep()
                        tensor._array.failure = (
                            f"this tensor has no value: it was to be a result of {call.name()}, which was put off by "
                            f"torch.pipeline() and did not run, because {failed.name()} failed: {reason}"
                        )


def _as_shadow(value: Any) -> Any:
    if value.__class__ in TENSORS:
        return value._array.shadow
    if value.__class__ in (list, tuple) and value and any(item.__class__ in TENSORS for item in value):
        return type(value)([_as_shadow(item) for item in value])
    return value


def _kept(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of which lists are copies, for a program may change its own."""
    return tuple([list(value) if value.__class__ is list else value for value in args])


def _has_layout(told: WaitingArray, array: Any) -> bool:
    return (
        told.shape == array.shape
        and told.strides == array.strides
        and told.offset == array.offset
        and told.dtype == array.dtype
    )


def _tensors(args: tuple[Any, ...], facts: Facts) -> list[Any]:
    """The tensors among arguments, in lists too."""
    found = []
    for position in facts.tensors:
        value = args[position]
        if value.__class__ in TENSORS:
            found.append(value)
    for position in facts.lists:
        found += tensors_in(args[position])
    return found


def _are_together(keys: int, args: tuple[Any, ...], facts: Facts) -> bool:
    """Whether all tensors of a call (of joint keys), and what it makes, are on one device that has memory.

    That device is to be known before the call is made: without tensors it is the CPU.
    """
    if not keys & BACKEND_MASK:
        return _is_on_cpu(args, facts)
    wanted = args[facts.device] if facts.device >= 0 else None
    if wanted is not None:
        keys |= META if wanted.index else backend_key(wanted.type)
    types, backends = keys & PRIVATE_TYPES, keys & BACKEND_MASK & ~PRIVATE_TYPES
    return not backends & (backends - 1) and not types & (types - 1) and not backends & META


def _is_on_cpu(args: tuple[Any, ...], facts: Facts) -> bool:
    """Whether a call without tensors is for the CPU; elsewhere the index of the current device is asked for as well."""
    wanted = args[facts.device] if facts.device >= 0 else None
    wanted = wanted or tls.default_device
    return wanted is None or wanted.type == "cpu"


def _need_not_wait(args: tuple[Any, ...], facts: Facts, tensors: list[Any]) -> bool:
    """Whether a call that has to do with nothing that waits is better carried out at once.

    That is so for counters; and what others have in their hands may change, so that it is read where the call stands.
    """
    if not tensors:
        return not _is_on_cpu(args, facts)
    written = [t for position in facts.written for t in tensors_in((args[position],))]
    if written and all(t._array.size <= _COUNTER_SIZE and not _is_recorded(t) for t in tensors):
        return True
    return any(map(_is_exposed, tensors))


def _is_recorded(tensor: Any) -> bool:
    """Whether what is done to a tensor is recorded now."""
    return bool(tensor._keys & AUTOGRAD) and is_grad_enabled()


def _is_exposed(tensor: Any) -> bool:
    """Whether others than tensors have a tensor's memory: arrays, storages, files, other processes.

    Tensors that have left memory on which others remain count as such too: they share a version with strangers.
    """
    cell = tensor._cell
    if cell is None:
        return False
    if cell.is_exported or cell.__class__ is not Cell:
        return True
    if cell.block is None:
        return False
    attributes = cell.block.attributes
    storage = attributes.get("storage")
    has_storage = storage is not None and storage() is not None
    return has_storage or not attributes.get("resizable", True) or "mapping" in attributes


def _sharing(tensor: Any) -> list[Any]:
    """All tensors on the memory of one, itself included."""
    cell = tensor._cell
    if cell is None:
        return [tensor]
    found = cell.tensors() if cell.block is None else cell.block.tensors()
    base = tensor._base
    return found + [t for t in (tensor, base) if t is not None and not any(t is other for other in found)]


def _caller() -> str:
    """File and line of the program's call, in words."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OWN_PACKAGES:
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f" (called at {frame.f_code.co_filename}:{frame.f_lineno})"
