"""Which classes and functions a file may name under ``weights_only=True``."""

import _codecs
import functools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import torch_names as names
from ..dtypes import ALL_DTYPES
from .signatures import SIGNATURES, Signature, check_key

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
    """What Python's pickler stands in for ``bytes`` under protocol 2."""
    return _codecs.encode(text, "latin1")


def _bytearray(*args: Any) -> bytearray:
    """``bytearray`` as pickles call it, from bytes or from the characters that stand for them."""
    return bytearray(source.encode("latin1") if isinstance(source := args[0], str) else source) if args else bytearray()


def _set(items: Any = ()) -> set[Any]:
    for item in items:
        check_key(item)
    return set(items)


def _ordered_dict(items: Any = ()) -> OrderedDict[Any, Any]:
    return _filled(OrderedDict(), items)


def _counter(counts: Any = ()) -> Counter[Any]:
    return _filled(Counter(), counts)


def _filled(target: Any, items: Any) -> Any:
    """`target` with the items of a dict or of a sequence of pairs, as the two mappings pickle theirs."""
    for key, value in items.items() if type(items) is dict else items:
        check_key(key)
        target[key] = value
    return target


#: Full name -> (what a file gets for it, what REDUCE calls in its place).
_PYTHON_GLOBALS: dict[str, tuple[Any, Any]] = {
    "_codecs.encode": (_codecs.encode, _encode),
    "builtins.bytearray": (bytearray, _bytearray),
    "builtins.complex": (complex, complex),
    "builtins.set": (set, _set),
    "collections.Counter": (Counter, _counter),
    "collections.OrderedDict": (OrderedDict, _ordered_dict),
}


def is_callable_name(name: str) -> bool:
    """Whether a weights file may call what it names so; the rest of the allowed names are data (dtypes, classes)."""
    return name in SIGNATURES


_NESTED = "torch.nested._internal.nested_tensor.NestedTensor"


@functools.cache
def _data_names() -> frozenset[str]:
    schemes = [f"torch.{name}" for name in names._QUANTIZATION_SCHEMES]
    storages = [f"{prefix}.{name}Storage" for name in names._STORAGES for prefix in ("torch", "torch.cuda")]
    classes = ["torch.Tensor", "torch.storage.UntypedStorage", "torch.storage.TypedStorage", _NESTED]
    return frozenset([*storages, *classes, *schemes, *(f"torch.{d.name}" for d in ALL_DTYPES)])


def is_allowed_name(name: str) -> bool:
    """Whether a weights file may name this without the user's leave."""
    return is_callable_name(name) or name in _data_names()


def signature_of(name: str) -> Signature:
    """What the arguments must be of what `is_callable_name`."""
    return SIGNATURES[name]


def find_allowed(name: str) -> tuple[Any, Any]:
    """(the object behind a name that `is_allowed_name`, what to call when the file calls it).

    Raises
    ------
    LookupError
        If the part of mindtorch that has it is not installed.
    """
    if name in _PYTHON_GLOBALS:
        return _PYTHON_GLOBALS[name]
    module, _, attribute = name.rpartition(".")
    found = names.resolve(module, attribute)
    return found, found
