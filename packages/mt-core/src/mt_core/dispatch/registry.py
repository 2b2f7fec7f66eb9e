"""Operators and the tables their kernels stand in.

An *overload* (``add.Tensor``) is what is dispatched; a *packet* (``add``) is its overloads under one name. Both are
made from names alone, so that importing the generated wrappers costs little: the declaration (schema, kind, promotion)
is read from `mt_core.declarations.<family>` when first asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..dtypes import when_default_changes
from ..plugins.interrupts import held_back
from ..schema import Schema
from .kernel import ANYTHING, Accepts, Kernel

if TYPE_CHECKING:
    from ..declarations._declare import Declaration

__all__ = [
    "Overload", "Packet", "define", "find_overload", "forget_all", "is_loaded", "kernels_for", "load_family",
    "overload", "packet", "refuse_while_loading", "register_composite", "register_contract_kernel", "register_fallback",
    "register_interceptor", "register_kernel",
    "register_shape_rule", "unregister_kernel", "when_registered",
]  # fmt: skip

#: Overload name -> what has been declared under it; filled by importing `mt_core.declarations.<family>`.
DECLARATIONS: dict[str, Declaration] = {}
OVERLOADS: dict[str, Overload] = {}
PACKETS: dict[str, Packet] = {}

#: Shape rules and composites by overload name.
SHAPE_RULES: dict[str, Callable[..., Any]] = {}
COMPOSITES: dict[str, Composite] = {}
#: Kernels on tensors that use nothing but the backend contract, by overload name.
CONTRACT_KERNELS: dict[str, Callable[..., Any]] = {}
#: Shape rules whose result may depend on the elements of a tensor, not on its description alone -> for which arguments.
READS_ELEMENTS: dict[str, Callable[..., bool]] = {}
#: Operators whose shape rule may warn: it is asked at every call, for each call is to be warned of.
WARNS: set[str] = set()
#: Backend key -> overload name -> kernels, of which the first that accepts a call carries it out.
KERNELS: dict[int, dict[str, list[Kernel]]] = {}
#: What intercepts one operator at one key, asked before the layer or the kernels of that key: dispatch key ->
#: overload name -> ``build(call_keys)``.
INTERCEPTORS: dict[int, dict[str, Callable[[int], Callable[..., Any] | None]]] = {}


#: Called whenever something is registered for an operator: what was computed by others may be wrong by then.
when_registered: list[Callable[[], None]] = []
#: Backend key -> ``build(overload, call_keys)`` for the operators that nothing else carries out there.
FALLBACKS: dict[int, Callable[[Overload, int], Callable[..., Any]]] = {}


class Composite:
    """An operator written in other operators; `explicit` ones stand in for kernels below autograd only."""

    __slots__ = ("function", "explicit")

    def __init__(self, function: Callable[..., Any], explicit: bool) -> None:
        self.function = function
        self.explicit = explicit


class Resolver:
    """What an overload asks of the modules above this one; each enters its part when it is imported."""

    resolve: Callable[[Overload, int], Callable[..., Any]]
    call_keys_of: Callable[[Overload, tuple[Any, ...]], int]
    bind: Callable[[Schema, tuple[Any, ...], dict[str, Any]], list[Any]]


class KernelCache(dict[int, Callable[..., Any]]):
    """Call keys (`mt_core.state`) -> callable for one overload; a miss resolves, once."""

    __slots__ = ("_overload",)

    def __init__(self, overload: Overload) -> None:
        self._overload = overload

    def __missing__(self, call_keys: int) -> Callable[..., Any]:
        return Resolver.resolve(self._overload, call_keys)


class Overload:
    """One operator. ``cache[call_keys]`` is the callable for such calls; it takes all arguments positionally."""

    __slots__ = (
        "name",
        "packet_name",
        "overload_name",
        "family",
        "cache",
        "_declaration",
        "_tensors",
        "_lists",
        "__dict__",
    )

    def __init__(self, name: str, family: str) -> None:
        self.name = name
        self.packet_name, _, overload_name = name.partition(".")
        self.overload_name = overload_name or "default"
        self.family = family
        self.cache = KernelCache(self)
        self._declaration: Declaration | None = None
        self._tensors: tuple[int, ...] | None = None
        self._lists: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Overload(op='{self.qualified_name.partition('.')[0].replace('::', '.')}', "
            f"overload='{self.overload_name}')>"
        )

    @property
    def qualified_name(self) -> str:
        """The name with its namespace, which is ``aten`` where the name gives none."""
        return self.name if "::" in self.name else f"aten::{self.name}"

    @property
    def declaration(self) -> Declaration:
        found = self._declaration
        if found is None:
            if self.name not in DECLARATIONS:
                load_family("mt_core.declarations", self.family)
                if self.name not in DECLARATIONS:
                    refuse_while_loading(self)
            found = self._declaration = DECLARATIONS[self.name]
        return found

    @property
    def schema(self) -> Schema:
        return self.declaration.schema

    @property
    def tensor_positions(self) -> tuple[int, ...]:
        """Positions of arguments that are one tensor (or an optional one)."""
        if self._tensors is None:
            arguments = self.schema.arguments
            self._lists = tuple(i for i, a in enumerate(arguments) if a.is_tensor and a.is_list)
            self._tensors = tuple(i for i, a in enumerate(arguments) if a.is_tensor and not a.is_list)
        return self._tensors

    @property
    def list_positions(self) -> tuple[int, ...]:
        """Positions of arguments that are a list of tensors."""
        self.tensor_positions  # noqa: B018 - fills both
        return self._lists

    def call(self, *args: Any) -> Any:
        """Dispatch on arguments that are already bound: all of the schema's, in order."""
        return self.cache[Resolver.call_keys_of(self, args)](*args)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call by the schema's own names, as ``torch.ops.aten.add.Tensor(...)`` is called."""
        return self.call(*Resolver.bind(self.schema, args, kwargs))


