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
from ..tensor import Tensor
from .registry import Overload
from .views import contiguity_of

__all__ = [
    "Call", "arranged", "changes", "checked_once", "choosing", "kinds_of", "leading", "planned", "planned_by_backend",
    "unplanned",
]  # fmt: skip

Callee = Callable[..., Any]

#: An executor forgets its plans when it has so many: shapes that change with every call must not fill the memory.
MOST = 512

#: A backend's own executors take so many arguments; operators with more are rare.
_MOST_ARGUMENTS = 16

#: Kind of argument -> how a call describes it, and what of it may change while the description stays (None: nothing,
#: the plan keeps it). Numbers whose class decides a dtype are described with it, for 1, 1.0 and True are equal; floats
#: are handed over as they are given, for -0.0 and 0.0 are equal, too.
_KINDS = {
    "tensor": ("{0}._array.shape, {0}._dtype", "{0}._array"),
    "strided": ("{0}._array.shape, {0}._dtype, {0}._array.strides", "{0}._array"),
    "optional": ("None if {0} is None else ({0}._array.shape, {0}._dtype)", "None if {0} is None else {0}._array"),
    "optional strided": (
        "None if {0} is None else ({0}._array.shape, {0}._dtype, {0}._array.strides)",
        "None if {0} is None else {0}._array",
    ),
    "number or tensor": ("describe({0})", "array_of({0})"),
    "tensors": ("tuple([(t._array.shape, t._dtype) for t in {0}])", "[t._array for t in {0}]"),
    "strided tensors": (
        "tuple([(t._array.shape, t._dtype, t._array.strides) for t in {0}])", "[t._array for t in {0}]",
    ),
    "optional tensors": ("describe({0})", "array_of({0})"),
    "number": ("{0}.__class__, {0}", "{0}"),
    "numbers": ("describe({0})", "{0}"),
    "float": ("{0}", "{0}"),
    "plain": ("{0}", None),
}  # fmt: skip

_TEMPLATE = """
def make(prepare, plans, describe, array_of, keep, nested, backend, is_contiguous, new_object, Tensor, keys):
    array_type, as_array = backend.array_type, backend.as_array
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
def make(prepare, array_of, nested, backend, is_contiguous, new_object, Tensor, keys):
    array_type, as_array = backend.array_type, backend.as_array
    def run({arguments}):
        call = prepare.plan(({arguments},))
{carry_out}
    return run
"""

#: What `new_tensor` does is written out: a call costs as much as it.
_CARRY_OUT = """
        if call.otherwise is not None:
            return call.otherwise({arguments})
{unpack}
        try:
            value = call.runner.run_kernel(call.function, {arrays})
        except (RuntimeError, MemoryError) as error:
            value = nested(error, call.function, {arrays})
        stored = call.stored
        if stored is None:
            return call.finish(value)
        if value.__class__ is not array_type:
            value = as_array(value)
        if value.dtype is not stored or not is_contiguous(value):
            return call.finish(value)
        made = new_object(Tensor)
        made._array = value
        made._dtype = call.dtype
        made._keys = keys
        made._autograd = made._cell = made._base = None
        return made
"""


class Call:
    """How calls that agree in everything but elements are carried out.

    Attributes
    ----------
    function, runner
        What takes the schema's arguments in order, with arrays in place of tensors, and what runs it
        (`mt_core.dispatch.kernel.runner_for`).
    between, rest
        The arguments that are the same in all these calls: those that stand between tensors and numbers, and those
        after the last of them.
    finish
        Makes tensors of what the function returns.
    stored, dtype
        Of a single row-major result: arrays of this NumPy dtype need no finishing.
    several, handed_over
        The same of several results, a pair for each, None for one that is not wanted; and what makes of a list of
        tensors what the operator returns.
    otherwise
        Where no kernel accepts the call: what takes its arguments as they are. The others are None then.
    """

    __slots__ = (
        "function", "runner", "between", "rest", "finish", "stored", "dtype", "several", "handed_over", "otherwise",
    )  # fmt: skip

    def __init__(
        self, function: Callee | None, runner: Any, finish: Callee | None, otherwise: Callee | None = None,
        between: tuple[Any, ...] = (), rest: tuple[Any, ...] = (),
    ) -> None:  # fmt: skip
        self.function = function
        self.runner = runner
        self.between = between
        self.rest = rest
        self.finish = finish
        self.otherwise = otherwise
        self.stored: Any = None
        self.dtype: Any = None
        self.several: tuple[Any, ...] | None = None
        self.handed_over: Any = None


@cache
def _maker(template: str, kinds: tuple[str, ...]) -> Callee:
    """The function of a template that makes executors for arguments of these kinds."""
    names = [f"a{i}" for i in range(len(kinds))]
    arguments = ", ".join(names)
    lead = leading(kinds)
    kept = [name for name, kind in zip(names[:lead], kinds, strict=False) if not changes(kind)]
    given = [(_KINDS[kind][1] or "{0}").format(name) for name, kind in zip(names[:lead], kinds, strict=False)]
    source = template.format(
        arguments=arguments,
        description=", ".join(_KINDS[kind][0].format(name) for kind, name in zip(kinds, names, strict=True)),
        carry_out=_CARRY_OUT.format(
            arguments=arguments,
            unpack=f"        {', '.join(kept)}, = call.between" if kept else "",
            arrays=", ".join([*given, "*call.rest"]),
        ),
    )
    space: dict[str, Any] = {}
    exec(compile(source, f"<executor of {', '.join(kinds) or 'nothing'}>", "exec"), space)  # noqa: S102 - our template
    return space["make"]


