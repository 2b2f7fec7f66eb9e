"""Which classes and functions a file may name under ``weights_only=True``."""

from __future__ import annotations

import _codecs
import functools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import names

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]

#: Modules from which nothing may be loaded, allowed by the user or not.
BLOCKED_MODULES = ("sys", "os", "posix", "nt")

_added: dict[SafeGlobal, None] = {}


def add_safe_globals(safe_globals: list[SafeGlobal]) -> None:
    """Let files name these classes and functions under ``weights_only=True``. They must be safe to call on anything.

    Parameters
    ----------
    safe_globals
        Classes and functions, or pairs of one and the full name that files call it by.
    """
    _added.update(dict.fromkeys(safe_globals))


def get_safe_globals() -> list[SafeGlobal]:
    """What `add_safe_globals` has added."""
    return list(_added)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` has added."""
    _added.clear()


def _remove_safe_globals(globals_to_remove: list[SafeGlobal]) -> None:
    for item in globals_to_remove:
        _added.pop(item, None)


@contextmanager
def safe_globals(safe_globals: list[SafeGlobal]) -> Iterator[None]:
    """`add_safe_globals` until the end of a ``with`` block."""
    new = [item for item in safe_globals if item not in _added]
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _remove_safe_globals(new)


def user_globals() -> dict[str, Any]:
    """Full name in a file -> what `add_safe_globals` allowed under it.

    Raises
    ------
    TypeError
        If a pair's second item is not the name.
    """
    allowed: dict[str, Any] = {}
    for item in _added:
        if isinstance(item, tuple):
            found, name = item
            if not isinstance(name, str):
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(name)}")
            allowed[name] = found
        else:
            allowed.update(dict.fromkeys(_names_of(item), item))
    return allowed


def _names_of(item: Any) -> Iterator[str]:
    """The names that files may have for a class or function: its own, and PyTorch's where it has one."""
    module, name = item.__module__, item.__qualname__
    yield f"{module}.{name}"
    renamed = names.torch_name(module, name)
    if renamed is not None:
        yield ".".join(renamed)


def _encode(text: str, encoding: str) -> bytes:
    """What Python's pickler stands in for ``bytes`` under protocol 2; no other codec may be asked for."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise TypeError("_codecs.encode may only turn a str into bytes by the codec latin1 in a weights_only load")
    return _codecs.encode(text, "latin1")


def _bytearray(*args: Any) -> bytearray:
    """``bytearray`` as pickles call it; a bare size could ask for any amount of memory."""
    if args and type(args[0]) not in (bytes, str):
        raise TypeError(f"bytearray may be called with str or bytes in a weights_only load, got {type(args[0])}")
    return bytearray(*args)


#: Full name -> what REDUCE calls for it.
_PYTHON_FUNCTIONS: dict[str, Any] = {
    "_codecs.encode": _encode,
    "builtins.bytearray": _bytearray,
    "builtins.complex": complex,
    "builtins.set": set,
    "collections.Counter": Counter,
    "collections.OrderedDict": OrderedDict,
}
#: PyTorch's names of ours that a weights file may call or build.
_CALLABLES = frozenset({
    "torch.Size", "torch.device", "torch._tensor._rebuild_from_type_v2", "torch.serialization._get_layout",
    "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state", "torch.nn.parameter.Parameter",
    *(f"torch._utils.{name}" for name in names._REBUILDERS),
})  # fmt: skip


def is_callable_name(name: str) -> bool:
    """Whether a weights file may call what it names so; the rest of the allowed names are data (dtypes, classes)."""
    return name in _CALLABLES or name in _PYTHON_FUNCTIONS


@functools.cache
def _data_names() -> frozenset[str]:
    from ..dtypes import ALL_DTYPES

    storages = [f"{prefix}.{name}Storage" for name in names._STORAGES for prefix in ("torch", "torch.cuda")]
    tensors = [f"{prefix}.{name}Tensor" for name in names._STORAGES[:10] for prefix in ("torch", "torch.cuda")]
    classes = ["torch.Tensor", "torch.storage.UntypedStorage", "torch.storage.TypedStorage"]
    return frozenset([*storages, *tensors, *classes, *(f"torch.{d.name}" for d in ALL_DTYPES)])


def is_allowed_name(name: str) -> bool:
    """Whether a weights file may name this without the user's leave."""
    return is_callable_name(name) or name in _data_names()


def find_allowed(name: str) -> Any:
    """The object behind a name that `is_allowed_name`."""
    found = _PYTHON_FUNCTIONS.get(name)
    if found is not None:
        return found
    module, _, attribute = name.rpartition(".")
    return names.resolve(module, attribute)
