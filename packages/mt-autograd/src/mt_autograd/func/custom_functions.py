"""Custom functions (`Function`) inside of transforms: each level handles the whole function, its forward runs once.

A level of reverse or forward mode runs the function further out, and enters a node, or tangents, of its own. A level of
``vmap`` asks the function's ``vmap``, or makes a function of batches of it (``generate_vmap_rule``), whose forward and
backward run under ``vmap``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from mt_core.pytree import broadcast_to_and_flatten, tree_flatten, tree_map_only, tree_unflatten
from mt_core.tensor import Tensor
from mt_core.transforms.batched import batched, lanes_of
from mt_core.transforms.interpreters import innermost, outside
from mt_core.transforms.vmap import VmapInterpreter
from mt_core.transforms.wrapped import lifted, unwrapped, wrapped

from ..function import Function, FunctionMeta, recorded_function
from .levels import GradInterpreter, JvpInterpreter

__all__ = ["VmapInfo", "apply_inside", "calling_plainly"]

_NOTES = "https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What the ``vmap`` of a function is told: the number of lanes, and what the user said of random numbers."""

    batch_size: int
    randomness: str


class _Checked(threading.local):
    is_on = False


_checked = _Checked()


@contextmanager
def calling_plainly() -> Iterator[None]:
    """Let functions without ``setup_context`` be called inside of the transforms that `gradcheck` is built on.

    Their ``forward`` and ``jvp`` run with tensors of the lanes, as all else that is checked. PyTorch's `gradcheck`
    uses an older ``vmap`` there, which knows no rules of functions.
    """
    was_on, _checked.is_on = _checked.is_on, True
    try:
        yield
    finally:
        _checked.is_on = was_on


def apply_inside(cls: type[Function], args: tuple[Any, ...]) -> Any:
    """``cls.apply(*args)`` inside of at least one transform.

    Raises
    ------
    RuntimeError
        For a function without ``setup_context``, or one that the innermost transform cannot handle.
    """
    if cls.setup_context is Function.setup_context:
        if _checked.is_on:
            return recorded_function(cls, args, None)
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod. For more details, please see {_NOTES}"
        )
    level = innermost()
    if isinstance(level, VmapInterpreter):
        return _batched(cls, level, args)
    if isinstance(level, (GradInterpreter, JvpInterpreter)):
        return _recorded(cls, level, args)
    raise RuntimeError("NYI: Functionalize rule for custom_function_call")


# Reverse and forward mode


def _recorded(cls: type[Function], level: GradInterpreter | JvpInterpreter, args: tuple[Any, ...]) -> Any:
    args = tuple(tree_map_only(Tensor, lambda tensor: lifted(tensor, level), list(args)))

    def further_out(*inside: Any) -> Any:
        inner = tree_map_only(Tensor, lambda tensor: unwrapped(tensor, level), list(inside))
        with outside():
            output = cls.apply(*inner)
        known = {id(a): b for a, b in zip(inner, inside, strict=True) if isinstance(b, Tensor)}
        return tree_map_only(Tensor, lambda tensor: known.get(id(tensor)) or wrapped(tensor, level), output)

    return recorded_function(cls, args, further_out)


# vmap


def _batched(cls: type[Function], level: VmapInterpreter, args: tuple[Any, ...]) -> Any:
    has_rule = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and has_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. For more details, please see {_NOTES}"
        )
    if not cls.generate_vmap_rule and not has_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            "the vmap staticmethod or set generate_vmap_rule=True. For more details, please see "
            f"{_NOTES}"
        )
    flat, structure = tree_flatten(args)
    lanes = [lanes_of(a, level) if isinstance(a, Tensor) else None for a in flat]
    dims = [None if found is None else found.dim for found in lanes]
    inner = [a if found is None else found.value for a, found in zip(flat, lanes, strict=True)]
    with outside():
        if all(dim is None for dim in dims):
            return cls.apply(*tree_unflatten(inner, structure))
        if has_rule:
            own_dims = tuple(tree_unflatten(dims, structure))
            output, out_dims = _by_own_rule(cls, level, tree_unflatten(inner, structure), own_dims)
        else:
            function = _function_of_batches(cls, level, dims)
            output, out_dims = function.apply(*inner), function.out_dims
    return _rejoined(output, out_dims, level)


def _by_own_rule(cls: type[Function], level: VmapInterpreter, args: Any, dims: Any) -> tuple[Any, Any]:
    returned: Any = cls.vmap(VmapInfo(level.size, level.randomness), dims, *args)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(returned)} instead"
        )
    return returned


