"""``torch.utils.checkpoint``: trade memory for time by computing parts of the forward again during backward.

Without reentrance, hooks on saved tensors keep a placeholder in each tensor's place; when backward asks for one, the
function is run again, and what it saves this time, in the same order, fills the placeholders. With reentrance, the
function runs unrecorded, and backward runs it again, recorded, and goes back through it.
"""

from __future__ import annotations

import enum
import itertools
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from weakref import ref

from mt_core import random
from mt_core.api import _functions as ops
from mt_core.autograd_state import enable_grad, no_grad
from mt_core.devices import device
from mt_core.layers.autocast import AsItWas
from mt_core.plugins.runtime_access import accelerator_type
from mt_core.python_dispatch import pop_dispatch_mode, push_dispatch_mode
from mt_core.pytree import tree_map
from mt_core.random.devices import default_generator_of, device_states, restore_device_states
from mt_core.tensor import Tensor
from mt_core.thread_state import carried_over

from .api import backward
from .checkpoint_debug import OperatorLog, explanation
from .engine import current_task
from .function import Function
from .graph import saved_tensors_hooks
from .variable import ExecutionEngine

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """What was computed again differs from what was computed first."""


def noop_context_fn() -> Contexts:
    """Contexts for the first computation and for the second that do nothing."""
    return nullcontext(), nullcontext()


class _Settings(threading.local):
    early_stop: bool | None = None
    debug: bool | None = None


_settings = carried_over(_Settings())


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether the second computation stops as soon as all that backward needs is there (the default)."""
    previous = _settings.early_stop
    _settings.early_stop = enable
    try:
        yield
    finally:
        _settings.early_stop = previous


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether errors tell which operators ran in both computations; None leaves it to each call's ``debug``."""
    previous = _settings.debug
    _settings.debug = enabled
    try:
        yield
    finally:
        _settings.debug = previous


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn, determinism_check: str = "default", debug: bool = False,
    early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call a function without keeping what its backward needs; it is called again when backward comes to it.

    Parameters
    ----------
    function, args, kwargs
        The call. The function must do the same thing both times.
    use_reentrant
        Which of the two ways to take (see above); False is recommended.
    preserve_rng_state
        Keyword, True by default: give the second call the random state of the first.
    context_fn
        Returns two context managers, for the first and for the second call. Without reentrance only.
    determinism_check
        ``"default"``: compare shapes, dtypes and devices of what the two calls save; ``"none"``: do not.
    debug
        Write down which operators ran in both calls, for the error where they differ. Without reentrance only.
    early_stop
        Stop the second call when all that backward needs is there. Without reentrance only.

    Raises
    ------
    ValueError
        For unexpected or contradictory arguments.
    CheckpointError
        In backward, where the two calls differ.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch "
            "2.9, calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    if _settings.early_stop is not None:
        early_stop = _settings.early_stop
    contexts = _logging_contexts(context_fn) if _is_debugged(debug) else context_fn()
    return _Frame(function, args, kwargs, preserve, determinism_check == "default", early_stop, contexts).first_call()


def _is_debugged(debug: bool) -> bool:
    return debug if _settings.debug is None else _settings.debug


