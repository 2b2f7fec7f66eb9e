"""Views and history: where the gradient of a view goes, before and after its base has been written to.

A view made by a recorded operator has that operator's node. Once the base's memory has been written to, through
whichever alias, that node no longer tells the truth, and the view's history is made anew as a strided window of what
the base then is.
"""

from __future__ import annotations

from mt_core import empty_strided, view_as_complex, view_as_real
from mt_core.autograd_state import AutogradState, Creation
from mt_core.dispatch.view_steps import ViewSteps, steps_of
from mt_core.dtypes import dtype
from mt_core.keys import AUTOGRAD, CONJUGATE, MULTI_VIEW, NEGATIVE, NO_GRAD_VIEW
from mt_core.state import unqueued
from mt_core.tensor import Tensor

from .modes import recording
from .node import LEAF, NO_EDGE, Edge, Node, operation_name, output_spec, underivable

__all__ = [
    "ViewGeometry", "current_state", "edge_of", "follow_base", "mark_stale", "refuse_rebase", "window_of",
    "with_history",
]  # fmt: skip


class ViewGeometry:
    """Where a view lies in its base, and how it reads its elements.

    Attributes
    ----------
    offset
        From the base's first element, in elements of the view's dtype.
    toggled
        Which of the keys `CONJUGATE` and `NEGATIVE` one of the two has and the other has not.
    """

    __slots__ = ("base_dtype", "base_is_conj", "dtype", "offset", "shape", "strides", "toggled")

    def __init__(self, view: Tensor, base: Tensor) -> None:
        self.dtype: dtype = view._dtype
        self.base_dtype: dtype = base._dtype
        self.shape = tuple(view._array.shape)
        self.strides = view.stride()
        start = view.storage_offset() * view._dtype.itemsize - base.storage_offset() * base._dtype.itemsize
        self.offset = start // view._dtype.itemsize
        self.toggled = (view._keys ^ base._keys) & (CONJUGATE | NEGATIVE)
        self.base_is_conj = base.is_conj()

    def replay(self, base: Tensor) -> Tensor:
        """The same window of another tensor with the base's layout.

        Raises
        ------
        NotImplementedError
            For a view that reinterprets its base's elements otherwise than between complex numbers and pairs of reals,
            and for pairs of reals of a base that is read conjugated.
        """
        if self.dtype is self.base_dtype:
            return _read_otherwise(self._window(base), self.toggled)
        if self.base_dtype.is_complex and self.dtype is self.base_dtype.to_real():
            return self._replay_as_real(base)
        if self.dtype.is_complex and self.base_dtype is self.dtype.to_real():
            return _read_otherwise(self._replay_as_complex(base), self.toggled)
        raise NotImplementedError(
            f"gradients through an in-place change of a view that reads {self.base_dtype} as {self.dtype} are not "
            "implemented; clone the view before changing it"
        )

    def _window(self, elements: Tensor) -> Tensor:
        return elements.as_strided(self.shape, self.strides, elements.storage_offset() + self.offset)

    def _replay_as_real(self, base: Tensor) -> Tensor:
        """Real or imaginary parts, or pairs of both; a conjugated base has its imaginary parts negated in memory."""
        reals = view_as_real(base._conj() if base.is_conj() else base)
        toggled = self.toggled & NEGATIVE
        if base.is_conj() != self.base_is_conj:
            if any(step % 2 for size, step in zip(self.shape, self.strides, strict=True) if size > 1):
                raise NotImplementedError(
                    "gradients through an in-place change of a view that reads a tensor with the conjugate bit as "
                    "pairs of reals are not implemented; resolve the conjugation (resolve_conj) first"
                )
            toggled ^= NEGATIVE * (self.offset % 2)
        read = _read_otherwise(reals, toggled)
        whole = tuple(read._array.shape) == self.shape and read.stride() == self.strides and not self.offset
        return read if whole else self._window(read)

    def _replay_as_complex(self, base: Tensor) -> Tensor:
        steps = (*[2 * step for step in self.strides], 1)
        if tuple(base._array.shape) == (*self.shape, 2) and base.stride() == steps and not self.offset:
            return view_as_complex(base)
        last = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        extent = 0 if 0 in self.shape else last
        pairs = base.as_strided((extent, 2), (2, 1), base.storage_offset() + 2 * self.offset)
        numbers = view_as_complex(pairs)
        return numbers.as_strided(self.shape, self.strides, numbers.storage_offset())


def window_of(view: Tensor, base: Tensor) -> ViewGeometry | ViewSteps:
    """What makes the view of a base again: its steps where they were kept, else its place in memory."""
    return steps_of(view) or ViewGeometry(view, base)


def _read_otherwise(tensor: Tensor, toggled: int) -> Tensor:
    if toggled & CONJUGATE:
        tensor = tensor._conj()
    return tensor._neg_view() if toggled & NEGATIVE else tensor


def edge_of(tensor: Tensor) -> Edge:
    """Where the gradient of a tensor goes: nowhere if it requires none, or is a view that was cut off from its base."""
    if not tensor._keys & AUTOGRAD:
        return NO_EDGE
    state = tensor._autograd
    if state is None:
        return NO_EDGE
    if tensor._base is not None and state.attr_version != tensor._cell.version:
        state = current_state(tensor)
    if state.grad_fn is not None:
        return state.grad_fn, state.output_nr
    return (tensor, LEAF) if state.requires_grad else NO_EDGE


def with_history(tensor: Tensor, edge: Edge) -> Tensor:
    """Give a fresh tensor the history that an edge stands for."""
    if edge[0] is not None:
        state = tensor._autograd = AutogradState()
        state.grad_fn, state.output_nr = edge
        state.requires_grad = True
        tensor._keys |= AUTOGRAD
    return tensor


