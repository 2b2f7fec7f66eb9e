"""Calls that agree in shapes, dtypes and plain arguments are planned once.

The shape rule of an operator, the choice of a kernel and the layout of the result depend on a call's description alone:
on shapes, strides and dtypes of tensors, and on the other arguments. What they say is kept, per executor, under that
description; from the second call on, one dict lookup stands in for them. Results are never kept, and a rule that raises
is asked again each time.

The executors here differ only in how many arguments they take and which of them are tensors, so they are made from one
template, one for each such pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..state import nested
from ..tensor import new_tensor
from .registry import Overload
from .views import contiguity_of

__all__ = ["checked_once", "planned", "unplanned"]

Callee = Callable[..., Any]

#: An executor forgets its plans when it has so many: shapes that change with every call must not fill the memory.
MOST = 512

#: Kind of argument -> how a call describes it, how the kernel gets it. Numbers whose class decides a dtype are
#: described with it, for 1, 1.0 and True are equal.
_KINDS = {
    "tensor": ("{0}._array.shape, {0}._dtype", "{0}._array"),
    "strided": ("{0}._array.shape, {0}._dtype, {0}._array.strides", "{0}._array"),
    "optional": ("None if {0} is None else ({0}._array.shape, {0}._dtype)", "None if {0} is None else {0}._array"),
    "optional strided": (
        "None if {0} is None else ({0}._array.shape, {0}._dtype, {0}._array.strides)",
        "None if {0} is None else {0}._array",
    ),
    "number or tensor": ("describe({0})", "array_of({0})"),
    "list": ("describe({0})", "array_of({0})"),
    "number": ("{0}.__class__, {0}", "{0}"),
    "plain": ("{0}", "{0}"),
}

_TEMPLATE = """
def make(prepare, plans, describe, array_of, keep, nested, is_contiguous, new_tensor, keys):
    def run({arguments}):
        description = ({description},)
        try:
            call = plans.get(description)
        except TypeError:  # not hashable: a list in place of a tuple, from a composite or a formula
            call = prepare.plan(({arguments},))
        if call is None:
            call = keep(plans, description, prepare.plan(({arguments},)))
{carry_out}
    return run
"""

_CHECKED = """
def make(rule, seen, describe, remember):
    def check({arguments}):
        description = ({description},)
        try:
            if description in seen:
                return
        except TypeError:  # as above
            return rule({arguments})
        rule({arguments})
        remember(seen, description)
    return check
"""

_UNPLANNED = """
def make(prepare, array_of, nested, is_contiguous, new_tensor, keys):
    def run({arguments}):
        call = prepare.plan(({arguments},))
{carry_out}
    return run
"""

_CARRY_OUT = """
        if call.otherwise is not None:
            return call.otherwise({arguments})
        try:
            value = call.runner.run_kernel(call.function, {arrays})
        except RuntimeError as error:
            value = nested(error, call.function, {arrays})
        if value.__class__ is call.array_type and value.dtype is call.stored and is_contiguous(value):
            return new_tensor(value, call.dtype, keys)
        return call.finish(value)
"""


@cache
def _maker(template: str, kinds: tuple[str, ...]) -> Callee:
    """The function of a template that makes executors for arguments of these kinds."""
    names = [f"a{i}" for i in range(len(kinds))]
    arguments = ", ".join(names)
    arrays = ", ".join(_KINDS[kind][1].format(name) for kind, name in zip(kinds, names, strict=True))
    source = template.format(
        arguments=arguments,
        description=", ".join(_KINDS[kind][0].format(name) for kind, name in zip(kinds, names, strict=True)),
        carry_out=_CARRY_OUT.format(arguments=arguments, arrays=arrays),
    )
    space: dict[str, Any] = {}
    exec(compile(source, f"<executor of {', '.join(kinds) or 'nothing'}>", "exec"), space)  # noqa: S102 - our template
    return space["make"]


def planned(overload: Overload, prepare: Any, strided: bool) -> Callee:
    """The executor of an operator that makes new tensors, with plans.

    Parameters
    ----------
    prepare
        `mt_core.dispatch.executors.Preparation`.
    strided
        Whether a tensor may be other than row-major; strides then belong to the description.
    """
    kinds = tuple(_kind(argument, overload, strided) for argument in overload.schema.arguments)
    describe = _description_with_strides if strided else _description
    return _maker(_TEMPLATE, kinds)(prepare, {}, describe, _array_of, _keep, *_ends(prepare))


def checked_once(overload: Overload, rule: Callee) -> Callee:
    """The checks of an operator that writes into arguments, made once for calls that agree in their description."""
    kinds = tuple(_kind(argument, overload, True) for argument in overload.schema.arguments)
    return _maker(_CHECKED, kinds)(rule, set(), _description_with_strides, _remember)


def unplanned(overload: Overload, prepare: Any) -> Callee:
    """The executor of an operator whose shape rule reads elements: every call is planned anew."""
    kinds = tuple(_kind(argument, overload, True) for argument in overload.schema.arguments)
    return _maker(_UNPLANNED, kinds)(prepare, _array_of, *_ends(prepare))


def _ends(prepare: Any) -> tuple[Any, ...]:
    """What executors end with: a plain result becomes a tensor at once."""
    return nested, contiguity_of(prepare.backend), new_tensor, prepare.keys


def _kind(argument: Any, overload: Overload, strided: bool) -> str:
    if argument.is_tensor:
        if argument.is_list:
            return "list"
        if argument.name in overload.declaration.numbers or any(
            argument.name in names.split() for names in overload.declaration.number_signatures
        ):
            return "number or tensor"
        if argument.optional:
            return "optional strided" if strided else "optional"
        return "strided" if strided else "tensor"
    return "number" if argument.type == "Scalar" and not argument.is_list else "plain"


def _description(value: Any) -> Any:
    array = getattr(value, "_array", None)
    if array is not None:
        return array.shape, value._dtype
    if value.__class__ is list or value.__class__ is tuple:
        return tuple([_description(item) for item in value])
    return value.__class__, value


def _description_with_strides(value: Any) -> Any:
    array = getattr(value, "_array", None)
    if array is not None:
        return array.shape, value._dtype, array.strides
    if value.__class__ is list or value.__class__ is tuple:
        return tuple([_description_with_strides(item) for item in value])
    return value.__class__, value


def _array_of(value: Any) -> Any:
    if value.__class__ is list or value.__class__ is tuple:
        return [_array_of(item) for item in value]
    return getattr(value, "_array", value)


def _remember(seen: set[Any], description: Any) -> None:
    if len(seen) >= MOST:
        seen.clear()
    seen.add(description)


def _keep(plans: dict[Any, Any], description: Any, call: Any) -> Any:
    if len(plans) >= MOST:
        plans.clear()
    plans[description] = call
    return call
