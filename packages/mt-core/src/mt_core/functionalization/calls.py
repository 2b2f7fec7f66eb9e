"""What an operator does to functional tensors: views are kept track of, what writes is computed and noted."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from ..dispatch import executors, taken_apart
from ..dispatch.dispatcher import parts_of
from ..dispatch.dtype_checks import asked_before
from ..dispatch.memory import overlap_guard
from ..dispatch.refused_outs import check_of_outs
from ..dispatch.registry import Overload, find_overload
from ..dispatch.views import link_view
from ..dispatch.writing import check_inplace_result, check_out, out_elsewhere, take_shape, write_result
from ..formats import strided
from ..keys import BACKENDS, CPU, FLAGS, KEY_MASK, WIDTH
from ..return_types import result_type
from ..state import excluding, tls
from ..tensor import Tensor
from ..transforms.wrapped import mapped
from .steps import Step, seen
from .tensors import (
    FunctionalStorage,
    Scope,
    functional,
    is_functional,
    meta_of,
    shape_of,
    take_over,
    unmade,
    viewing,
)

__all__ = ["carried_out", "parts_above", "resized"]

Callee = Callable[..., Any]

#: All keys but those of devices.
_LAYERS = KEY_MASK & (1 << WIDTH) - 1 & ~sum(BACKENDS) & ~FLAGS

#: Operators that write and whose functional form has a name of its own.
_FUNCTIONAL = {
    "bernoulli_.Tensor": "bernoulli.Tensor", "bernoulli_.float": "bernoulli.p", "cauchy_": "cauchy", "copy_": "copy",
    "exponential_": "exponential", "fill_.Scalar": "fill.Scalar", "fill_.Tensor": "fill.Tensor",
    "geometric_": "geometric", "log_normal_": "log_normal", "normal_": "normal_functional", "random_": "random",
    "random_.from": "random.from", "random_.to": "random.to", "rrelu_with_noise": "rrelu_with_noise_functional",
    "uniform_": "uniform", "zero_": "zero",
}  # fmt: skip
#: Operators that write one value everywhere: several indices may reach one element.
_OF_ONE_VALUE = frozenset(("fill_.Scalar", "fill_.Tensor", "zero_"))
#: Views of which a functional tensor makes others.
_INSTEAD = {"_reshape_alias": "view"}


@cache
def parts_above(overload: Overload) -> Callee | None:
    """What carries an operator out that is taken apart before it comes to functional tensors; None of any other."""
    parts = taken_apart.parts_of(overload)
    if parts is None and overload.schema.is_mutable and _functional_of(overload) is None:
        parts = parts_of(overload, tls.mode | CPU)
    return None if parts is None else executors.with_named_results(overload, asked_before(overload, parts))


def _functional_of(overload: Overload) -> Overload | None:
    name = overload.declaration.functional or _FUNCTIONAL.get(overload.name)
    return None if name is None else find_overload(name)


def carried_out(overload: Overload, args: tuple[Any, ...], scope: Scope) -> Any:
    """The result of a call: on functional tensors of a scope, or of what makes tensors out of none.

    Raises
    ------
    RuntimeError
        In PyTorch's words: for operators of libraries that write or make views, and for writing what depends on
        functional tensors to ones that are not.
    """
    schema = overload.schema
    if schema.is_mutable:
        return _written(overload, args, scope)
    if any(result.alias is not None for result in schema.returns):
        return _viewed(overload, args, scope)
    return _computed(overload, args, scope)


# Computing


def _tensors(overload: Overload, args: tuple[Any, ...]) -> list[Tensor]:
    singles = [args[i] for i in overload.tensor_positions]
    lists = [item for i in overload.list_positions for item in args[i] or ()]
    return [tensor for tensor in singles + lists if isinstance(tensor, Tensor)]


def _values(overload: Overload, args: tuple[Any, ...], scope: Scope) -> list[Any]:
    """The arguments as they are below: functional tensors by what they stand for."""
    return mapped(overload, args, lambda tensor: tensor._array.value if is_functional(tensor, scope) else tensor)


def _called_below(overload: Overload, args: tuple[Any, ...], scope: Scope) -> Any:
    values = _values(overload, args, scope)
    with scope.below():
        return overload.call(*values)


def _computed(overload: Overload, args: tuple[Any, ...], scope: Scope) -> Any:
    """What an operator without side effects gives: functional if it was given such, or no tensor at all."""
    tensors = _tensors(overload, args)
    result = _called_below(overload, args, scope)
    if tensors and not any(is_functional(tensor, scope) for tensor in tensors):
        return result
    return _made_functional(result, scope)


def _made_functional(result: Any, scope: Scope) -> Any:
    if isinstance(result, Tensor):
        return functional(result, scope)
    if isinstance(result, (tuple, list)):
        items = [_made_functional(item, scope) for item in result]
        return items if result.__class__ is list else result.__class__(items)
    return result


# Views


def _refuse_of_library(overload: Overload) -> None:
    if "::" in overload.name:
        raise RuntimeError(
            f"Found a custom (non-ATen) operator whose output has alias annotations: {overload.schema}. We "
            "only support functionalizing operators whose outputs do not have alias annotations (e.g. 'Tensor(a)' is a "
            "Tensor with an alias annotation whereas 'Tensor' is a Tensor without. The '(a)' is the alias annotation). "
            "The alias annotation specifies that the output Tensor shares storage with an input that has the same "
            "annotation. Please check if (1) the output needs to be an output (if not, don't return it), (2) if the "
            "output doesn't share storage with any inputs, then delete the alias annotation. (3) if the output indeed "
            "shares storage with an input, then add a .clone() before returning it to prevent storage sharing and "
            "then delete the alias annotation. Otherwise, please file an issue on GitHub."
        )


def _viewed(overload: Overload, args: tuple[Any, ...], scope: Scope) -> Any:
    source = args[0]
    if not is_functional(source, scope):
        found = _called_below(overload, args, scope)
        return functional(found, scope) if overload.name == "lift_fresh" else found
    _refuse_of_library(overload)
    overload = find_overload(_INSTEAD.get(overload.name, overload.name))
    rest = args[1 : len(overload.schema.arguments)]
    return _view_of(source, overload, rest, scope)


def _view_of(source: Tensor, view: Overload, args: tuple[Any, ...], scope: Scope) -> Any:
    plain = meta_of(source)
    likes = view.cache[plain._keys](plain, *args)
    view, args, begins_at_base = _from_base(source, view, args)
    storage = source._array.storage
    if begins_at_base:
        _refuse_beyond(source, likes)
        step = _step(storage, view, args, None, likes, scope)
        with scope.below():
            value = step.forwards(storage.base)
        return _linked(source, likes, value, (step,), scope)
    with_value = source._array._value  # what is out of date gives views that are, and are made again when they are used
    with scope.below():
        values = seen(view, with_value, args, scope.reapplies_views)
    before = source._array.steps
    if not isinstance(likes, (tuple, list)):
        return _linked(source, likes, values, (*before, _step(storage, view, args, None, likes, scope)), scope)
    steps = [_step(storage, view, args, i, like, scope) for i, like in enumerate(likes)]
    made = [
        _linked(source, like, value, (*before, step), scope)
        for like, value, step in zip(likes, values, steps, strict=True)
    ]
    return made if likes.__class__ is list else tuple(made)


def _from_base(source: Tensor, view: Overload, args: tuple[Any, ...]) -> tuple[Overload, tuple[Any, ...], bool]:
    """A view that says its place in memory, as one of the base."""
    if view.name != "as_strided" or source._dtype is not source._array.storage.dtype:
        return view, args, False
    size, stride, offset = args
    offset = source.storage_offset() if offset is None else offset
    return view, (size, stride, offset - source._array.storage.offset), True


def _refuse_beyond(source: Tensor, like: Tensor) -> None:
    """Refuse what is no part of the base: whether it was written to is not known."""
    storage = source._array.storage
    base = storage.meta()._array
    first, end = like._array.offset, like._array.offset + like._array.extent()
    if like.numel() and (first < base.offset or end > base.offset + base.extent()):
        raise RuntimeError(
            "functionalize: as_strided() reaches beyond the elements of the tensor that the function was given or made"
        )


def _step(
    storage: FunctionalStorage, view: Overload, args: tuple[Any, ...], index: int | None, like: Tensor, scope: Scope
) -> Step:
    spot = (tuple(like.shape), like.stride(), like.storage_offset() - storage.offset)
    return Step(view, args, index, spot, scope.reapplies_views)


def _linked(source: Tensor, like: Tensor, value: Tensor, steps: tuple[Step, ...], scope: Scope) -> Tensor:
    return link_view(viewing(source, like, value, steps, scope), source)


# Writing


def _written(overload: Overload, args: tuple[Any, ...], scope: Scope) -> Any:
    positions = [i for i, argument in enumerate(overload.schema.arguments) if argument.writes]
    targets = [t for i in positions for t in (args[i] if isinstance(args[i], (list, tuple)) else [args[i]])]
    targets = [target for target in targets if isinstance(target, Tensor)]
    if not all(is_functional(target, scope) for target in targets):
        return _written_outside(overload, args, scope)
    if scope.clones_for_libraries and "::" in overload.name and not any(r.alias for r in overload.schema.returns):
        return _written_by_library(overload, args, positions, scope)
    _refuse_of_library(overload)
    form = _functional_of(overload)
    if form is None:
        raise NotImplementedError(f"functionalize: {overload.qualified_name} writes, and has no form that does not")
    if overload.declaration.kind == "view":
        return _relaid_in_place(args[0], form, args[1:], scope)
    is_out = overload.declaration.form == "out"
    given = [value for i, value in enumerate(args) if not (is_out and i in positions)]
    results = _called_as_parts(form, tuple(given[: len(form.schema.arguments)]), scope)
    found = list(results) if isinstance(results, (tuple, list)) else [results]
    returned, found = found[: len(found) - len(targets)], found[len(found) - len(targets) :]
    for at, (target, result) in enumerate(zip(targets, found, strict=True)):
        if is_out:
            _put_out(overload, positions[min(at, len(positions) - 1)], target, result, args[0], scope)
        else:
            if overload.name not in _OF_ONE_VALUE:
                overlap_guard(overload.declaration)(target)
            check_inplace_result(target, result.shape, result._dtype, bool(form.declaration.exact_out))
            _put(target, result, scope)
    return _made_functional(returned[0], scope) if returned else _handed_over(overload, args, positions)


def _written_by_library(overload: Overload, args: tuple[Any, ...], positions: list[int], scope: Scope) -> Any:
    """A library's operator writes to clones, of which the functional tensors take the values."""
    values = _values(overload, args, scope)
    with scope.below():
        for i in positions:
            given = values[i]
            is_list = isinstance(given, (list, tuple))
            values[i] = [_cloned(t) for t in given] if is_list else _cloned(given)
        result = overload.call(*values)
    for i in positions:
        targets, written = (args[i], values[i]) if isinstance(args[i], (list, tuple)) else ([args[i]], [values[i]])
        for target, value in zip(targets, written, strict=True):
            if target is not None:
                _put(target, value, scope)
    return _made_functional(result, scope)


