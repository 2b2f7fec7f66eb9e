"""``torch.utils._python_dispatch``: modes that are handed operators, and tensors that are made of other tensors."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from mt_core import Tensor, pytree
from mt_core.python_dispatch import (
    mode_of_kind,
    pop_dispatch_mode,
    pop_mode_of_kind,
    push_dispatch_mode,
    without_modes,
)
from mt_core.state import tls
from mt_core.subclasses import share_storage
from mt_library.ops import OpOverload
from mt_library.tags import Tag

from .._C._dispatch_keys import _TorchDispatchModeKey as _TorchDispatchModeKey

__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing", "transform_subclass",
]  # fmt: skip


class TorchDispatchMode:
    """Base of modes: inside ``with``, every operator goes to ``__torch_dispatch__(func, types, args, kwargs)``.

    `func` is the operator as ``torch.ops`` has it. While the method runs the mode is off, so that it may call `func`;
    modes entered before it are then asked.
    """

    #: What PyTorch's own modes (fake tensors, tracing) say of themselves.
    _mode_key: Any = None

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode(_dispatch_key): a mode has the key Python")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        push_dispatch_mode(self)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        pop_dispatch_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        """Make a mode, with a warning: ``with Mode():`` is all that is needed."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            UserWarning,
            stacklevel=2,
        )
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is one of PyTorch's own, which stand below all others."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that only calls the operator."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:
    """The innermost mode of this thread, or None."""
    return tls.dispatch_modes[-1] if tls.dispatch_modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes of this thread, the outermost first."""
    return list(tls.dispatch_modes)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether this thread is in a mode."""
    return any(include_infra_modes or not mode.is_infra_mode() for mode in tls.dispatch_modes)


is_in_any_mode_without_ignore_compile_internals = is_in_torch_dispatch_mode


def _len_torch_dispatch_stack() -> int:
    """How many modes are on in this thread."""
    return len(tls.dispatch_modes)


def _get_dispatch_stack_at(index: int) -> Any:
    """The mode at a place in the stack of this thread, the outermost at 0."""
    return tls.dispatch_modes[index]


def any_torch_dispatch_mode_on_stack(*, include_infra_modes: bool = True) -> bool:
    """Whether this thread is in a mode."""
    return is_in_torch_dispatch_mode(include_infra_modes)


_push_on_torch_dispatch_stack = push_dispatch_mode
_pop_torch_dispatch_stack = pop_dispatch_mode


def _detect_infra_mode(key: _TorchDispatchModeKey) -> Any:
    """The mode of a kind of PyTorch's own that is on in this thread, or None."""
    return mode_of_kind(key)


def _unset_infra_mode(key: _TorchDispatchModeKey) -> Any:
    """Take such a mode away, and return it; None where there is none."""
    return None if mode_of_kind(key) is None else pop_mode_of_kind(key)


@contextlib.contextmanager
def _disable_infra_mode(key: _TorchDispatchModeKey) -> Iterator[Any]:
    """Such a mode (or None), which is off inside of the block."""
    mode = _unset_infra_mode(key)
    try:
        yield mode
    finally:
        if mode is not None:
            push_dispatch_mode(mode)


def _push_mode(mode: TorchDispatchMode) -> None:
    push_dispatch_mode(mode)


def _pop_mode(k: Any = None) -> TorchDispatchMode:
    if k is not None:
        raise NotImplementedError("_pop_mode(key): modes have no keys of their own")
    return pop_dispatch_mode()  # type: ignore[no-any-return]


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[TorchDispatchMode]:
    """The innermost mode, which is off inside of the block."""
    mode = _pop_mode(k)
    try:
        yield mode
    finally:
        push_dispatch_mode(mode)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """All modes of this thread, which are off inside of the block."""
    with without_modes() as modes:
        yield list(modes)


