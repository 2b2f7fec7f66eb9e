"""The reflective walk over all operators: which of their rooms are empty."""

from __future__ import annotations

import importlib

from ..dispatch.lookup import kernels_of
from ..dispatch.registry import (
    COMPOSITES,
    CONTRACT_KERNELS,
    DECLARATIONS,
    SHAPE_RULES,
    Overload,
    find_overload,
    load_family,
)
from ..keys import CPU
from ..tensor import Tensor
from .arguments import Arguments, samples_on
from .sample import declared_operators, sample_functions

__all__ = ["constant_arguments", "empty_slots"]


def empty_slots() -> dict[str, list[str]]:
    """Slot -> operators for which nothing fills it.

    ``shape``: shapes are known from nothing but a kernel. ``cpu``: nothing calculates it. ``derivative``: it returns
    floating point, and has neither a formula nor the mark that it is not differentiable. ``samples``: no sample inputs.
    ``doc``: Python sees it, and nothing describes it.
    """
    found: dict[str, list[str]] = {slot: [] for slot in _SLOTS}
    for overload in declared_operators():
        if "::" in overload.name:  # a program's own, which says itself what it has
            continue
        for room in ("shape_rules", "contract_kernels", "decomp"):
            load_family(f"mt_core.{room}", overload.family)
        for slot, filled in _SLOTS.items():
            if not filled(overload):
                found[slot].append(overload.name)
    return found


def _is_derived(overload: Overload) -> bool:
    """In-place and out= forms follow from their functional form."""
    return overload.declaration.functional is not None


def _is_written_in_others(overload: Overload) -> bool:
    return overload.name in COMPOSITES


def _has_shapes(overload: Overload) -> bool:
    return (
        overload.declaration.kind == "elementwise" or _is_written_in_others(overload) or overload.name in SHAPE_RULES
        or overload.name in CONTRACT_KERNELS or _is_derived(overload)
    )  # fmt: skip


def _has_cpu_path(overload: Overload) -> bool:
    declaration = overload.declaration
    if kernels_of(overload, CPU) or overload.name in CONTRACT_KERNELS or _is_written_in_others(overload):
        return True
    if declaration.kind == "view" and overload.name in SHAPE_RULES or _is_derived(overload):
        return True
    return declaration.inplace is not None and bool(kernels_of(find_overload(declaration.inplace), CPU))


def _has_derivative(overload: Overload) -> bool:
    """Implicit composites follow from their parts, derived forms from the functional one."""
    composite = COMPOSITES.get(overload.name)
    if (
        composite is not None
        and not composite.explicit
        or _is_derived(overload)
        or overload.declaration.kind == "factory"
    ):
        return True
    if not any(r.type == "Tensor" for r in overload.schema.returns):
        return True
    rules = importlib.import_module("mt_autograd.rules")  # upward: what is differentiable, only autograd knows
    return rules.find_rule(overload) is not None


def _has_doc(overload: Overload) -> bool:
    """One description for all overloads of a name is enough."""
    declaration = overload.declaration
    if not declaration.variants or _is_derived(overload) or overload.packet_name.startswith("_"):
        return True
    prefix = overload.packet_name + "."
    return any(d.doc for name, d in DECLARATIONS.items() if f"{name}.".startswith(prefix))


_SLOTS = {
    "shape": _has_shapes,
    "cpu": _has_cpu_path,
    "derivative": _has_derivative,
    "samples": lambda overload: bool(sample_functions(overload)),
    "doc": _has_doc,
}


#: Arguments that say where and how memory is made; the exam of a device gives them by its device.
_PLACES = frozenset({"device", "layout", "pin_memory", "generator"})


def constant_arguments() -> dict[str, list[str]]:
    """Operator -> arguments, other than tensors it must have, that all of its samples give one value.

    What ignores such an argument passes the exam. Operators without samples are told of by `empty_slots`.
    """
    found = {}
    for overload in declared_operators():
        if overload.declaration.form == "functional" and sample_functions(overload):
            constant = _constant_arguments(overload)
            if constant:
                found[overload.name] = constant
    return found


def _constant_arguments(overload: Overload) -> list[str]:
    arguments = overload.schema.arguments
    calls = [Arguments(overload, sample).bound for sample in samples_on(overload, "cpu")]
    values = dict(zip((a.name for a in arguments), zip(*calls, strict=True), strict=False))
    settings = [a for a in arguments if a.name not in _PLACES and (a.optional or not a.is_tensor)]
    return [a.name for a in settings if len({_word(v) for v in values.get(a.name, ())}) < 2]


def _word(value: object) -> str:
    """What tells two values of an argument apart; tensors only by being there."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_word, value))}]"
    return "tensor" if isinstance(value, Tensor) else repr(value)
