"""One view, forwards and backwards: what leads from a base to a view, and a written view back into its base."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..declarations.view_copy import COPIES, copy_name
from ..dispatch.registry import Overload, find_overload
from ..formats import contiguous_format
from ..keys import AUTOGRAD, FORWARD_GRAD
from ..tensor import Tensor, from_array, wrap_dim

__all__ = ["Step", "put_back", "replayed", "seen"]

Args = tuple[Any, ...]

#: What tensors have of which a derivative is taken.
_DERIVED = AUTOGRAD | FORWARD_GRAD


class Step:
    """One view of a tensor.

    Attributes
    ----------
    overload : Overload
        The view, and `args`, its arguments after the tensor; the offset of ``as_strided`` counts from the base.
    index : int or None
        Which of several views it is.
    spot : (shape, strides, offset)
        Where it lies in memory; the offset counts from the base.
    reapplies : bool
        Whether it is made again as a view, and not as a copy.
    is_plain : bool
        Whether it can be put back by the inverse of the view alone. Where an element of the base is seen several times
        or the view reaches beyond what it is a view of, only its place says where it belongs.
    """

    __slots__ = ("overload", "args", "index", "spot", "reapplies", "is_plain")

    def __init__(self, overload: Overload, args: Args, index: int | None, spot: Args, reapplies: bool) -> None:
        self.overload, self.args, self.index, self.spot, self.reapplies = overload, args, index, spot, reapplies
        self.is_plain = overload.name in _BACK and not _repeats(spot)

    def forwards(self, base: Tensor) -> Tensor:
        """The view of a base, or a copy of what it shows."""
        args = self.args
        if self.overload.name == "as_strided":
            args = (*args[:2], args[2] + base.storage_offset())
        found = seen(self.overload, base, args, self.reapplies)
        viewed: Tensor = found if self.index is None else found[self.index]
        return viewed

    def backwards(self, base: Tensor, value: Tensor) -> Tensor:
        """The base with `value` in the place of the view."""
        back: Tensor = _BACK[self.overload.name](self, base, value, self.reapplies)
        return back


def _repeats(spot: Args) -> bool:
    return any(stride == 0 and size > 1 for size, stride in zip(spot[0], spot[1], strict=True))


def seen(view: Overload, base: Tensor, args: Args, reapplies: bool) -> Any:
    """What a view gives, as views or as copies."""
    if reapplies:
        return view.call(base, *args)
    return find_overload(_copying(view.name)).call(base, *args)


def _copying(view: str) -> str:
    return copy_name(view) if view in COPIES else f"{view}_copy"


def replayed(base: Tensor, steps: tuple[Step, ...]) -> Tensor:
    """What the steps lead to."""
    for step in steps:
        base = step.forwards(base)
    return base


def put_back(base: Tensor, steps: tuple[Step, ...], value: Tensor) -> Tensor:
    """The base with `value` in the place of what the steps lead to."""
    if not steps:
        return value
    if not all(step.is_plain for step in steps):
        return _put_at(base, steps, value, steps[-1].reapplies)
    bases = [base]
    for step in steps[:-1]:
        bases.append(step.forwards(bases[-1]))
    for step, of in zip(reversed(steps), reversed(bases), strict=True):
        value = step.backwards(of, value)
    return value


def _put_at(base: Tensor, steps: tuple[Step, ...], value: Tensor, reapplies: bool) -> Tensor:
    """`put_back` by the place of the view in memory.

    Raises
    ------
    RuntimeError
        In PyTorch's words, for windows that overlap.
    NotImplementedError
        For a view that is read in another dtype.
    """
    shape, strides, offset = steps[-1].spot
    if any(step.overload.name == "unfold" and step.args[1] > step.args[2] for step in steps):
        raise RuntimeError(
            "While executing unfold, functionalization encountered a tensor being mutated that has internal overlap. "
            "When using torch.compile (or running functionalization directly), this is banned as the behavior is not "
            "well defined. Consider cloning the tensor before mutating it, or removing the mutation from your model."
        )
    if value._dtype is not base._dtype:
        raise NotImplementedError(
            "functionalize: cannot write to a view with repeated elements or windows that is read in another dtype"
        )
    for dim, stride in enumerate(strides):
        if not stride and shape[dim] > 1:  # one element for all indices, which have got one value
            value = seen(find_overload("slice.Tensor"), value, (dim, 0, 1, 1), reapplies)
    shape = tuple(value.shape)
    # The gradient of `as_strided_scatter` is PyTorch's, which loses what is outside of the window.
    if len(steps) == 1 and steps[0].overload.name == "as_strided" and not (base._keys | value._keys) & _DERIVED:
        scattered: Tensor = find_overload("as_strided_scatter").call(
            base, value, shape, strides, offset + base.storage_offset()
        )
        return scattered
    flat = _flattened(base)
    places = _places(base, shape, strides, offset)
    put: Tensor = find_overload("scatter.src").call(flat, 0, places, _flattened(value))
    return _reshaped(put, tuple(base.shape))


def _flattened(tensor: Tensor) -> Tensor:
    return _reshaped(tensor, (tensor.numel(),))


def _reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    if tuple(tensor.shape) == shape:
        return tensor
    copied: Tensor = find_overload("view_copy").call(tensor, shape)
    return copied


def _places(base: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Tensor:
    """Which elements of the base, counted row by row, a window of its memory shows."""
    if base.storage_offset() + offset < 0:
        raise AssertionError("a window begins at the base or behind it")
    memory = _numbers(_reach(tuple(base.shape), base.stride()))
    memory[_numbers_at(tuple(base.shape), base.stride(), 0).reshape(-1)] = _numbers(base.numel())
    found: Tensor = from_array(memory[_numbers_at(shape, strides, offset).reshape(-1)]).to(base.device)
    return found


def _numbers(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int64)


def _reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if math.prod(shape) else 0


def _numbers_at(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> np.ndarray:
    """Where in memory the elements of a layout lie."""
    found = np.full(shape, offset, dtype=np.int64)
    for dim, (n, step) in enumerate(zip(shape, strides, strict=True)):
        found += (_numbers(n) * step).reshape((n,) + (1,) * (len(shape) - dim - 1))
    return found


# Backwards

Back = Callable[[Step, Tensor, Tensor, bool], Any]
_BACK: dict[str, Back] = {}


def _back(*names: str) -> Callable[[Back], Back]:
    def enter(function: Back) -> Back:
        _BACK.update(dict.fromkeys(names, function))
        return function

    return enter


def _view(name: str, value: Tensor, reapplies: bool, *args: Any) -> Any:
    return seen(find_overload(name), value, args, reapplies)


@_back("alias", "detach", "lift_fresh")
def _same(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    return value


@_back("view")
def _other_shape(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    if reapplies and not value.is_contiguous():
        value = find_overload("clone").call(value, contiguous_format)
    return _view("view", value, reapplies, tuple(base.shape))


@_back("view.dtype")
def _other_dtype(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    if reapplies and not value.is_contiguous():
        value = find_overload("clone").call(value, contiguous_format)
    return _view("view.dtype", value, reapplies, base._dtype)


@_back("view_as_real")
def _complex_again(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    if value.stride(-1) != 1:
        value = find_overload("clone").call(value, contiguous_format)
    return _view("view_as_complex", value, reapplies)


@_back("view_as_complex")
def _real_again(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    if value.is_conj():
        value = value.resolve_conj()
    return _view("view_as_real", value, reapplies)


@_back("_conj", "_neg_view", "t")
def _again(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    return _view(step.overload.name, value, reapplies)


@_back("transpose.int")
def _exchanged(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    return _view("transpose.int", value, reapplies, *step.args)


@_back("permute")
def _unpermuted(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    dims = [wrap_dim(dim, base.dim()) for dim in step.args[0]]
    return _view("permute", value, reapplies, tuple(dims.index(i) for i in range(len(dims))))


@_back("unsqueeze")
def _squeezed(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    return _view("squeeze.dim", value, reapplies, *step.args)


@_back("squeeze", "squeeze.dim", "squeeze.dims")
def _unsqueezed(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    for dim in _dropped(step, tuple(base.shape)):
        value = _view("unsqueeze", value, reapplies, dim)
    return value


def _dropped(step: Step, shape: tuple[int, ...]) -> list[int]:
    """The dimensions of size 1 that a ``squeeze`` drops, in order."""
    asked = step.args[0] if step.args else range(len(shape))
    asked = (asked,) if isinstance(asked, int) else asked
    dims = {wrap_dim(dim, len(shape)) for dim in asked}
    return sorted(dim for dim in dims if shape and shape[dim] == 1)


@_back("expand")
def _unexpanded(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    """Nothing was repeated (`Step.is_plain`): new dimensions have the size 1, or nothing is in them."""
    return _view("view", value, reapplies, tuple(base.shape)) if value.numel() else base


@_back("select.int")
def _selected(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    return find_overload("select_scatter").call(base, value, *step.args)


@_back("slice.Tensor")
def _sliced(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    return find_overload("slice_scatter").call(base, value, *step.args)


@_back("diagonal")
def _on_diagonal(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    return find_overload("diagonal_scatter").call(base, value, *step.args)


@_back("unbind.int")
def _one_of_all(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    return find_overload("select_scatter").call(base, value, *step.args, step.index)


@_back("split.Tensor")
def _part(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    size, dim = step.args
    assert step.index is not None
    return _put_part(base, value, dim, size * step.index)


@_back("split_with_sizes")
def _sized_part(step: Step, base: Tensor, value: Tensor, reapplies: bool) -> Any:
    sizes, dim = step.args
    return _put_part(base, value, dim, sum(sizes[: step.index]))


def _put_part(base: Tensor, value: Tensor, dim: int, start: int) -> Any:
    return find_overload("slice_scatter").call(base, value, dim, start, start + value.size(dim), 1)