# Tensors that are made of other tensors


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class of tensors can be taken apart: it has ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    if not issubclass(t, Tensor) or t is Tensor:
        return False
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether an object is a tensor that can be taken apart."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor made of others, made anew of what ``callback(name, part)`` gives for each of them.

    Raises
    ------
    AssertionError
        Where the new tensor does not have the size and strides asked for, those of `t` by default.
    """
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(parts, context, outer_size, outer_stride)
    for what, found, wanted in (("shape", made.shape, outer_size), ("strides", made.stride(), outer_stride)):
        if tuple(found) != tuple(wanted):
            raise AssertionError(f"{type(t).__name__}.__tensor_unflatten__ gave {what} {found}, expected {wanted}")
    return made


# Results that alias arguments


@dataclasses.dataclass
class AliasInfo:
    """Of an argument or a result: the names of what it shares memory with, and whether it is written to."""

    alias_set: set[str]
    is_write: bool
    name: str | None


@dataclasses.dataclass
class SchemaInfo:
    """What of an operator's arguments and results shares memory.

    Attributes
    ----------
    is_inplace_view_op
        Whether it changes the geometry of its argument.
    outs_write_aliases
        The name of each result that is a written argument, where every result is one; else None.
    read_only_alias_match_indexes
        (argument, result) for each pair that shares memory which is not written to.
    """

    args: list[AliasInfo]
    outs: list[AliasInfo]
    is_inplace_view_op: bool
    outs_write_aliases: list[str] | None
    read_only_alias_match_indexes: list[tuple[int, int]]


@functools.cache
def get_alias_info(func: OpOverload) -> SchemaInfo:
    """What of an operator's arguments and results shares memory."""
    schema = func._schema.parsed
    args = [AliasInfo(_names(one), one.writes, one.name) for one in schema.arguments]
    outs = [AliasInfo(_names(one), one.writes, None) for one in schema.returns]
    writes = [next(iter(out.alias_set)) for out in outs if out.is_write]
    matches = [
        (i, j)
        for i, arg in enumerate(args)
        for j, out in enumerate(outs)
        if not out.is_write and arg.alias_set & out.alias_set
    ]
    is_relaid = Tag.inplace_view in func.tags
    return SchemaInfo(args, outs, is_relaid, writes if writes and len(writes) == len(outs) else None, matches)


def _names(one: Any) -> set[str]:
    return set() if one.alias is None else {one.alias.split()[0].rstrip("!")}


@functools.cache
def _aliasing(func: OpOverload) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, str, int], ...]]:
    """((result, viewed argument), ...) and ((result, name of a written argument, its position), ...) of an operator."""
    arguments = func._schema.parsed.arguments
    viewed, written = [], []
    for place, result in enumerate(func._schema.parsed.returns):
        if result.alias is None:
            continue
        for position, argument in enumerate(arguments):
            if argument.alias is None or argument.alias.split()[0] != result.alias.split()[0]:
                continue
            if result.writes:
                written.append((place, argument.name, position))
            else:
                viewed.append((place, position))
    return tuple(viewed), tuple(written)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a handler of a wrapper class returns, so that results alias arguments as the operator's schema says.

    A result of a view lies on the storage of the wrapper that it is a view of; for what the operator writes to, the
    argument itself is returned.
    """
    viewed, written = _aliasing(func)
    for place, position in viewed:
        _share_storage(func, args[position], out if len(func._schema.parsed.returns) == 1 else out[place])
    if not written:
        return out
    given = [kwargs[name] if name in kwargs else args[position] for _, name, position in written]
    if len(func._schema.parsed.returns) == 1:
        return given[0]
    results = list(out)
    for (place, _, _), value in zip(written, given, strict=True):
        results[place] = value
    return type(out)(results)


def _share_storage(func: Any, base: Any, results: Any) -> None:
    if not isinstance(base, Tensor):
        raise RuntimeError(f"{func}: the argument that is viewed is no tensor")
    for result in pytree.tree_leaves(results):
        if not isinstance(result, Tensor):
            raise AssertionError(f"{func}: expected a tensor, got {type(result)}")
        if result is not base:
            share_storage(result, base)