def _logging_contexts(context_fn: Callable[[], Contexts]) -> Contexts:
    if context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    return OperatorLog(), OperatorLog()


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Checkpoint a chain of functions (or an ``nn.Sequential``) in segments; the last is computed as usual."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(chain) // segments
    for start in range(0, size * (segments - 1), max(size, 1)):
        input = checkpoint(
            _chained(chain[start : start + size]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return _chained(chain[size * (segments - 1) :])(input)


def _chained(functions: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return run


class _RandomState:
    """States of the default generators of the CPU and all devices at the first call, in place during the second."""

    def __init__(self, preserve: bool) -> None:
        self._states = _random_states() if preserve else None

    def __enter__(self) -> None:
        self._current = None
        if self._states is not None:
            self._current = _random_states()
            _restore_random(self._states)

    def __exit__(self, *exc_info: object) -> None:
        if self._current is not None:
            _restore_random(self._current)


def _random_states() -> tuple[Tensor, dict[Any, Tensor]]:
    return random.get_rng_state(), device_states()


def _restore_random(states: tuple[Tensor, dict[Any, Tensor]]) -> None:
    random.set_rng_state(states[0])
    restore_device_states(states[1])


class DefaultDeviceType:
    """The device type whose random states `get_device_states` and `set_device_states` mean when no tensor says it.

    `checkpoint` itself keeps the states of all devices that are in use.
    """

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The one that was chosen, else the accelerator's, else ``"cpu"``."""
        return DefaultDeviceType._default_device_type or accelerator_type() or "cpu"


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """(indices, random states) of the devices of all tensors among the arguments but those of the CPU and of meta.

    Where they are on devices of two types, it is one type's, with a warning.
    """
    places = [t.device for t in _leaves(args) if t.device.type not in ("cpu", "meta")]
    kind = _one_type(places)
    indices = [place.index or 0 for place in places if place.type == kind]
    return indices, [default_generator_of(kind, index).get_state() for index in indices]


def _infer_device_type(*args: Any) -> str:
    """The device type of the tensors among the arguments that are not on the CPU, else the default one."""
    return _one_type([t.device for t in _leaves(args) if t.device.type != "cpu"]) or DefaultDeviceType.get_device_type()


def _one_type(places: list[device]) -> str:
    """The type whose random states are kept, with a warning where there are two; ``""`` where there is none."""
    kinds = {place.type for place in places}
    if len(kinds) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device state will "
            "only be saved for devices of a single device type, and the remaining devices will be ignored. "
            "Consequently, if any checkpointed functions involve randomness, this may result in incorrect gradients. "
            "(Note that if CUDA devices are among the devices detected, it will be prioritized; otherwise, the first "
            f"device encountered will be selected.)\nDevice types: {sorted(kinds)} first device type: {places[0].type}",
            stacklevel=3,
        )
    return "cuda" if "cuda" in kinds else next((place.type for place in places), "")


def _leaves(value: Any) -> Iterator[Tensor]:
    """The tensors in nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Continue the default streams of the devices of a type from states, as `get_device_states` returned them.

    Parameters
    ----------
    devices, states
        Indices, and a state for each.
    device_type
        Their type, by default `DefaultDeviceType`'s.

    Raises
    ------
    RuntimeError, AssertionError
        When there is no such device.
    AttributeError
        When the type has no devices of its own, as the CPU.
    """
    kind = DefaultDeviceType.get_device_type() if device_type is None else device_type
    if kind == "meta":
        return
    if kind == "cpu" and devices:
        raise AttributeError("module 'torch.cpu' has no attribute 'device'")
    for index, state in zip(devices, states, strict=False):
        default_generator_of(kind, index).set_state(state)


# Without reentrance


class _Placeholder:
    """Stands for a saved tensor.

    `values` are the tensors computed again, by the backward that asked for them; None once they have been taken.
    """

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: dict[int, Tensor | None] = {}


class _StopRecomputation(Exception):
    """All placeholders are filled."""


class _SaveInputs(Function):
    """Saves the arguments of a checkpointed call as functions save tensors: with versions, and through outer hooks."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Tensor:
        ctx.save_for_backward(*tensors[1:])
        return ops.empty([0])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("the inputs of a checkpoint are saved by a node that no gradient reaches")


_outside_backward = itertools.count(-1, -1)


class _Frame:
    """One checkpointed call."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], preserve: bool, check: bool,
        early_stop: bool, contexts: Contexts,
    ) -> None:  # fmt: skip
        self.function = function
        self.check = check
        self.early_stop = early_stop
        self.first_context, self.second_context = contexts
        self.random_state, self.casts = _RandomState(preserve), AsItWas()
        self.placeholders: list[ref[_Placeholder]] = []
        self.metadata: list[dict[str, Any]] = []
        self._recomputed: set[int] = set()
        #: Whether the first call has come to its end. A backward inside of it has it run again before that.
        self.is_complete = False
        self._call: tuple[tuple[Any, ...], dict[str, Any]] | None = (args, kwargs)
        self._keep_arguments(args, kwargs)

    def _keep_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep tensors among the arguments by a node, and everything else as it is."""
        self._positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        self._names = [name for name, a in kwargs.items() if isinstance(a, Tensor)]
        tensors = [args[i] for i in self._positions] + [kwargs[name] for name in self._names]
        self._others = tuple(None if isinstance(a, Tensor) else a for a in args)
        self._named_others = {name: a for name, a in kwargs.items() if not isinstance(a, Tensor)}
        with enable_grad():
            self._inputs = _SaveInputs.apply(ops.empty([0]).requires_grad_(), *tensors).grad_fn

    def first_call(self) -> Any:
        args, kwargs = self._call  # type: ignore[misc]
        self._call = None
        with saved_tensors_hooks(self._keep_place, self._fill), self.first_context:
            result = self.function(*args, **kwargs)
        self.is_complete = True
        return result

    def _keep_place(self, tensor: Tensor) -> _Placeholder:
        placeholder = _Placeholder()
        self.placeholders.append(ref(placeholder))
        self.metadata.append(_metadata(tensor))
        # The placeholder, which the graph holds, keeps the frame alive, not the other way round.
        return _Held(placeholder, self)  # type: ignore[return-value]

    def _fill(self, held: Any) -> Tensor:
        first, second = self.first_context, self.second_context
        if not isinstance(first, OperatorLog) or not isinstance(second, OperatorLog):
            return self._taken(held)
        try:
            return self._taken(held)
        except CheckpointError as error:
            raise CheckpointError(explanation(first, second)) from error

    def _taken(self, held: Any) -> Tensor:
        placeholder = held.placeholder
        task = current_task()
        key = next(_outside_backward) if task is None else task.id
        if key not in self._recomputed:
            self._recomputed.add(key)
            self._recompute(key)
        if key not in placeholder.values:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was never recomputed."
            )
        value = placeholder.values[key]
        if value is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you "
                "are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an "
                "issue with details on your use case."
            )
        placeholder.values[key] = None
        return value  # type: ignore[no-any-return]

    def _recompute(self, key: int) -> None:
        second = _SecondCall(self, key)
        saved = iter(self._inputs.saved_tensors)
        args = list(self._others)
        for position in self._positions:
            args[position] = next(saved)
        kwargs = {**self._named_others, **{name: next(saved) for name in self._names}}
        try:
            with (
                self.random_state,
                self.casts,
                self.second_context,
                saved_tensors_hooks(second.pack, _unchanged),
                enable_grad(),
            ):
                self.function(*args, **kwargs)
        except _StopRecomputation:
            pass
        second.compare()


class _Held:
    """What the graph holds in place of a saved tensor."""

    __slots__ = ("frame", "placeholder")

    def __init__(self, placeholder: _Placeholder, frame: _Frame) -> None:
        self.placeholder = placeholder
        self.frame = frame


def _unchanged(tensor: Tensor) -> Tensor:
    return tensor


def _metadata(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class _SecondCall:
    """Fills the placeholders of a frame from what the second call saves."""

    def __init__(self, frame: _Frame, key: int) -> None:
        self.frame = frame
        self.key = key
        self.metadata: list[dict[str, Any]] = []

    def pack(self, tensor: Tensor) -> Tensor:
        detached = tensor.detach()
        index = len(self.metadata)
        self.metadata.append(_metadata(tensor))
        expected = len(self.frame.placeholders)
        if index >= expected and self.frame.is_complete:
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                "forward pass."
            )
        if index < expected:
            placeholder = self.frame.placeholders[index]()
            if placeholder is not None:
                placeholder.values[self.key] = detached
        if self.frame.early_stop and index + 1 == expected:
            raise _StopRecomputation
        return detached

    def compare(self) -> None:
        first, second = self.frame.metadata, self.metadata
        if not self.frame.is_complete and len(second) > len(first):
            second = second[: len(first)]
        if len(first) != len(second):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                "recomputation.\n"
                f"Number of tensors saved during forward: {len(first)}\n"
                f"Number of tensors saved during recomputation: {len(second)}.\n"
            )
        if not self.frame.check:
            return
        differences = [
            f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}\n"
            for i, (a, b) in enumerate(zip(first, second, strict=True))
            if a != b
        ]
        if differences:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{''.join(differences)}.\n"
            )


# Without reentrance, and without all of the second computation


class CheckpointPolicy(enum.Enum):
    """What is to become of an operator's result: kept from the first call, or computed again.

    What is to be offloaded is computed again, as in PyTorch's eager mode. ``MUST_`` and ``PREFER_`` are the same here.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told besides the call: the operator's result; it is asked during the first call only."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


Policy = Callable[..., CheckpointPolicy | bool]

_SAVED = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
#: Operators that checkpoints call themselves, not equally often both times.
_NOT_ASKED_ABOUT = frozenset(("aten::detach", "prim::device"))
_COMPUTED_AGAIN, _TAKEN = object(), object()
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class _Kept:
    """A result of the first call, outside of its history, and the version that it had."""

    __slots__ = ("value", "version")

    def __init__(self, value: Any) -> None:
        is_tensor = isinstance(value, Tensor)
        self.value = value.detach() if is_tensor else value
        self.version = value._version if is_tensor else None

    def take(self, may_be_mutated: bool) -> Any:
        if self.version is not None and not may_be_mutated and self.value._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value


class _OperatorMode:
    """A mode of ``__torch_dispatch__`` that numbers the calls of each operator."""

    def __init__(self, results: dict[Any, list[Any]]) -> None:
        self.results = results
        self.counts: dict[Any, int] = {}

    def __enter__(self) -> Any:
        self.counts.clear()
        push_dispatch_mode(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        pop_dispatch_mode()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.name() in _NOT_ASKED_ABOUT:
            return func(*args, **(kwargs or {}))
        number = self.counts.get(func, 0)
        self.counts[func] = number + 1
        return self.called(func, number, args, kwargs or {})

    def called(self, func: Any, number: int, args: Any, kwargs: Any) -> Any:
        raise NotImplementedError


class _KeepingMode(_OperatorMode):
    """Keeps the results of the first call that a policy wants to have kept."""

    def __init__(self, policy: Policy, results: dict[Any, list[Any]]) -> None:
        super().__init__(results)
        self.policy = policy

    def __enter__(self) -> Any:
        self.results.clear()
        return super().__enter__()

    def called(self, func: Any, number: int, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        wanted = self.policy(context, func, *args, **kwargs)
        is_kept = wanted if isinstance(wanted, bool) else wanted in _SAVED
        self.results.setdefault(func, []).append(tree_map(_Kept, result) if is_kept else _COMPUTED_AGAIN)
        return result


class _TakingMode(_OperatorMode):
    """Answers with what was kept, in the second call."""

    def __init__(self, results: dict[Any, list[Any]], may_be_mutated: bool) -> None:
        super().__init__(results)
        self.may_be_mutated = may_be_mutated

    def called(self, func: Any, number: int, args: Any, kwargs: Any) -> Any:
        entries = self.results.get(func)
        if entries is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        if number >= len(entries):
            raise RuntimeError(
                f"{func} invocation index {number} encountered during backward but not found in storage. {_MISMATCH}"
            )
        entry = entries[number]
        if entry is _TAKEN:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if entry is _COMPUTED_AGAIN:
            return func(*args, **kwargs)
        entries[number] = _TAKEN
        return tree_map(lambda kept: kept.take(self.may_be_mutated), entry)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | list[Any], allow_cache_entry_mutation: bool = False
) -> Contexts:
    """Contexts for `checkpoint` (its ``context_fn``) that keep the results of some operators.

    Parameters
    ----------
    policy_fn_or_list
        ``policy(context, operator, *args, **kwargs)`` gives a `CheckpointPolicy`, or a bool; or the operators whose
        results are kept, as ``torch.ops.aten.mm.default``.
    allow_cache_entry_mutation
        Whether what was kept may have been changed in place meanwhile.

    Raises
    ------
    TypeError, ValueError
        For anything else.
    """
    if isinstance(policy_fn_or_list, list):
        policy = _policy_of(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    results: dict[Any, list[Any]] = {}
    return _KeepingMode(policy, results), _TakingMode(results, allow_cache_entry_mutation)


def _policy_of(operators: list[Any]) -> Policy:
    for operator in operators:
        if not hasattr(operator, "overloadpacket") and not hasattr(operator, "py_impl"):
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {operator} of type {type(operator)}. "
                + (_NAME_THE_OVERLOAD if hasattr(operator, "overloads") else "")
            )
    return lambda context, operator, *args, **kwargs: operator in operators


_NAME_THE_OVERLOAD = (
    "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change "
    "it to `torch.ops.aten.mm.default`."
)


# With reentrance


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn when no input requires grad: nothing would reach the parameters inside either."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors among the inputs detached, requiring grad where they did."""
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


class CheckpointFunction(Function):
    """Runs a function unrecorded; its backward runs it again, recorded, and goes back through it."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state, ctx.casts = _RandomState(preserve_rng_state), AsItWas()
        ctx.positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.positions))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not ExecutionEngine.is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for position, tensor in zip(ctx.positions, ctx.saved_tensors, strict=True):
            inputs[position] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.random_state, ctx.casts, enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        recorded = [(y, g) for y, g in zip(outputs, grads) if isinstance(y, Tensor) and y.requires_grad]
        if not recorded:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([y for y, _ in recorded], [g for _, g in recorded])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in detached))
