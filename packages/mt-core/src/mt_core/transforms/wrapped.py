"""The wrappers that a level of ``torch.func.grad`` or ``jvp`` puts around tensors.

A wrapper has a history, or a tangent, of its own: what a level records of it does not show in what it wraps. Below the
level's recording the layer of `TRANSFORMED` takes the wrappers off, goes on to the next level outwards, and wraps what
comes back.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from ..cell import cell_of
from ..dispatch.registry import Overload
from ..dispatch.views import link_view
from ..hollow import ShadowArray, shadow
from ..keys import OF_TRANSFORM, STRIDED, TRANSFORMED
from ..plugins.protocols import CONTRACT
from ..tensor import Tensor
from .interpreters import Interpreter, depth_of, innermost, outside

__all__ = ["TransformedLayer", "WrappedArray", "alive", "is_at", "lifted", "mapped", "unwrapped", "wrapped"]


class WrappedArray(ShadowArray):
    """What a wrapper has in place of memory: the tensor that it wraps, and the level that did."""

    __slots__ = ("level",)

    level: Interpreter
    #: Whether such a tensor is its value, once the level has ended.
    stands_for_value = True

    def elements_for(self, use: str) -> Tensor:
        return super().elements_for(use) if use == "memory" else self.value

    def text(self) -> str:
        return f"GradTrackingTensor(lvl={depth_of(self.level)}, value=\n{textwrap.indent(repr(self.value), '    ')}\n)"


def wrapped(value: Tensor, level: Interpreter) -> Tensor:
    """A wrapper of a level around a tensor, with the same layout and without history."""
    array = value._array
    strides = array.strides
    if 0 in array.shape:
        strides = tuple([step * array.itemsize for step in value.stride()])
    made: Tensor = shadow(WrappedArray, value, array.shape, strides, TRANSFORMED | OF_TRANSFORM | value._keys & STRIDED)
    made._array.level = level  # type: ignore[attr-defined]
    return made


def is_at(tensor: Any, level: Interpreter) -> bool:
    """Whether a tensor is a wrapper of a level."""
    array = getattr(tensor, "_array", None)
    return array.__class__ is WrappedArray and array.level is level


def lifted(tensor: Tensor, level: Interpreter) -> Tensor:
    """A tensor inside of a level: the wrapper that it is, or a new one."""
    tensor = alive(tensor)
    return tensor if is_at(tensor, level) else wrapped(tensor, level)


def unwrapped(tensor: Any, level: Interpreter) -> Any:
    """What a level's wrapper wraps; anything else as it is, wrappers of ended levels aside."""
    tensor = alive(tensor)
    return tensor._array.value if is_at(tensor, level) else tensor


def alive(tensor: Any) -> Any:
    """What a tensor stands for, once the levels that wrapped it have ended."""
    array: Any = getattr(tensor, "_array", None)
    while getattr(array, "stands_for_value", False) and not array.level.is_alive:
        tensor = array.value
        array = tensor._array
    return tensor


def _refresh(wrapper: Tensor) -> None:
    """Give a wrapper the layout that its insides have got."""
    value = wrapper._array.value
    fresh = wrapped(value, wrapper._array.level)
    wrapper._array, wrapper._dtype = fresh._array, fresh._dtype


class TransformedLayer:
    """The layer of `TRANSFORMED`: what a level has recorded goes on without its wrappers."""

    contract = CONTRACT
    dispatch_key = "TRANSFORMED"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Any]) -> Callable[..., Any]:
        written = [i for i, argument in enumerate(overload.schema.arguments) if argument.writes]
        is_view = not written and any(result.alias is not None for result in overload.schema.returns)
        singles, lists = overload.tensor_positions, overload.list_positions

        def run(*args: Any) -> Any:
            level = innermost()
            assert level is not None  # a tensor that has outlived its level does not come here
            inner = mapped(overload, args, lambda tensor: unwrapped(tensor, level))
            with outside():
                result = overload.call(*inner)
            known = _pairs(inner, args, singles, lists)
            for i in written:
                for tensor in args[i] if isinstance(args[i], (list, tuple)) else (args[i],):
                    _note_written(tensor, level)
            return _wrap_result(result, level, known, args[0] if is_view else None)

        return run

    def fallback(self, overload: Any, call_keys: int, below: Any, composite: Any) -> Callable[..., Any]:
        return self.build(overload, call_keys, below)


def mapped(overload: Overload, args: tuple[Any, ...], change: Callable[[Any], Any]) -> list[Any]:
    """The arguments of a call, each tensor among them changed."""
    changed = list(args)
    for i in overload.tensor_positions:
        if isinstance(changed[i], Tensor):
            changed[i] = change(changed[i])
    for i in overload.list_positions:
        if changed[i] is not None:
            changed[i] = [None if item is None else change(item) for item in changed[i]]
    return changed


def _pairs(inner: list[Any], outer: tuple[Any, ...], singles: Iterable[int], lists: Iterable[int]) -> dict[int, Any]:
    """Identity of each tensor below a level -> the tensor that the caller gave."""
    known = {id(inner[i]): outer[i] for i in singles if isinstance(outer[i], Tensor)}
    for i in lists:
        known.update({id(a): b for a, b in zip(inner[i] or (), outer[i] or (), strict=True)})
    return known


def _note_written(tensor: Tensor, level: Interpreter) -> None:
    if is_at(tensor, level):
        _refresh(tensor)
        cell_of(tensor).version += 1


def _with_memory(tensor: Any) -> Any:
    """What wrappers and hidden dimensions of all levels are around, as far as that is nobody's view."""
    while tensor._base is None and (inner := getattr(tensor._array, "value", None)) is not None:
        tensor = inner
    return tensor


def _wrap_result(result: Any, level: Interpreter, known: dict[int, Any], base: Tensor | None) -> Any:
    if isinstance(result, Tensor):
        if id(result) in known:
            return known[id(result)]
        made = wrapped(result, level)
        return made if base is None or _with_memory(result)._base is None else link_view(made, base)
    if isinstance(result, (tuple, list)):
        items = [_wrap_result(item, level, known, base) for item in result]
        return items if result.__class__ is list else result.__class__(items)
    return result