def changes(kind: str) -> bool:
    """Whether an argument of a kind may change from call to call while the description stays."""
    return _KINDS[kind][1] is not None


def leading(kinds: tuple[str, ...]) -> int:
    """How many arguments there are up to the last one that changes from call to call; a plan keeps those after it."""
    return max((i + 1 for i, kind in enumerate(kinds) if changes(kind)), default=0)


@cache
def choosing(count: int, kept: tuple[int, ...]) -> Callee:
    """``choose(function)``: a function of `count` arguments, and any after them, that hands some of them on."""
    arguments = [f"a{i}" for i in range(count)]
    chosen = ", ".join([*(arguments[i] for i in kept), "*rest"])
    space: dict[str, Any] = {}
    source = f"def choose(function):\n    return lambda {', '.join([*arguments, '*rest'])}: function({chosen})"
    exec(compile(source, f"<{len(kept)} of {count} arguments>", "exec"), space)  # noqa: S102 - our template
    return space["choose"]


def kinds_of(overload: Overload, strided: bool) -> tuple[str, ...]:
    """The kind of each argument, a key of `_KINDS`; `strided` where a tensor may be other than row-major."""
    return tuple(_kind(argument, overload, strided) for argument in overload.schema.arguments)


def planned(overload: Overload, prepare: Any, strided: bool) -> Callee:
    """The executor of an operator that makes new tensors, with plans.

    Parameters
    ----------
    prepare
        `mt_core.dispatch.executors.Preparation`.
    strided
        Whether a tensor may be other than row-major; strides then belong to the description.
    """
    kinds = kinds_of(overload, strided)
    describe = _description_with_strides if strided else _description
    run = _maker(_TEMPLATE, kinds)(prepare, {}, describe, _array_of, _keep, *_ends(prepare))
    return planned_by_backend(overload, prepare, run, strided=strided)


def planned_by_backend(
    overload: Overload, prepare: Any, otherwise: Callee, *, strided: bool, writes: bool = False
) -> Callee:
    """The backend's own executor of calls with plans before another, where it has one.

    Parameters
    ----------
    prepare
        `backend`; `keys`, of the result; and ``plan(args)``, which makes the `Call`.
    strided
        Whether a tensor may be other than row-major; strides then belong to the description.
    writes
        Whether the first argument is written to: calls are taken then in which no other tensor shares memory with it.
    """
    kinds, backend = kinds_of(overload, strided), prepare.backend
    executors = getattr(backend, "executors", None)
    if executors is None or "numbers" in kinds or len(kinds) > _MOST_ARGUMENTS:
        return otherwise
    return executors.planned(  # type: ignore[no-any-return]
        otherwise, prepare.plan, prepare.keys, backend.as_array, kinds, leading(kinds), strided, writes
    )


def arranged(
    overload: Overload, kinds: tuple[str, ...], dropped: frozenset[str], function: Callee, args: tuple[Any, ...]
) -> tuple[Callee, tuple[Any, ...], tuple[Any, ...]]:
    """(function, `Call.between`, `Call.rest`) of a function that does not get the arguments named in `dropped`."""
    lead = leading(kinds)
    kept = [i for i, a in enumerate(overload.schema.arguments) if a.name not in dropped]
    kept_leading = tuple(i for i in kept if i < lead)
    if len(kept_leading) < lead:
        function = choosing(lead, kept_leading)(function)
    between = tuple(args[i] for i in range(lead) if not changes(kinds[i]))
    return function, between, tuple(args[i] for i in kept if i >= lead)


def checked_once(overload: Overload, rule: Callee) -> Callee:
    """The checks of an operator that writes into arguments, made once for calls that agree in their description."""
    kinds = kinds_of(overload, True)
    return _maker(_CHECKED, kinds)(rule, set(), _description_with_strides, _remember)


def unplanned(overload: Overload, prepare: Any) -> Callee:
    """The executor of an operator whose shape rule reads elements: every call is planned anew."""
    kinds = kinds_of(overload, True)
    return _maker(_UNPLANNED, kinds)(prepare, _array_of, *_ends(prepare))


def _ends(prepare: Any) -> tuple[Any, ...]:
    """What executors end with: a plain result becomes a tensor at once."""
    return nested, prepare.backend, contiguity_of(prepare.backend), object.__new__, Tensor, prepare.keys


def _kind(argument: Any, overload: Overload, strided: bool) -> str:
    if argument.is_tensor:
        if argument.is_list:
            if argument.optional or argument.optional_items:
                return "optional tensors"
            return "strided tensors" if strided else "tensors"
        if argument.name in overload.declaration.take_numbers:
            return "number or tensor"
        if argument.optional:
            return "optional strided" if strided else "optional"
        return "strided" if strided else "tensor"
    if argument.type == "Scalar":
        return "numbers" if argument.is_list else "number"
    return "float" if argument.type == "float" else "plain"


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
