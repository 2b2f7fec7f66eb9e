"""Which kernels an operator has at which dispatch keys: what ``torch._C._dispatch_*`` answer."""

from __future__ import annotations

from mt_core.dispatch import taken_apart
from mt_core.dispatch.lookup import backend_for, composite_of, kernels_of
from mt_core.dispatch.registry import SHAPE_RULES, Overload, load_family
from mt_core.keys import CPU, CUDA, NPU

from .dispatch_keys import ANY_DEVICE, AUTOGRAD_OF_ALL, COMPOSITE, is_device_key
from .registrations import Operator, fallthrough_kernel, find, known_names

__all__ = [
    "dump",
    "has_kernel",
    "is_fallthrough",
    "names_with_kernel_at",
    "operator_named",
    "registered_keys",
    "runs_at",
]

_DEVICES = {"CPU": CPU, "CUDA": CUDA, "NPU": NPU}


def operator_named(name: str) -> Operator:
    """The operator of a name. Raises RuntimeError where there is none."""
    operator = find(name)
    if operator is None:
        raise RuntimeError(f"operator {name} does not exist")
    return operator


def registered_keys(operator: Operator) -> list[str]:
    """The dispatch keys at which an operator has kernels: those of libraries, and the core's own by PyTorch's names."""
    found = [key for key, kernels in operator.kernels.items() if kernels]
    if not operator.defined_here:
        found += _own_keys(operator.overload)
    return list(dict.fromkeys(found))


def _own_keys(overload: Overload) -> list[str]:
    if taken_apart.is_taken_apart(overload):
        return [COMPOSITE]
    found = [name for name, key in _DEVICES.items() if backend_for(key).device_count() and kernels_of(overload, key)]
    if not found:
        composite = composite_of(overload)
        found.append("CPU" if composite is None else ANY_DEVICE)
    load_family("mt_core.shape_rules", overload.family)
    if (
        overload.name in SHAPE_RULES
        or overload.declaration.kind in ("elementwise", "factory")
        or composite_of(overload)
    ):
        found.append("Meta")
    return [*found, AUTOGRAD_OF_ALL]


def has_kernel(name: str, key: str) -> bool:
    """Whether an operator has a kernel at this very key.

    Raises
    ------
    RuntimeError
        For an operator that does not exist.
    """
    return key in registered_keys(operator_named(name))


def runs_at(name: str, key: str) -> bool:
    """Whether a call that comes by a key finds something there: a kernel, or one of an alias of the key."""
    keys = registered_keys(operator_named(name))
    if key in keys or COMPOSITE in keys:
        return True
    if key.startswith(AUTOGRAD_OF_ALL):
        return True  # what has no kernel falls through
    return ANY_DEVICE in keys or key == "Meta" and operator_named(name).fake is not None or not is_device_key(key)


def is_fallthrough(name: str, key: str) -> bool:
    """Whether the kernel at a key is `fallthrough_kernel`."""
    return operator_named(name).kernel(key) is fallthrough_kernel


def dump(name: str) -> str:
    """What is registered for an operator, in words; nothing of one that does not exist."""
    operator = find(name)
    if operator is None:
        return ""
    lines = [f"name: {operator.schema.name}", f"schema: {operator.schema}", "alias analysis kind: FROM_SCHEMA"]
    alias = ("Autograd", COMPOSITE, ANY_DEVICE)
    lines += [f"{key}{'[alias]' if key in alias else ''}: registered" for key in registered_keys(operator)]
    return "\n".join(lines) + "\n"


def names_with_kernel_at(key: str) -> list[str]:
    """The names of all operators that have a kernel at a key."""
    return [name for name in known_names() if has_kernel(name, key)]
