"""What has been registered through this package, operator by operator, and how the core's dispatcher finds it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from mt_core.declarations._declare import Declaration
from mt_core.deprecation import warn_once
from mt_core.devices import describe_keys
from mt_core.dispatch.dispatcher import without
from mt_core.dispatch.lookup import composite_of, kernels_of
from mt_core.dispatch.registry import (
    DECLARATIONS,
    OVERLOADS,
    PACKETS,
    Overload,
    find_overload,
    load_family,
    register_interceptor,
)
from mt_core.dispatch.registry import define as declare
from mt_core.errors import no_kernel
from mt_core.keys import AUTOGRAD, BACKENDS, PRIVATE
from mt_core.schema import MISSING, Schema
from mt_core.state import effective_keys, excluding

from .defaults import defaults_left_out
from .dispatch_keys import (
    ANY_DEVICE,
    AUTOGRAD_OF_ALL,
    COMPOSITE,
    LAYER_KEYS,
    TRANSFORM_KEYS,
    backend_name_of,
    core_keys,
    has_device_kernel,
    keys_by_priority,
)
from .fallbacks import fallback_at
from .function_schema import FunctionSchema
from .key_sets import key_set_of_call
from .results import checked
from .tags import Tag

__all__ = [
    "KeysetKernel",
    "Operator",
    "define",
    "fallthrough_kernel",
    "find",
    "known_names",
    "known_operators",
    "undefine",
    "where_called",
]

Kernel = Callable[..., Any]

#: The family of operators defined here; no package has a room of that name.
_FAMILY = "library"

_operators: dict[str, Operator] = {}


def fallthrough_kernel() -> None:
    """Registered for a dispatch key, it hands the call on to the key below."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class KeysetKernel:
    """A kernel that is handed the key set of a call before its arguments."""

    def __init__(self, function: Kernel) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class Operator:
    """An overload with the kernels that were registered for it here.

    Attributes
    ----------
    defined_here
        Whether it was defined through this package, or only has kernels overridden.
    kernels
        Dispatch key -> kernels, of which the last one counts; the others come back when it is withdrawn.
    """

    def __init__(self, overload: Overload, defined_here: bool, tags: tuple[Tag, ...] = ()) -> None:
        self.overload = overload
        self.defined_here = defined_here
        self.tags = tags
        self.schema = FunctionSchema(overload.schema)
        #: The error for arguments that no kernel takes, where whoever defined the operator has words of his own.
        self.missing: Callable[[tuple[Any, ...]], Exception] | None = None
        self.kernels: dict[str, list[Kernel]] = {}
        #: The fake implementation, and where it was registered.
        self.fake: tuple[Kernel, str] | None = None

    def kernel(self, key: str) -> Kernel | None:
        """The kernel for a dispatch key, as it was registered."""
        kernels = self.kernels.get(key)
        return kernels[-1] if kernels else None

    def composite_kernel(self) -> Kernel:
        """The kernel that is written in other operators, for all arguments by position."""
        kernel = self.kernel(COMPOSITE)
        assert kernel is not None
        return self._adapted(kernel, below_autograd=False)

    def enter(self, key: str, kernel: Kernel, warn: bool = True) -> None:
        """Register a kernel; unless told not to, a warning tells when it replaces another, the core's own included."""
        kernels = self.kernels.setdefault(key, [])
        if warn and key != _NOT_WARNED_OF and (kernels or self._replaces_own(key)):
            _warn_of_override(self.schema, key)
        kernels.append(kernel)
        self._refresh(key)

    def withdraw(self, key: str, kernel: Kernel) -> None:
        """Take a kernel away."""
        self.kernels[key].remove(kernel)
        self._refresh(key)

    def _refresh(self, key: str) -> None:
        counting = {slot for name, kernels in self.kernels.items() if kernels for slot in self._slots(name)}
        for core_key in self._slots(key):
            counts = self.defined_here or core_key in counting
            register_interceptor(core_key, self.overload.name, self._builder(core_key) if counts else None)

    def _slots(self, key: str) -> list[int]:
        """The core's keys at which a registration for a dispatch key makes a difference.

        A composite is not taken apart above a device that has a kernel for the whole.
        """
        found = core_keys(key)
        return [*found, AUTOGRAD] if self._is_implicit_composite() and AUTOGRAD not in found else found

    def _is_implicit_composite(self) -> bool:
        """Whether it is the core's own, and recorded by its parts."""
        composite = None if self.defined_here else composite_of(self.overload)
        return composite is not None and not composite.explicit

    def _replaces_own(self, key: str) -> bool:
        """Whether the core has a kernel of its own, or a derivative, at exactly this dispatch key."""
        if self.defined_here:
            return False
        of_parts = self._is_implicit_composite()
        if key in (COMPOSITE, AUTOGRAD_OF_ALL):
            return of_parts == (key == COMPOSITE)
        slots = core_keys(key)
        if of_parts or len(slots) != 1 or slots[0] not in BACKENDS or slots[0] == PRIVATE:
            return False
        functional = self.overload.declaration.functional
        forms = [self.overload] if functional is None else [self.overload, find_overload(functional)]
        return any(composite_of(form) is not None or kernels_of(form, slots[0]) for form in forms)

    def _is_passed_over(self, key: str, core_key: int) -> bool:
        """Whether the core's own kernel of a device, or derivative, goes before a kernel for all devices."""
        if self.defined_here or self._is_implicit_composite() or key not in (ANY_DEVICE, COMPOSITE):
            return False
        return core_key == AUTOGRAD or bool(kernels_of(self.overload, core_key))

    def _builder(self, core_key: int) -> Callable[[int], Kernel | None]:
        return lambda call_keys: self._at_key(core_key, call_keys)

    def _at_key(self, core_key: int, call_keys: int) -> Kernel | None:
        """What intercepts a call at one of the core's keys."""
        if core_key in TRANSFORM_KEYS:
            taken_apart = self.defined_here and self.kernel(COMPOSITE) is not None
            return self.composite_kernel() if taken_apart else None
        registered = {key for key, kernels in self.kernels.items() if kernels}
        passes_autograd = False
        for key in keys_by_priority(core_key, call_keys, registered):
            kernel = self.kernel(key)
            is_autograd = key.startswith(AUTOGRAD_OF_ALL)
            if kernel is None or is_autograd and passes_autograd or self._is_passed_over(key, core_key):
                continue
            if isinstance(kernel, KeysetKernel):
                keys = key_set_of_call(call_keys, above_autograd=core_key == AUTOGRAD or is_autograd)
                kernel = functools.partial(kernel.function, keys)
            if kernel is not fallthrough_kernel:
                above = core_key in LAYER_KEYS
                recorded_whole = not (above or self.defined_here or self._is_implicit_composite())
                return self._adapted(kernel, below_autograd=recorded_whole and not is_autograd)
            if core_key == AUTOGRAD or core_key in LAYER_KEYS:
                return self.overload.cache[without(call_keys, core_key)]
            passes_autograd |= is_autograd
        if core_key == AUTOGRAD and self._lacks_autograd_kernel(call_keys, registered):
            return self._unregistered_autograd(call_keys)
        if not self.defined_here or core_key in LAYER_KEYS:
            return None
        fallback = fallback_at(backend_name_of(call_keys))
        if fallback is not None:
            return fallback(self.overload, call_keys)  # type: ignore[no-any-return]
        if self.missing is not None:
            return self._raise_missing
        raise no_kernel(
            f"could not find kernel for op {self.schema.name} with keys {describe_keys(effective_keys(call_keys))}. "
            f"It is registered for: {', '.join(sorted(registered)) or 'nothing'}"
        )

    def _raise_missing(self, *args: Any) -> Any:
        assert self.missing is not None
        raise self.missing(args)

    def _lacks_autograd_kernel(self, call_keys: int, registered: set[str]) -> bool:
        return self.defined_here or self._is_implicit_composite() and has_device_kernel(call_keys, registered)

    def _adapted(self, kernel: Kernel, below_autograd: bool) -> Kernel:
        """A kernel that takes all arguments by position, and hands on those that are not at their defaults.

        For an operator that records itself, what its kernel calls is not recorded once more.
        """
        schema = self.overload.schema
        kernel = checked(kernel, schema)
        split = defaults_left_out(schema)

        def run(*args: Any) -> Any:
            positional, named = split(args)
            return kernel(*positional, **named)

        def run_unrecorded(*args: Any) -> Any:
            with excluding(AUTOGRAD):
                return run(*args)

        if below_autograd:
            return run_unrecorded
        plain = all(a.default is MISSING and not a.kwarg_only for a in schema.arguments)
        return kernel if plain else run

    def _below_autograd(self, call_keys: int) -> Kernel:
        return self.overload.cache[without(call_keys, AUTOGRAD)]

    def _unregistered_autograd(self, call_keys: int) -> Kernel:
        """As in PyTorch, the kernel's own parts are recorded, with a warning when a gradient passes."""
        from .autograd_fallback import with_fallback  # lazy: programs that only compute need no autograd

        return with_fallback(self.overload.schema, self.schema.name, self._below_autograd(call_keys))


