"""Operators and the tables their kernels stand in.

An *overload* (``add.Tensor``) is what is dispatched; a *packet* (``add``) is its overloads under one name. Both are
made from names alone, so that importing the generated wrappers costs little: the declaration (schema, kind, promotion)
is read from `mt_core.ops.<family>` when first asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..schema import Schema

if TYPE_CHECKING:
    from ..ops._declare import Declaration

__all__ = [
    "KernelDef", "Overload", "Packet", "define", "find_overload", "load_room", "overload", "packet",
    "register_composite",
    "register_generic", "register_handler", "register_kernel", "register_meta",
]  # fmt: skip

#: Overload name -> what has been declared under it; filled by importing `mt_core.ops.<family>`.
DECLARATIONS: dict[str, Declaration] = {}
OVERLOADS: dict[str, Overload] = {}
PACKETS: dict[str, Packet] = {}

#: Meta rules and composites by overload name.
META_RULES: dict[str, Callable[..., Any]] = {}
COMPOSITES: dict[str, Composite] = {}
#: Kernels on tensors that use nothing but the backend contract, by overload name.
GENERIC: dict[str, Callable[..., Any]] = {}
#: Backend key -> overload name -> kernel.
KERNELS: dict[int, dict[str, KernelDef]] = {}
#: Dispatch key -> overload name -> ``build(coded key set)``, asked before the layer or the kernels of that key.
HANDLERS: dict[int, dict[str, Callable[[int], Callable[..., Any] | None]]] = {}


class KernelDef:
    """A backend's kernel and how it wants to be called.

    Attributes
    ----------
    function
        Takes the schema's arguments in order, with backend arrays in place of tensors. None for a composite that has
        only a `short` form.
    half : {"float32", "native"}
        Whether half and 8-bit floats reach it as float32, or as they are stored (kernels that only move data).
    ufunc : bool
        Whether it accepts ``out=`` and broadcasts by itself.
    fast
        Elementwise: a ufunc that gives the same when all arguments after the tensors have their defaults.
    short
        Plain: tried first, without a meta rule, when all tensors are of one real floating dtype that NumPy computes in.
        It takes what the kernel takes and returns a fresh row-major array of that same dtype, or None to have the call
        take the ordinary way (which also finds the words for wrong arguments).
    mixed : bool
        With `short`: integer and bool tensors may stand beside the floating ones.
    row_major : bool
        View: it is for row-major arrays only, and its result is one.
    inplace
        Elementwise: writes the result into the first array, for row-major arrays of one shape and one real floating
        dtype that share no memory with the first, and real numbers.
    """

    __slots__ = ("function", "half", "ufunc", "fast", "short", "mixed", "row_major", "inplace")

    def __init__(
        self, function: Callable[..., Any], half: str, ufunc: bool, fast: Any, short: Any = None,
        row_major: bool = False, mixed: bool = False, inplace: Any = None,
    ) -> None:  # fmt: skip
        self.inplace = inplace
        self.function = function
        self.half = half
        self.ufunc = ufunc
        self.fast = fast
        self.short = short
        self.row_major = row_major
        self.mixed = mixed


class Composite:
    """An operator written in other operators; `explicit` ones stand in for kernels below autograd only."""

    __slots__ = ("function", "explicit")

    def __init__(self, function: Callable[..., Any], explicit: bool) -> None:
        self.function = function
        self.explicit = explicit


class KernelCache(dict[int, Callable[..., Any]]):
    """Coded key set -> callable for one overload; a miss resolves, once."""

    __slots__ = ("_overload",)

    def __init__(self, overload: Overload) -> None:
        self._overload = overload

    def __missing__(self, coded: int) -> Callable[..., Any]:
        from .dispatcher import resolve

        return resolve(self._overload, coded)


class Overload:
    """One operator. ``cache[keys]`` is the callable for a coded key set; it takes all arguments positionally."""

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
                load_room("mt_core.ops", self.family)
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
        from .dispatcher import keys_of

        return self.cache[keys_of(self, args)](*args)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call by the schema's own names, as ``torch.ops.aten.add.Tensor(...)`` is called."""
        from ..api.binder import bind_schema

        return self.call(*bind_schema(self.schema, args, kwargs))


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
            load_room("mt_core.ops", known.family)
            found = OVERLOADS.get(name)
    if found is None:
        raise KeyError(f"unknown operator {name}")
    return found


_loaded_rooms: set[tuple[str, str]] = set()
_begun_rooms: set[tuple[str, str]] = set()
_loading = threading.RLock()


def load_room(package: str, family: str) -> None:
    """Import the modules of a family in a package of rooms: ``<family>.py`` and ``<family>_*.py``.

    Other threads wait until the room is complete; the thread that loads it may ask again while it does.
    """
    room = (package, family)
    if room in _loaded_rooms:
        return
    with _loading:
        if room in _begun_rooms:
            return
        _begun_rooms.add(room)
        try:
            for name in room_modules(importlib.import_module(package), family):
                importlib.import_module(f"{package}.{name}")
        except BaseException:
            _begun_rooms.discard(room)
            raise
        _loaded_rooms.add(room)


def room_modules(package: ModuleType, family: str) -> list[str]:
    """Names of a family's modules in a package."""
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    return sorted(n for n in names if n == family or n.startswith(family + "_"))


def _forget(name: str) -> None:
    """Drop what was resolved for an operator, because something was registered for it."""
    found = OVERLOADS.get(name)
    if found is not None:
        found.cache.clear()


def register_kernel(
    key: int, names: Iterable[str], function: Callable[..., Any], *, half: str = "float32", ufunc: bool = False,
    fast: Any = None,
    short: Any = None, row_major: bool = False, mixed: bool = False, inplace: Any = None,
) -> None:  # fmt: skip
    """Enter a backend's kernel for operators; a later registration replaces an earlier one."""
    table = KERNELS.setdefault(key, {})
    for name in names:
        table[name] = KernelDef(function, half, ufunc, fast, short, row_major, mixed, inplace)
        _forget(name)


def register_handler(key: int, name: str, build: Callable[[int], Callable[..., Any] | None] | None) -> None:
    """Enter what handles an operator at a dispatch key in place of its layer or kernels; None takes it away.

    Parameters
    ----------
    build
        Called once per coded key set. The callable it returns takes all arguments of the schema, tensors as tensors;
        None leaves the operator to the layer or the kernels.
    """
    table = HANDLERS.setdefault(key, {})
    if build is None:
        table.pop(name, None)
    else:
        table[name] = build
    _forget(name)


def register_meta(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function is the meta rule (arguments -> `Spec`, `View`, or a tuple) of these operators."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            META_RULES[name] = function
            _forget(name)
        return function

    return enter


def register_generic(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function, written on the backend contract, is these operators' kernel where a backend has none."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            GENERIC[name] = function
            _forget(name)
        return function

    return enter


def register_composite(*names: str, explicit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function, written in operators on tensors, is these operators wherever no kernel is registered."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            COMPOSITES[name] = Composite(function, explicit)
            _forget(name)
        return function

    return enter
