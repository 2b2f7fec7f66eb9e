"""``torch._C._functorch``: the stack of transforms, and what it wraps tensors in, by the number of a level.

Levels are numbered from 1, outside in. See `mt_core.transforms`.
"""

from __future__ import annotations

import enum
from typing import Any

from mt_core.state import tls
from mt_core.transforms import batched as _batched
from mt_core.transforms import wrapped as _wrapped
from mt_core.transforms.interpreters import Interpreter, depth_of
from mt_core.transforms.looping import FALLBACK
from mt_core.transforms.vmap import VmapInterpreter

__all__ = [
    "CInterpreter",
    "RandomnessType",
    "TransformType",
    "current_level",
    "dlevel",
    "get_dynamic_layer_stack_depth",
    "get_interpreter_stack",
    "get_unwrapped",
    "is_batchedtensor",
    "is_dead_tensor_wrapper",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "maybe_current_level",
    "maybe_get_bdim",
    "maybe_get_level",
    "peek_interpreter_stack",
    "reshape_dim_into",
    "reshape_dim_outof",
    "unwrap_if_dead",
]


class TransformType(enum.Enum):
    """The kinds of transforms."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class RandomnessType(enum.Enum):
    """What ``vmap`` is told of random operators."""

    Error = 0
    Same = 1
    Different = 2


class CInterpreter:
    """A level of the stack, as it is shown to programs."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def key(self) -> TransformType:
        """Its kind."""
        return TransformType[self._interpreter.name]

    def level(self) -> int:
        """Its number, the outermost is 1."""
        return depth_of(self._interpreter)


# The stack


def get_interpreter_stack() -> list[CInterpreter] | None:
    """All levels, outside in; None outside of all."""
    return [CInterpreter(level) for level in tls.transforms] or None


def peek_interpreter_stack() -> CInterpreter | None:
    """The innermost level; None outside of all."""
    return CInterpreter(tls.transforms[-1]) if tls.transforms else None


def get_dynamic_layer_stack_depth() -> int:
    """How many levels there are."""
    return len(tls.transforms)


def maybe_current_level() -> int | None:
    """The number of the innermost level; None outside of all."""
    return len(tls.transforms) or None


def current_level() -> int:
    """The number of the innermost level.

    Raises
    ------
    RuntimeError
        Outside of all.
    """
    _require_some()
    return len(tls.transforms)


def _require_some() -> None:
    if not tls.transforms:
        raise RuntimeError("!dynamicLayerStack.empty() INTERNAL ASSERT FAILED: there is no transform")


def _entered(level: Any) -> int:
    level.__enter__()
    return len(tls.transforms)


def _left(kind: str) -> int:
    _require_some()
    level = tls.transforms[-1]
    if level.name != kind:
        raise RuntimeError(f"the innermost transform is {level.name}, not {kind}")
    number = len(tls.transforms)
    level.__exit__(None, None, None)
    return number


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Enter a level of ``vmap``; its number. Raises RuntimeError for another word than error, same, different."""
    if randomness not in ("error", "same", "different"):
        raise RuntimeError("randomness argument must be error, same, or different.")
    return _entered(VmapInterpreter(batch_size, randomness))


def _vmap_decrement_nesting() -> int:
    """Leave the innermost level, one of ``vmap``; the number that it had."""
    return _left("Vmap")


def _levels() -> Any:
    from mt_autograd.func import levels  # lazy: programs that only map do not load the engine

    return levels


def _grad_increment_nesting() -> int:
    """Enter a level of reverse mode; its number."""
    return _entered(_levels().GradInterpreter())


def _grad_decrement_nesting() -> int:
    """Leave the innermost level, one of reverse mode; the number that it had."""
    return _left("Grad")


def _jvp_increment_nesting() -> int:
    """Enter a level of forward mode; its number."""
    return _entered(_levels().JvpInterpreter())


def _jvp_decrement_nesting() -> int:
    """Leave the innermost level, one of forward mode; the number that it had."""
    return _left("Jvp")


# Tensors of levels


def _at(number: int) -> Any:
    """The level of a number.

    Raises
    ------
    RuntimeError
        When there is none.
    """
    if not 1 <= number <= len(tls.transforms):
        raise RuntimeError(f"there is no transform at level {number}, the innermost is {len(tls.transforms)}")
    return tls.transforms[number - 1]


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor hides a dimension."""
    return tensor._array.__class__ is _batched.BatchedArray


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether a tensor is the wrapper of a level of reverse or forward mode."""
    return tensor._array.__class__ is _wrapped.WrappedArray


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether a tensor stands for another, at any level."""
    return is_batchedtensor(tensor) or is_gradtrackingtensor(tensor)