def _cloned(value: Tensor | None) -> Any:
    return None if value is None else find_overload("clone").call(value, None)


def _called_as_parts(form: Overload, args: tuple[Any, ...], scope: Scope) -> Any:
    """The results below, of an operator or of the operators that it is taken apart into."""
    if parts_above(form) is None:
        return _called_below(form, args, scope)
    with scope.again():
        results = form.call(*args)
    return _value_of(results, scope)


def _value_of(result: Any, scope: Scope) -> Any:
    if isinstance(result, (tuple, list)):
        return [_value_of(item, scope) for item in result]
    return result._array.value if is_functional(result, scope) else result


def _written_outside(overload: Overload, args: tuple[Any, ...], scope: Scope) -> Any:
    """A write to what is no functional tensor: let through where nothing else is one."""
    if any(is_functional(tensor, scope) for tensor in _tensors(overload, args)):
        raise RuntimeError(
            "mutating a non-functional tensor with a functional tensor is not allowed. Please ensure that all of your "
            "inputs are wrapped inside of a functionalize() call."
        )
    return _called_below(overload, args, scope)


def _handed_over(overload: Overload, args: tuple[Any, ...], positions: list[int]) -> Any:
    returns = len(overload.schema.returns)
    if not returns:
        return None
    if returns == 1:
        return args[positions[0]]
    return result_type(overload.declaration)([args[i] for i in positions])