class Packet:
    """The overloads of one name, in the order in which Python arguments are matched against them."""

    __slots__ = ("name", "family", "overload_names", "_signatures")

    def __init__(self, name: str, family: str, overload_names: tuple[str, ...]) -> None:
        self.name = name
        self.family = family
        self.overload_names = overload_names
        self._signatures: Any = None

    def overloads(self) -> list[Overload]:
        return [find_overload(name) for name in self.overload_names]

    def __repr__(self) -> str:
        return f"<Packet {self.name}>"


def overload(name: str, family: str) -> Overload:
    """The overload of that name, made on first mention."""
    found = OVERLOADS.get(name)
    if found is None:
        found = OVERLOADS[name] = Overload(name, family)
    return found


def packet(name: str, family: str, overload_names: tuple[str, ...]) -> Packet:
    """The packet of that name, made on first mention."""
    found = PACKETS.get(name)
    if found is None:
        found = PACKETS[name] = Packet(name, family, overload_names)
    return found


def define(declaration: Declaration) -> Overload:
    """Enter a declaration; the overload exists from here on.

    Raises
    ------
    ValueError
        When the name is declared already.
    """
    name = declaration.schema.full_name
    if name in DECLARATIONS:
        raise ValueError(f"operator {name} is declared twice")
    DECLARATIONS[name] = declaration
    return overload(name, declaration.family)


def find_overload(name: str) -> Overload:
    """An overload by name.

    Raises
    ------
    KeyError
        When nothing of that name is known; the message names it.
    """
    found = OVERLOADS.get(name)
    if found is None:
        # The generated tables name only what wrappers call; the family declares the rest.
        known = PACKETS.get(name.partition(".")[0])
        if known is not None:
            load_family("mt_core.declarations", known.family)
            found = OVERLOADS.get(name)
    if found is None:
        raise KeyError(f"unknown operator {name}")
    return found


_loaded: set[tuple[str, str]] = set()
#: Room -> the thread that loads it.
_being_loaded: dict[tuple[str, str], int] = {}
_loading = threading.RLock()


def load_family(package: str, family: str) -> None:
    """Import the modules of a family in a package of rooms: ``<family>.py`` and ``<family>_*.py``.

    Other threads wait until the room is complete; the thread that loads it may ask again while it does.
    """
    room = (package, family)
    if room in _loaded:
        return
    with held_back(), _loading:
        if room in _loaded or room in _being_loaded:
            return
        _being_loaded[room] = threading.get_ident()
        try:
            for name in family_modules(importlib.import_module(package), family):
                importlib.import_module(f"{package}.{name}")
            _loaded.add(room)
        finally:
            del _being_loaded[room]


def is_loaded(package: str, family: str) -> bool:
    """Whether all modules of a family in a package of rooms were imported."""
    return (package, family) in _loaded


def refuse_while_loading(overload: Overload) -> None:
    """Say so where an operator cannot be used because this thread is in the middle of loading its family.

    That is how a signal handler meets it that runs while its thread loads: no import can be completed from within.

    Raises
    ------
    RuntimeError
        When what declares or carries out the operator is half loaded.
    """
    me = threading.get_ident()
    if any(room[1] == overload.family and thread == me for room, thread in list(_being_loaded.items())):
        raise RuntimeError(
            f"{overload.name} was called while its family '{overload.family}' is being loaded, by a signal handler or "
            "by a module of the family itself: call it when that is done, or once before the handler is installed"
        )


def family_modules(package: ModuleType, family: str) -> list[str]:
    """Names of a family's modules in a package."""
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    return sorted(n for n in names if n == family or n.startswith(family + "_"))


def _forget(name: str) -> None:
    """Drop what was resolved for an operator and for the in-place and out= forms that derive from it, or as it does.

    What was resolved before the declaration was read cannot depend on it.
    """
    for told in when_registered:
        told()
    declaration = DECLARATIONS.get(name)
    group = {name}
    if declaration is not None:
        functional = DECLARATIONS.get(declaration.functional or name, declaration)
        group |= {form for form in (functional.inplace, functional.out) if form is not None}
    for member in group:
        found = OVERLOADS.get(member)
        if found is not None:
            found.cache.clear()


def forget_all() -> None:
    """Drop everything that was resolved: a layer was added, or a default that shape rules read has changed."""
    for found in list(OVERLOADS.values()):
        found.cache.clear()