#: The one key whose kernels are replaced without a word: fakes stand in for what a backend says of shapes.
_NOT_WARNED_OF = "Meta"


def _warn_of_override(schema: FunctionSchema, key: str) -> None:
    warn_once(
        "Warning only once for all operators,  other operators may also be overridden.\n"
        "  Overriding a previously registered kernel for the same operator and the same dispatch key\n"
        f"  operator: {schema}\n  dispatch key: {key}",
        stacklevel=5,
        subject="a kernel is overridden",
    )


def define(schema: Schema, tags: tuple[Tag, ...] = ()) -> Operator:
    """Define an operator whose name carries its namespace.

    Raises
    ------
    RuntimeError
        Where it is defined already.
    """
    name = schema.full_name
    if name in DECLARATIONS:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each "
            "overload's schema should only be registered with a single call to def()."
        )
    operator = Operator(declare(Declaration(schema, _FAMILY, "composite")), True, tags)
    _operators[name] = operator
    for key in (*BACKENDS, AUTOGRAD):
        register_interceptor(key, name, operator._builder(key))
    return operator


def undefine(operator: Operator) -> None:
    """Forget an operator that was defined here."""
    name = operator.overload.name
    for key in (*BACKENDS, AUTOGRAD, *LAYER_KEYS, *TRANSFORM_KEYS):
        register_interceptor(key, name, None)
    del _operators[name], DECLARATIONS[name], OVERLOADS[name]


def find(name: str) -> Operator | None:
    """The operator of a name with its namespace; of a built-in one, the record of what overrides it."""
    name = name.removesuffix(".default")
    if name in _operators:
        return _operators[name]
    name = name.removeprefix("aten::")
    operator = _operators.get(name)
    if operator is None and (overload := _built_in(name)) is not None:
        operator = _operators[name] = Operator(overload, False)
    return operator


def _built_in(name: str) -> Overload | None:
    try:
        return find_overload(name)
    except KeyError:
        return None


def where_called(depth: int) -> str:
    """``"file:line"`` of a call, so many frames above whoever asks."""
    frame = sys._getframe(depth)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def known_names() -> list[str]:
    """The names of all operators, with namespace and overload, in order; loads what the core declares."""
    for packet in PACKETS.values():
        load_family("mt_core.declarations", packet.family)
    built_in = (name if "::" in name else f"aten::{name}" for name in DECLARATIONS)
    return sorted(dict.fromkeys(built_in))


def known_operators(namespace: str, name: str) -> list[Operator]:
    """The overloads defined under one name, in the order of their definition."""
    packet = f"{namespace}::{name}"
    return [operator for operator in _operators.values() if operator.overload.packet_name == packet]