def _put(target: Tensor, result: Tensor, scope: Scope) -> None:
    """Let a functional tensor, and all that share its memory, be what was computed."""
    array = target._array
    with scope.below():
        if result._dtype is not target._dtype:
            cast = find_overload("_to_copy")
            result = cast.call(result, target._dtype, strided, None, None, False, None)
        array.storage.write(array.steps, result)
        array.renew()
    _count(target)


def _count(target: Tensor) -> None:
    take_over(target, target._array, target)


def _put_out(overload: Overload, position: int, out: Tensor, result: Tensor, first: Any, scope: Scope) -> None:
    """`_put` for an ``out=`` argument, which may get another shape, with the refusals of ``out=``."""
    if out.device != result.device:
        raise out_elsewhere(out, result)
    fitted = meta_of(out)
    with excluding(_LAYERS):
        _fit(overload, position, fitted, unmade(result), first)
    if fitted.shape != out.shape:
        with scope.below():
            _exchange_base(out, fitted, result if result._dtype is out._dtype else result.to(out._dtype), scope)
    else:
        _put(out, result, scope)


def _fit(overload: Overload, position: int, out: Tensor, result: Tensor, first: Any) -> None:
    """Do to an ``out`` without data what writing a result does to one, refusals included."""
    check = check_of_outs(overload)
    if check is not None:
        check(position, out, result._dtype, first)
    check_out(out, result)
    if overload.declaration.kind == "factory":
        take_shape(out, tuple(result.shape))
    write_result(out, result, overload.declaration.kind == "elementwise")