def _rejoined(output: Any, out_dims: Any, level: VmapInterpreter) -> Any:
    flat, structure = tree_flatten(output)
    dims = broadcast_to_and_flatten(out_dims, structure)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but output has structure {structure}. For more details, please see {_NOTES}"
        )
    return tree_unflatten([_joined(value, dim, level) for value, dim in zip(flat, dims, strict=True)], structure)


def _joined(value: Any, dim: int | None, level: VmapInterpreter) -> Any:
    return batched(value, dim % value.dim(), level) if isinstance(value, Tensor) and dim is not None else value


def _parted(leaf: Any, level: VmapInterpreter) -> tuple[Any, int | None]:
    return tuple(lanes_of(leaf, level)) if isinstance(leaf, Tensor) else (leaf, None)  # type: ignore[return-value]


class _LaneContext:
    """The context that the function of one lane sees: what it saves is kept with the batch dimension.

    Other attributes are those of the context of the function of batches.
    """

    def __init__(self, context: Any, level: VmapInterpreter) -> None:
        object.__setattr__(self, "_context", context)
        object.__setattr__(self, "_level", level)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._context, name, value)

    def save_for_backward(self, *tensors: Any) -> None:
        parts = [_parted(tensor, self._level) for tensor in tensors]
        self._context.save_for_backward(*(value for value, _ in parts))
        self._context.dims_of_saved = [dim for _, dim in parts]

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._context.mark_non_differentiable(*(lanes_of(tensor, self._level).value for tensor in tensors))

    def mark_dirty(self, *tensors: Any) -> None:
        self._context.mark_dirty(*(lanes_of(tensor, self._level).value for tensor in tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        saved = zip(self._context.saved_tensors, self._context.dims_of_saved, strict=True)
        return tuple(_joined(value, dim, self._level) for value, dim in saved)


def _function_of_batches(cls: type[Function], level: VmapInterpreter, dims: Sequence[int | None]) -> Any:
    """A function whose forward and backward are those of `cls` under ``vmap``; `dims` are those of its arguments.

    Its attribute `out_dims` says, once it was called, where its outputs have the batch dimension.
    """
    size, randomness = level.size, level.randomness

    def enter(inner: VmapInterpreter, values: Sequence[Any], of: Sequence[int | None]) -> list[Any]:
        return [_joined(value, dim, inner) for value, dim in zip(values, of, strict=True)]

    def forward(*operands: Any) -> Any:
        with VmapInterpreter(size, randomness) as inner:
            flat, structure = tree_flatten(cls.forward(*enter(inner, operands, dims)))
            parts = [_parted(leaf, inner) for leaf in flat]
        made.out_dims = tree_unflatten([dim for _, dim in parts], structure)
        made.flat_out_dims = [dim for _, dim in parts]
        return tree_unflatten([value for value, _ in parts], structure)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        flat, structure = tree_flatten(output)
        ctx.dims_of_saved = ()
        ctx.dims_of_outputs = made.flat_out_dims
        with VmapInterpreter(size, randomness) as inner:
            lanes = tuple(enter(inner, inputs, dims))
            ctx.shapes = [lane.shape if isinstance(lane, Tensor) else None for lane in lanes]
            outputs = tree_unflatten(enter(inner, flat, made.flat_out_dims), structure)
            cls.setup_context(_LaneContext(ctx, inner), lanes, outputs)

    def backward(ctx: Any, *grads: Any) -> Any:
        with VmapInterpreter(size, randomness) as inner:
            found = cls.backward(_LaneContext(ctx, inner), *enter(inner, grads, ctx.dims_of_outputs))
            found = found if isinstance(found, tuple) else (found,)
            fitting = [_summed(grad, shape) for grad, shape in zip(found, ctx.shapes, strict=True)]
            parts = [_parted(grad, inner) for grad in fitting]
        return tuple(_gradient_of(*part, in_dim, size) for part, in_dim in zip(parts, dims, strict=True))

    members = {
        "forward": staticmethod(forward), "setup_context": staticmethod(setup_context),
        "backward": staticmethod(backward), "generate_vmap_rule": True,
    }  # fmt: skip
    made: Any = FunctionMeta(f"Vmapped{cls.__name__}", (Function,), members)
    return made


def _summed(grad: Any, shape: Any) -> Any:
    """A lane's gradient, summed to the shape of what it is a gradient of, as the engine would."""
    return grad.sum_to_size(shape) if isinstance(grad, Tensor) and grad.shape != shape else grad


def _gradient_of(value: Any, dim: int | None, in_dim: int | None, size: int) -> Any:
    """A gradient with the batch dimension where the argument has it; one that all lanes share gets their sum."""
    if value is None:
        return None
    if in_dim is None:
        return value if dim is None else value.sum(dim)
    spread = value.unsqueeze(0).expand(size, *value.shape) if dim is None else value.movedim(dim, 0)
    return spread.movedim(0, in_dim)