def is_dead_tensor_wrapper(tensor: Any) -> bool:
    """Whether a tensor is the wrapper of a level that has ended."""
    return is_gradtrackingtensor(tensor) and not tensor._array.level.is_alive


def unwrap_if_dead(tensor: Any) -> Any:
    """What the wrapper of an ended level wraps; any other tensor itself."""
    return tensor._array.value if is_dead_tensor_wrapper(tensor) else tensor


def dlevel(tensor: Any) -> int:
    """The number of the level whose wrapper a tensor is; 0 for what is no wrapper, -1 of a level that has ended."""
    return depth_of(tensor._array.level) if is_gradtrackingtensor(tensor) else 0


def maybe_get_level(tensor: Any) -> int:
    """The number of the level that a tensor belongs to; -1 for none, -2 for one that has ended."""
    if not is_functorch_wrapped_tensor(tensor):
        return -1
    number = depth_of(tensor._array.level)
    return number if number > 0 else -2


def maybe_get_bdim(tensor: Any) -> int:
    """Which dimension a tensor hides; -1 for none."""
    return tensor._array.dim if is_batchedtensor(tensor) else -1  # type: ignore[no-any-return]


def get_unwrapped(tensor: Any) -> Any:
    """What a tensor stands for, one level further out.

    Raises
    ------
    RuntimeError
        For a tensor that stands for itself.
    """
    if not is_functorch_wrapped_tensor(tensor):
        raise RuntimeError("No wrappers present!")
    return tensor._array.value


def _add_batch_dim(tensor: Any, batch_dim: int, level: int) -> Any:
    """The tensor without one of its dimensions, which a level of ``vmap`` hides."""
    return _batched.batched(tensor, batch_dim % max(tensor.dim(), 1), _at(level))


def _unwrap_batched(tensor: Any, level: int) -> tuple[Any, int | None]:
    """The tensor with the dimension that a level hides, and which that is; a tensor that hides none, and None."""
    return tuple(_batched.lanes_of(tensor, _at(level)))  # type: ignore[return-value]


def _remove_batch_dim(tensor: Any, level: int, batch_size: int, out_dim: int) -> Any:
    """The tensor with the hidden dimension at `out_dim`; one that hides none is repeated along it."""
    return _batched.lanes_of(tensor, _at(level)).spread(batch_size).movedim(0, out_dim)


def _wrap_for_grad(tensor: Any, level: int) -> Any:
    """The wrapper of a level of reverse or forward mode around a tensor."""
    return _wrapped.wrapped(tensor, _at(level))


def _unwrap_for_grad(tensor: Any, level: int) -> Any:
    """What a level's wrapper wraps; any other tensor itself."""
    return _wrapped.unwrapped(tensor, _at(level))


# Shapes


def reshape_dim_into(src: int, dst: int, tensor: Any) -> Any:
    """A dimension merged into another, before its elements; `dst` is counted without the first.

    Shape (B, 3, 4) with ``src=0, dst=1`` -> (3, B * 4).
    """
    moved = tensor.movedim(src, dst % (tensor.dim() - 1))
    at = dst % (tensor.dim() - 1)
    return moved.reshape((*moved.shape[:at], moved.shape[at] * moved.shape[at + 1], *moved.shape[at + 2 :]))


def reshape_dim_outof(src: int, size1: int, tensor: Any) -> Any:
    """A dimension cut into two, the first of `size1`.

    Raises
    ------
    RuntimeError
        For a size that does not divide the dimension.
    """
    at = src % tensor.dim()
    shape = tuple(tensor.shape)
    if shape[at] % size1 if size1 else shape[at]:
        raise RuntimeError(f"shape[src] % size1 == 0 INTERNAL ASSERT FAILED: {shape[at]} is no multiple of {size1}")
    return tensor.reshape((*shape[:at], size1, shape[at] // size1 if size1 else 0, *shape[at + 1 :]))


# Calls lane by lane


def _is_vmap_fallback_enabled() -> bool:
    """Whether operators without a batching rule may be called lane by lane."""
    return FALLBACK.is_enabled


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Say whether operators without a batching rule may be called lane by lane, or raise."""
    FALLBACK.is_enabled = enabled


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Say whether calls lane by lane warn."""
    FALLBACK.warns = enabled