def current_state(view: Tensor) -> AutogradState | None:
    """The autograd slots of a view, its history made anew if the base's memory was written to since.

    Raises
    ------
    RuntimeError
        In PyTorch's words, where a view made without grad mode, or one of several made at once, would need new history.
    """
    state = view._autograd
    if state is None or state.attr_version == view._cell.version:
        return state
    if state.grad_fn is None and not view._base._keys & AUTOGRAD:
        return state
    refuse_rebase(view, indirect=True)
    old = state.grad_fn
    with unqueued():
        state.grad_fn, state.output_nr = _replayed_edge(view)
    state.attr_version = view._cell.version
    move_retained(old, state)
    return state


def _replayed_edge(view: Tensor) -> Edge:
    base = view._base
    if view._cell is not base._cell:
        return _edge_of_moved(view, base)
    severed = not base._keys & AUTOGRAD  # by `detach_`
    source = _source(base, severed)
    with recording():
        state = window_of(view, base).replay(source)._autograd
    if severed:
        state.grad_fn._edges = NO_EDGE
    return state.grad_fn, state.output_nr


def _source(base: Tensor, severed: bool) -> Tensor:
    """What a view is made of anew; real numbers stand in for integers, views of which are not recorded."""
    if not (base.is_floating_point() or base.is_complex()):
        return with_history(empty_strided(base.shape, base.stride(), device=base.device), edge_of(base))
    return base.detach()._set_requires_grad() if severed else base


def _edge_of_moved(view: Tensor, base: Tensor) -> Edge:
    """The history of a view whose base lies on other memory since (``set_``): none that a gradient could pass."""
    node = underivable(RuntimeError("derivative for set_ is not implemented"))
    return node.attach([edge_of(base)], [output_spec(view)]), 0


def move_retained(old: Node | None, state: AutogradState) -> None:
    """Let the node that now makes a tensor fill its ``.grad``, where the old one was to (``retain_grad``)."""
    if state.retains_grad and old is not None and old._hooks is not None:
        kept = {nr: r for nr, r in old._hooks.retains.items() if (t := r()) is not None and t._autograd is state}
        for nr, reference in kept.items():
            del old._hooks.retains[nr]
            state.grad_fn._own_hooks().retains[state.output_nr] = reference


def mark_stale(base: Tensor) -> None:
    """Let the views of a base that has just gained history require grad; theirs is made when first asked for."""
    cell = base._cell
    if cell is None:
        return
    for tensor in cell.tensors():
        if tensor._base is base and not tensor._keys & AUTOGRAD:
            if tensor._autograd is None:
                tensor._autograd = AutogradState()
            tensor._autograd.attr_version = -1
            tensor._keys |= AUTOGRAD


def follow_base(base: Tensor) -> None:
    """Let the views of a leaf require grad as it does; their gradients go nowhere until it is written to."""
    requires_grad = base._keys & AUTOGRAD
    for view in base._cell.tensors() if base._cell is not None else ():
        if view._base is not base:
            continue
        state = view._autograd
        if requires_grad and not view._keys & AUTOGRAD and view._dtype.category == base._dtype.category:
            if state is None:
                state = view._autograd = AutogradState()
            state.attr_version = base._cell.version
            view._keys |= AUTOGRAD
        elif not requires_grad and state is not None and state.grad_fn is None and not state.requires_grad:
            view._keys &= ~AUTOGRAD


# What may not be rebased

_AMBIGUOUS = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
    "both the view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) "
    "or both outside (if you want the inplace to be tracked)."
)
_SEVERAL = (
    " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one."
)
_CUSTOM = (
    " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
    "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
    "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)


def refuse_rebase(view: Tensor, *, indirect: bool) -> None:
    """Raise where a view must not be written to while recording (`indirect`: it is its base that was).

    Raises
    ------
    RuntimeError
        In PyTorch's words: for views made without grad mode, several at once, or inside a custom Function.
    """
    flags = view._keys & (NO_GRAD_VIEW | MULTI_VIEW)
    if not flags:
        return
    state = view._autograd
    creation = state.creation if state is not None else None
    grad_fn = state.grad_fn if state is not None else None
    modified = (
        " and its base or another view of its base has been modified inplace"
        if indirect
        else " and is being modified inplace"
    )
    raise RuntimeError(_subject(grad_fn, state, flags, creation) + modified + _reason(grad_fn, flags, creation))


def _subject(grad_fn: Node | None, state: AutogradState | None, flags: int, creation: Creation | None) -> str:
    mode = _mode_of(flags, creation)
    if grad_fn is None or state is None:
        return f"A view was created in {mode or 'no_grad mode'}"
    subject = f"Output {state.output_nr} of {operation_name(grad_fn)} is a view"
    return f"{subject} of a view which was created in {mode}" if mode else subject


def _mode_of(flags: int, creation: Creation | None) -> str:
    if creation is Creation.IN_INFERENCE_MODE:
        return "inference mode"
    return "no_grad mode" if flags & NO_GRAD_VIEW else ""


def _reason(grad_fn: Node | None, flags: int, creation: Creation | None) -> str:
    mode = _mode_of(flags, creation)
    if mode == "inference mode":
        return " in normal mode." + _AMBIGUOUS.format(block="inference_mode")
    enabled = " with grad mode enabled." if mode or grad_fn is None else "."
    if creation is Creation.IN_CUSTOM_FUNCTION:
        return enabled + _CUSTOM
    return enabled + (_AMBIGUOUS.format(block="no_grad") if mode else _SEVERAL)
