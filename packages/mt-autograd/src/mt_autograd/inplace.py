"""Recording of in-place operators: checks, and the new history of what was written to.

A tensor that is no view simply gets the operator's node. When a view is written to, it is its base that changes: the
base's new node, `CopySlices`, lets the operator's node see the window only, and passes the rest of the gradient on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from mt_core.api import _functions as ops
from mt_core.autograd_state import AutogradState
from mt_core.keys import AUTOGRAD
from mt_core.tensor import Tensor

from .modes import recording
from .node import Edge, Node, device_of_keys, is_leaf, output_spec, pairs
from .operator_node import OperatorNode
from .recording import (
    DIFFERENTIABLE,
    edges_and_mask,
    new_node,
    packed,
    requires_grad,
    saved_inputs,
    saved_outputs,
    watch,
)
from .saved import FREED, version_of
from .validation import fitted
from .views import edge_of, mark_stale, move_retained, refuse_rebase, window_of, with_history

__all__ = ["CopySlices", "check_inplace", "record_inplace", "set_history"]


def record_inplace(
    cls: type[OperatorNode], below: Callable[..., Any], watched: bool, geometry_only: bool
) -> Callable[..., Any]:
    """The closure that records an operator which changes, and returns, its first argument.

    `geometry_only` is for operators that leave the memory alone and read it otherwise (``transpose_``): they concern
    this tensor, never its base.
    """
    enter = _give_geometry if geometry_only else set_history
    plan = cls.plan
    needs_original = [slot.wanted_by for slot in plan.saved if slot.position == 0 and not slot.is_result]
    original_mask = needs_original[0] if needs_original else 0
    keeps_view = "inplace_view" in cls.__slots__  # type: ignore[attr-defined]
    ends_at_integers = plan.rule.ends_at_integers

    def record(self: Any, *others: Any) -> Any:
        if ends_at_integers and self._dtype not in DIFFERENTIABLE or not requires_grad(plan, (self, *others)):
            return below(self, *others)
        check_inplace(self)
        edges, wanted = edges_and_mask(plan, (self, *others))
        node = new_node(cls, (self, *others), edges, wanted)
        if keeps_view:
            node.inplace_view = None
        # A formula that asks for the old value gets a copy: the memory is about to be written to.
        original = self.clone() if original_mask & wanted else self
        if plan.saved:
            node.saved = tuple(saved_inputs(plan, (original, *others), wanted))
        if watched:
            watch(node)
        result = below(self, *others)
        if plan.saved_outputs:
            outputs = saved_outputs(plan, (self,), wanted)
            node.saved += packed(outputs) if watched else tuple(outputs)  # type: ignore[operator]
        node.set_outputs((output_spec(self),))
        enter(self, node)
        return result

    return record


def check_inplace(tensor: Tensor) -> None:
    """Refuse to record an in-place operation where it would leave a leaf, or a view, without a true history.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    requires_grad = tensor._keys & AUTOGRAD
    if tensor._base is not None:
        refuse_rebase(tensor, indirect=False)
        if requires_grad and is_leaf(tensor._base):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if requires_grad and tensor.grad_fn is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def set_history(tensor: Tensor, node: Node, output_nr: int = 0) -> None:
    """Enter a node as what made the present value of a tensor that was written to."""
    base = tensor._base
    if base is None:
        _give_history(tensor, node, output_nr)
        return
    _give_history(base, CopySlices(base, tensor, node))
    if tensor._autograd is None:
        tensor._autograd = AutogradState()
    tensor._autograd.attr_version = -1
    tensor._keys |= AUTOGRAD


def _give_history(base: Tensor, node: Node, output_nr: int = 0) -> None:
    had_none = not base._keys & AUTOGRAD
    state = base._autograd
    if state is None:
        state = base._autograd = AutogradState()
    old = state.grad_fn
    state.grad_fn, state.output_nr = node, output_nr
    move_retained(old, state)
    base._keys |= AUTOGRAD
    if had_none:
        mark_stale(base)


def _give_geometry(tensor: Tensor, node: Node) -> None:
    _give_history(tensor, node)
    tensor._autograd.attr_version = version_of(tensor)  # type: ignore[union-attr]


class CopySlices(Node):
    """The node of a base, one of whose views was written to by the operation of node `fn`."""

    __slots__ = ("_fn", "_geometry", "_strides")

    def __init__(self, base: Tensor, view: Tensor, fn: Node) -> None:
        fn._edges = (*edge_of(base), *fn._edges[2:])
        self.attach(pairs(fn._edges), (output_spec(base),))
        self._fn: Node | None = fn
        self._geometry = window_of(view, base)
        self._strides = base.stride()
        if isinstance(fn, OperatorNode):
            self._tell(fn)

    def _tell(self, fn: OperatorNode) -> None:
        """Let the inner node know whether the gradient of the old value is wanted, and whose window it sees."""
        slots = type(fn).__slots__
        if "wanted" in slots:
            fn.wanted = fn.wanted | 1 if self._edges[0] is not None else fn.wanted & ~1
        if "inplace_view" in slots:
            fn.inplace_view = ref(self)

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        fn = self._fn
        if fn is None:
            raise RuntimeError(FREED)
        grad = grads[0]
        if grad is None:
            return [None] * (len(self._edges) // 2)
        whole = grad.new_empty_strided(grad.shape, self._strides)
        whole.copy_(grad)
        window = self._geometry.replay(whole)
        results = list(fn.apply([window.clone()], needed))
        if self._edges[0] is not None and (needed is None or needed[0]):
            _overwrite(window, fitted(results[0], fn, 0, self._geometry.shape, window.dtype))
            results[0] = whole
        return results

    def release(self) -> None:
        if self._fn is not None:
            self._fn.release()
            self._fn = None

    def view_edge(self) -> Edge:
        """The edge of the written view's new value: the window of this node's output."""
        shape, dtype, keys = self.output_spec(0)
        with recording(False):
            base = _empty(shape, self._strides, dtype, keys)
        with recording():
            view = self._geometry.replay(with_history(base, (self, 0)))
        state = view._autograd
        return state.grad_fn, state.output_nr


def _overwrite(window: Tensor, value: Any) -> None:
    if value is None:
        window.zero_()
    else:
        window.copy_(value)


def _empty(shape: Sequence[int], strides: Sequence[int], dtype: Any, keys: int) -> Tensor:
    return ops.empty_strided(shape, strides, dtype=dtype, device=device_of_keys(keys))