when_default_changes.append(forget_all)

_own = threading.local()


class registering_own:
    """Context manager: what this thread registers is the backend's own, and stands behind what others registered."""

    def __enter__(self) -> None:
        _own.depth = getattr(_own, "depth", 0) + 1

    def __exit__(self, *exc_info: object) -> None:
        _own.depth -= 1


def register_kernel(
    key: int, names: Iterable[str], function: Callable[..., Any], *, accepts: Accepts | None = None, out: str = "fresh",
    half: str | None = None, recorded: bool = True,
) -> Kernel:  # fmt: skip
    """Enter a kernel for operators of a backend, in front of those that are there; `Kernel` tells what the options say.

    It is used from the next call on, whether the operators were called before or not. What a backend registers while
    its family is loaded stands behind what others have registered.

    Parameters
    ----------
    key
        The dispatch key of the backend: `mt_core.devices.backend_key` of its device type.
    names
        Overloads: ``("add.Tensor", "neg")``.
    """
    own = getattr(_own, "depth", 0) > 0
    kernel = Kernel(function, accepts or ANYTHING, out, half, recorded, own)
    table = KERNELS.setdefault(key, {})
    for name in names:
        if accepts is not None and name in DECLARATIONS:
            accepts.check_names(DECLARATIONS[name].schema)
        present = table.get(name, [])
        at = next((i for i, other in enumerate(present) if other.own), len(present)) if own else 0
        table[name] = [*present[:at], kernel, *present[at:]]
        _forget(name)
    return kernel


def unregister_kernel(key: int, name: str, kernel: Kernel) -> None:
    """Take a kernel away again; those that were there before are used from the next call on."""
    KERNELS[key][name] = [other for other in KERNELS[key][name] if other is not kernel]
    _forget(name)


def kernels_for(name: str, key: int) -> list[Kernel]:
    """The kernels that are registered for an operator of a backend, the first to be asked first."""
    return KERNELS.get(key, {}).get(name, [])


def register_fallback(key: int, build: Callable[[Overload, int], Callable[..., Any]] | None) -> None:
    """Enter what carries out, on a backend, the operators that nothing else does; None to take it away."""
    if build is None:
        FALLBACKS.pop(key, None)
    else:
        FALLBACKS[key] = build
    forget_all()


#: Operators of the core's own -> the one of PyTorch's that each stands for: where that is intercepted, it is called.
STANDING_FOR = {"_linear_of_rows": "addmm"}


def register_interceptor(key: int, name: str, build: Callable[[int], Callable[..., Any] | None] | None) -> None:
    """Enter what intercepts an operator at a dispatch key, before its layer or kernels; None takes it away.

    Parameters
    ----------
    build
        Called once for each call keys. The callable it returns takes all arguments of the schema, tensors as tensors;
        None leaves the operator to the layer or the kernels.
    """
    table = INTERCEPTORS.setdefault(key, {})
    before = overrides_built_in(key)
    if build is None:
        table.pop(name, None)
    else:
        table[name] = build
    for forgotten in (name, *(own for own, stood_for in tuple(STANDING_FOR.items()) if stood_for == name)):
        _forget(forgotten)
    if overrides_built_in(key) != before:
        forget_all()  # fused forms serve, or no longer serve


def overrides_built_in(key: int) -> bool:
    """Whether an operator of the core's own is intercepted at a dispatch key: one that others may be made of."""
    # Another thread may enter one meanwhile.
    return any("::" not in name for name in tuple(INTERCEPTORS.get(key, ())))


def _enter(table: dict[str, Any], name: str, function: Callable[..., Any], entry: Any) -> None:
    """Enter a rule, composite or contract kernel; the core's own, read later, does not replace another's."""
    replaced = table.get(name)
    if replaced is not None and _is_ours(function) and not _is_ours(getattr(replaced, "function", replaced)):
        return
    table[name] = entry
    _forget(name)


def _is_ours(function: Callable[..., Any]) -> bool:
    return (getattr(function, "__module__", None) or "").startswith("mt_core.")


def _always(*args: Any) -> bool:
    return True


def register_shape_rule(
    *names: str, reads_elements: bool | Callable[..., bool] = False, warns: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function is the shape rule (arguments -> `Spec`, `View`, or a tuple) of these operators.

    Parameters
    ----------
    reads_elements
        Whether the result depends on what is in a tensor, or which arguments make it so. Otherwise it follows from
        shapes, strides, dtypes and the other arguments alone, and is kept for calls that agree in them.
    warns
        Whether it gives warnings: then it is asked at every call.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _enter(SHAPE_RULES, name, function, function)
            if reads_elements:
                READS_ELEMENTS[name] = reads_elements if callable(reads_elements) else _always
            if warns:
                WARNS.add(name)
        return function

    return enter


def register_contract_kernel(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function, written on the backend contract, is these operators' kernel where a backend has none."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _enter(CONTRACT_KERNELS, name, function, function)
        return function

    return enter


def register_composite(*names: str, explicit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function, written in operators on tensors, is these operators wherever no kernel is registered."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _enter(COMPOSITES, name, function, Composite(function, explicit))
        return function

    return enter
