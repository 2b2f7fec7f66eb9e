"""What there is for an operator or a key: backends, kernels, composites, each loaded when it is first asked for."""

from __future__ import annotations

from typing import Any

from ..devices import BACKENDS, device_type_of
from ..keys import META
from ..meta_backend import backend as meta
from ..plugins.discovery import find_backend
from ..plugins.interrupts import held_back
from .kernel import Kernel
from .registry import COMPOSITES, Overload, kernels_for, load_family, registering_own

__all__ = ["backend_for", "composite_of", "kernels_of"]


def backend_for(key: int) -> Any:
    """The backend object behind a backend key."""
    backend = BACKENDS.get(key)
    if backend is None:
        if key == META:
            backend = meta
        else:
            with registering_own(), held_back():
                backend = find_backend(device_type_of(key))
        BACKENDS[key] = backend
    return backend


#: (backend key, family) of what backends have loaded: `Backend.load` is called once for each.
_loaded: set[tuple[int, str]] = set()


def kernels_of(overload: Overload, key: int) -> list[Kernel]:
    """A backend's kernels for an operator, its family loaded first."""
    family = overload.family
    if key != META and (key, family) not in _loaded:
        with registering_own(), held_back():
            backend_for(key).load(family)
        _loaded.add((key, family))
    return kernels_for(overload.name, key)


def composite_of(overload: Overload) -> Any:
    """The composite that an operator is declared as, its family loaded first; None where it is none."""
    load_family("mt_core.decomp", overload.family)
    return COMPOSITES.get(overload.name)
