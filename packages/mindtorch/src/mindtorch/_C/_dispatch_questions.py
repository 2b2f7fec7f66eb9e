"""``torch._C._dispatch_*``: which kernels operators have, and at which keys."""

from __future__ import annotations

from typing import Any

from mt_core.keys import HOLLOW, PYTHON
from mt_core.state import tls
from mt_library import Library
from mt_library.dispatch_keys import is_key
from mt_library.key_resolution import ALIASES, has_backend_fallback, is_included_in_alias
from mt_library.key_sets import DEVICES
from mt_library.questions import dump as _dispatch_dump
from mt_library.questions import (
    has_kernel,
    is_fallthrough,
    names_with_kernel_at,
    operator_named,
    registered_keys,
    runs_at,
)

from ._dispatch_keys import (
    DispatchKey,
    DispatchKeySet,
)

__all__ = [
    "_dispatch_check_invariants", "_dispatch_dump", "_dispatch_dump_table", "_dispatch_find_dangling_impls",
    "_dispatch_get_registrations_for_dispatch_key", "_dispatch_has_backend_fallback",
    "_dispatch_has_computed_kernel_for_dispatch_key", "_dispatch_has_kernel",
    "_dispatch_has_kernel_for_any_dispatch_key", "_dispatch_has_kernel_for_dispatch_key",
    "_dispatch_isTensorSubclassLike", "_dispatch_is_alias_key", "_dispatch_is_included_in_alias",
    "_dispatch_kernel_for_dispatch_key_is_fallthrough", "_dispatch_library", "_dispatch_num_backends",
    "_dispatch_print_registrations_for_dispatch_key", "_parse_dispatch_key",
]  # fmt: skip


def _name(key: Any) -> str:
    name = str(getattr(key, "name", key))
    if name not in DispatchKey.__members__ and not is_key(name):
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return name


def _dispatch_has_kernel(name: str) -> bool:
    """Whether an operator has any kernel."""
    return bool(registered_keys(operator_named(name)))


def _dispatch_has_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Whether an operator has a kernel at this very key.

    Raises
    ------
    RuntimeError
        For an operator or a key that does not exist.
    """
    return has_kernel(name, _name(key))


def _dispatch_has_computed_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Whether a call that comes by a key finds something there: a kernel, that of an alias, or what falls through."""
    return runs_at(name, _name(key))


def _dispatch_has_kernel_for_any_dispatch_key(name: str, keys: DispatchKeySet) -> bool:
    """Whether an operator has a kernel at one of the keys of a set."""
    registered = set(registered_keys(operator_named(name)))
    return any(key.name in registered for key in keys)


def _dispatch_kernel_for_dispatch_key_is_fallthrough(name: str, key: Any) -> bool:
    """Whether the kernel at a key is `torch.library.fallthrough_kernel`."""
    return is_fallthrough(name, _name(key))


def _dispatch_get_registrations_for_dispatch_key(key: Any = "") -> list[str]:
    """The names of the operators that have a kernel at a key."""
    return names_with_kernel_at(_name(key))


def _dispatch_print_registrations_for_dispatch_key(key: Any = "") -> None:
    """Print `_dispatch_get_registrations_for_dispatch_key`."""
    for name in names_with_kernel_at(_name(key)):
        print(name)


def _dispatch_dump_table(name: str) -> str:
    """The keys of devices at which a call of an operator finds something; nothing of one that does not exist."""
    if not _dispatch_dump(name):
        return ""
    keys = [key.name for key in DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.Meta)]
    keys += ["AutogradCPU", "AutogradMeta"]
    return "".join(f"{key}: registered [kernel]\n" for key in keys if runs_at(name, key))


def _dispatch_check_invariants(name: str) -> None:
    """Nothing to be found: what is registered is looked at when an operator is called. Raises for an unknown name."""
    operator_named(name)


def _dispatch_find_dangling_impls() -> list[str]:
    """Kernels of operators that nobody defined; there are none, as `Library.impl` refuses them."""
    return []


def _dispatch_has_backend_fallback(key: Any) -> bool:
    """Whether a key has something for every operator: a layer, or the fallback of a library."""
    return has_backend_fallback(_name(key))


def _dispatch_is_alias_key(key: Any) -> bool:
    """Whether a key stands for several."""
    return _name(key) in ALIASES


def _dispatch_is_included_in_alias(key: Any, alias: Any) -> bool:
    """Whether a key is one of those that an alias stands for."""
    return is_included_in_alias(_name(key), _name(alias))


def _dispatch_num_backends() -> int:
    """How many keys of devices there are."""
    return len(DEVICES)


def _dispatch_isTensorSubclassLike(tensor: Any) -> bool:
    """Whether a tensor's operators are carried out by Python: its class's, a mode's, or those of a transform."""
    return bool(tensor._keys & (PYTHON | HOLLOW)) or bool(tls.dispatch_modes)


def _dispatch_library(kind: str, name: str, dispatch: str, file: str = "/dev/null", linenum: int = 0) -> Library:
    """A library, as ``torch.library.Library`` makes one."""
    return Library(name, kind, dispatch)


def _parse_dispatch_key(name: str) -> Any:
    """The key of a name; None for a name that no key has."""
    return DispatchKey.__members__.get(name)
