"""Which operators a device can carry out, how, and from which distribution: ``mindtorch info --operators``.

It asks the tables of `mt_core.dispatch.registry`, in the order in which the dispatcher does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..devices import backend_key
from ..dispatch.composed import standing_in
from ..dispatch.lookup import backend_for, kernels_of
from ..dispatch.registry import (
    COMPOSITES,
    CONTRACT_KERNELS,
    DECLARATIONS,
    INTERCEPTORS,
    PACKETS,
    SHAPE_RULES,
    find_overload,
    load_family,
)
from ..keys import META, PRIVATE_TYPES
from .discovery import backend_entry_points, entry_points_of

__all__ = ["STATES", "Coverage", "coverage"]

#: How an operator is carried out: by a kernel of the backend, by one over the backend's contract, by other operators,
#: by another form of itself; or not at all.
STATES = ("native", "contract", "composite", "derived", "missing")
_CORE = "mt-core"
_MISSING = ("missing", "")


class Coverage(NamedTuple):
    """One of `STATES`, and the distribution that the code is from (empty where it is missing)."""

    state: str
    distribution: str


def coverage(device_type: str) -> dict[str, Coverage]:
    """Overload -> how a device carries it out, for every operator that is declared in this process, sorted by name.

    Raises
    ------
    PluginError
        When there is no backend for the device type.
    """
    key = backend_key(device_type)
    backend_for(key)  # its absence is an error, whatever is asked of it
    for family in sorted({packet.family for packet in PACKETS.values()}):
        for rooms in ("declarations", "shape_rules", "contract_kernels", "decomp"):
            load_family(f"mt_core.{rooms}", family)
    table = _Table(key, _backend_distribution(device_type))
    return {name: Coverage(*table.of(name)) for name in sorted(DECLARATIONS)}


def _backend_distribution(device_type: str) -> str:
    points = backend_entry_points().get(device_type)
    return points[0].distribution if points else _CORE if device_type == "meta" else "this process"


class _Table:
    """The answers for one backend key; `of` is asked again for the functional form of derived operators."""

    def __init__(self, key: int, distribution: str) -> None:
        self.key = key
        self.distribution = distribution

    def of(self, name: str) -> tuple[str, str]:
        """(state, distribution) of an operator."""
        for function in (*self._handlers(name), *self._kernels(name)):
            return "native", distribution_of_function(function, self.distribution)
        if name in CONTRACT_KERNELS:
            return "contract", distribution_of_function(CONTRACT_KERNELS[name], _CORE)
        if name in COMPOSITES and not self._asks_rule_alone(name):
            return "composite", distribution_of_function(COMPOSITES[name].function, _CORE)
        return self._derived(name) or self._without_kernel(name)

    def _asks_rule_alone(self, name: str) -> bool:
        """The meta device needs no composite where there is a rule."""
        return self.key == META and standing_in(find_overload(name)) is not None

    def _handlers(self, name: str) -> Iterator[Callable[..., Any]]:
        """The function that ``torch.library`` has for an operator on the device, if there is one."""
        for slot in dict.fromkeys((self.key, self.key & ~PRIVATE_TYPES)):  # third parties share one
            build = INTERCEPTORS.get(slot, {}).get(name)
            try:
                found = build(self.key) if build is not None else None
            except NotImplementedError:  # its way to say that there is none
                continue
            if found is not None:
                yield found

    def _kernels(self, name: str) -> list[Callable[..., Any]]:
        """The functions that are registered for an operator on the device, the first to be asked first."""
        return [kernel.function for kernel in kernels_of(find_overload(name), self.key)]

    def _derived(self, name: str) -> tuple[str, str] | None:
        declaration = DECLARATIONS[name]
        if declaration.form in ("inplace", "out") and declaration.functional is not None:
            found = self.of(declaration.functional)
            return _MISSING if found == _MISSING else ("derived", _CORE)
        if declaration.inplace is not None and self._kernels(declaration.inplace):
            return "derived", _CORE
        return None

    def _without_kernel(self, name: str) -> tuple[str, str]:
        """Views, and whatever the meta device does, need a shape rule only."""
        kind = DECLARATIONS[name].kind
        if name in SHAPE_RULES and (kind == "view" or self.key == META) or kind == "elementwise" and self.key == META:
            return "contract", _CORE
        return _MISSING


def distribution_of_function(function: Callable[..., Any], otherwise: str) -> str:
    """The distribution that the module of a function belongs to; `otherwise` where that takes no part in mindtorch.

    A kernel may be a function of NumPy, which a backend has registered.
    """
    written = inspect.unwrap(getattr(function, "func", function))
    module = getattr(written, "__module__", None) or type(function).__module__
    return _distributions().get(module.partition(".")[0], otherwise)


@functools.cache
def _distributions() -> dict[str, str]:
    """Import name -> distribution, of those that take part."""
    groups = ("mindtorch.backends", "mindtorch.layers", "mindtorch.extensions", "mindtorch.torch_names")
    points = [point for group in groups for point in entry_points_of(group)]
    return {"mt_core": _CORE, **{point.module.partition(".")[0]: point.distribution for point in points}}