def _exchange_base(tensor: Tensor, like: Tensor, value: Tensor, scope: Scope) -> None:
    """Let a functional tensor have another shape and other memory."""
    array = tensor._array
    if array.steps or array.storage.is_viewed:
        raise RuntimeError(
            "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass"
        )
    if array.storage.is_frozen:
        raise RuntimeError("cannot mutate tensors with frozen storage")
    fresh = shape_of(value, array.device, scope)._array
    array.storage.adopt(value)
    fresh._value, fresh.storage, fresh.steps = value, array.storage, ()
    fresh.generation, fresh.has_other_layout = array.storage.generation, True
    take_over(tensor, fresh, value)


def _relaid_in_place(tensor: Tensor, view: Overload, args: tuple[Any, ...], scope: Scope) -> Tensor:
    """A view in place: the tensor is another window of its memory from then on."""
    become(tensor, _view_of(tensor, view, args, scope))
    return tensor


def become(tensor: Tensor, other: Tensor) -> None:
    """Let a functional tensor be the view that another is."""
    other._array.has_other_layout = True
    take_over(tensor, other._array, other)


def resized(tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], scope: Scope) -> Tensor:
    """``resize_``: a window of the memory that there is, or other memory that begins with the same elements.

    Raises
    ------
    RuntimeError
        In PyTorch's words, for views that are to grow.
    """
    needed = tensor.storage_offset() + math.prod(shape)
    if needed * tensor._dtype.itemsize <= tensor._array.storage.meta()._array.nbytes_owned:
        become(tensor, _view_of(tensor, find_overload("as_strided"), (shape, strides, None), scope))
        return tensor
    value = tensor._array.value
    with scope.below():
        grown = find_overload("resize").call(value, shape, None)
        _exchange_base(tensor, grown, grown, scope)
    return tensor
