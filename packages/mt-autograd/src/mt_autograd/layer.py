"""The autograd layer: what the dispatcher and the tensor ask of this package (`mt_core.plugins.protocols.Layer`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from mt_core.dispatch.registry import Overload, find_overload
from mt_core.dispatch.writing import resize_out
from mt_core.keys import AUTOGRAD, INFERENCE
from mt_core.plugins.protocols import CONTRACT
from mt_core.schema import Schema
from mt_core.state import excluding
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in

from . import hooks
from .api import backward
from .inplace import check_inplace, record_inplace, set_history
from .modes import is_watched
from .node import Node, leave_identity, leave_layout, output_spec, underivable
from .operator_node import OperatorNode, node_class
from .out_forms import (
    PARTS_BY_ARGUMENTS,
    is_copied,
    is_refused_late,
    is_underivable,
    is_unrecorded,
    refused_by,
    refused_leaf_of,
    resizes_always,
    way_by_call,
)
from .recompute import record_recomputed, record_recomputed_inplace, record_view
from .recorders import recorder
from .recording import DIFFERENTIABLE, make_output, real_results_only
from .rules import Rule, find_rule, plan_for, zero
from .views import current_state, edge_of, follow_base

__all__ = ["AutogradLayer", "layer"]

Callee = Callable[..., Any]


class AutogradLayer:
    """Builds, per operator and call keys, the closure that records it, and serves the tensor's autograd members."""

    contract = CONTRACT
    dispatch_key = "AUTOGRAD"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee | None:
        """The recording closure; None for an operator without a rule."""
        if overload.declaration.form == "out":
            return out_form(overload, below()) if may_be_differentiated(overload) else below()
        rule = find_rule(overload)
        if rule is None:
            return None
        if rule.history_stays:
            return below()
        recording = self._recording(overload, rule, call_keys, below)
        if not call_keys & INFERENCE or rule.takes_inference:
            return recording
        return unrecorded_of_inference(overload, recording, below())

    def _recording(self, overload: Overload, rule: Rule, call_keys: int, below: Callable[[], Callee]) -> Callee:
        writes = writes_first(overload.schema)
        if not rule.formulas and not writes:
            return below()
        watched = is_watched(call_keys) or bool(call_keys & INFERENCE)
        cls = class_for(overload)
        if writes:
            return record_inplace(cls, below(), watched, overload.declaration.kind == "view")
        returns = overload.schema.returns
        refuses = rule.real_only and (len(returns) > 1 or returns[0].is_list)
        callee = refusing_complex(overload, below()) if refuses else below()
        return recorder(cls, overload, callee, call_keys, watched)

    def fallback(
        self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Callee | None
    ) -> Callee:
        """An operator without a rule, carried out whole: it is differentiated through its composite, if it has one."""
        recording = self._fallback(overload, below, composite)
        return unrecorded_of_inference(overload, recording, below()) if call_keys & INFERENCE else recording

    def _fallback(self, overload: Overload, below: Callable[[], Callee], composite: Callee | None) -> Callee:
        if composite is not None:
            if writes_first(overload.schema):
                if overload.schema.arguments[0].is_list:
                    return composite  # each item has a history of its own: the parts are recorded
                return record_recomputed_inplace(overload, below(), composite)
            if any(result.alias is not None for result in overload.schema.returns):
                return record_view(below())
            return record_recomputed(overload, below(), composite)
        return record_not_implemented(overload, below())

    # Members of a tensor (mt_core.tensor_autograd)

    backward = staticmethod(backward)
    register_hook = staticmethod(hooks.register_tensor_hook)
    register_post_accumulate_grad_hook = staticmethod(hooks.register_post_accumulate_grad_hook)
    retain_grad = staticmethod(hooks.retain_grad)

    follow_base = staticmethod(follow_base)
    leave_layout = staticmethod(leave_layout)
    leave_identity = staticmethod(leave_identity)

    @staticmethod
    def record_undifferentiable(name: str, tensor: Tensor, read: Tensor | None, change: Callable[[], Any]) -> Any:
        """Carry out a change that has no derivative; see `record_undifferentiable`."""
        return record_undifferentiable(name, tensor, read, change)

    @staticmethod
    def grad_fn_of_view(view: Tensor) -> Node | None:
        """The node of a view that requires grad, up to date with what happened to its base."""
        state = current_state(view)
        return None if state is None else state.grad_fn


def may_be_differentiated(overload: Overload) -> bool:
    """Whether an operator is not declared to be without derivative; that of which it is a second name is asked too.

    What a factory writes to may have a history, and so may what operators on integers write to, where it has floats.
    """
    if is_underivable(overload):
        return True
    while overload.declaration.alias_of is not None:
        overload = find_overload(overload.declaration.alias_of)
    rule = find_rule(overload)
    return rule is None or bool(rule.formulas)


def writes_first(schema: Schema) -> bool:
    """Whether an operator writes to its first argument."""
    return bool(schema.arguments) and schema.arguments[0].writes


@cache
def class_for(overload: Overload) -> type[OperatorNode]:
    """The node class of an overload that has a rule."""
    rule = find_rule(overload)
    assert rule is not None
    writes = writes_first(overload.schema)
    if writes:
        rule = _with_first_argument(rule, overload.schema)
    return node_class(plan_for(rule, overload.schema), inplace=writes)


def _with_first_argument(rule: Rule, schema: Schema) -> Rule:
    """A rule that has the first argument among the differentiable ones: in place, its history goes on or ends here."""
    first = schema.arguments[0].name
    if first in rule.formulas or first in rule.joint:
        return rule
    if rule.joint:
        raise ValueError(f"the joint derivative of {rule.name} lacks '{first}', which {schema.full_name} writes to")
    return Rule(rule.name, {first: zero, **rule.formulas}, (), rule.node_name, None, rule.forward)


def unrecorded_of_inference(overload: Overload, recording: Callee, below: Callee) -> Callee:
    """`recording`, but for calls whose tensors were all made in inference mode: those have no history.

    A number in a tensor's place was not made there. What writes is left to `recording`, which refuses to write to
    leaves.
    """
    if overload.schema.is_mutable:
        return recording
    singles = overload.tensor_positions

    def run(*args: Any) -> Any:
        is_recorded = any(not t._keys & INFERENCE for t in tensors_in(args)) or any(
            args[i] is not None and not isinstance(args[i], Tensor) for i in singles
        )
        return (recording if is_recorded else below)(*args)

    return run


def refusing_complex(overload: Overload, below: Callee) -> Callee:
    """An operator of several results that is not recorded where one is complex; of a single one, the recorder sees it.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """

    def run(*args: Any) -> Any:
        result = below(*args)
        if any(t._dtype.is_complex for t in tensors_in((result,))):
            raise real_results_only(overload.schema)
        return result

    return run


# Operators without a rule


def out_form(overload: Overload, below: Callee) -> Callee:
    """An ``out=`` form whose arguments require grad: most refuse."""
    if is_unrecorded(overload):
        return below
    choose = way_by_call(overload)
    if choose is not None:
        return _chosen_by_call(overload, below, choose)
    if resizes_always(overload):
        return _refusing_resize
    if is_underivable(overload):
        return _refusing_leaf(overload, record_not_implemented(overload, below))
    if is_copied(overload) and overload.declaration.functional is not None:
        return record_copied(overload, find_overload(overload.declaration.functional), below)
    if is_refused_late(overload) and overload.declaration.functional is not None:
        return _refusing_late(overload, find_overload(overload.declaration.functional))
    return refuse_out(overload)


def _chosen_by_call(overload: Overload, below: Callee, choose: Callable[[tuple[Any, ...]], str]) -> Callee:
    functional = overload.declaration.functional
    assert functional is not None
    ways = {
        "unrecorded": below,
        "copied": record_copied(overload, find_overload(functional), below),
        "underivable": _refusing_leaf(overload, record_not_implemented(overload, below)),
    }

    def run(*args: Any) -> Any:
        way = choose(args)
        return (ways[way] if way in ways else _refusal(way))(*args)

    return run


def _refusing_late(overload: Overload, functional: Overload) -> Callee:
    """An ``out=`` form whose last part refuses, when ``out`` has the result's shape already."""
    at = next(i for i, argument in enumerate(overload.schema.arguments) if argument.writes)
    refuse = refuse_out(overload)

    def run(*args: Any) -> Any:
        with excluding(AUTOGRAD):
            resize_out(args[at], functional.call(*args[:at], *args[at + 1 :]).shape)
        return refuse()

    return run


def record_copied(overload: Overload, functional: Overload, below: Callee) -> Callee:
    """An ``out=`` form that is recorded as a copy of what the operator gives; `below` gives ``out`` its shape."""
    written = [i for i, argument in enumerate(overload.schema.arguments) if argument.writes]

    def record(*args: Any) -> Any:
        result = functional.call(*(arg for i, arg in enumerate(args) if i not in written))
        below(*args)
        out = args[written[0]]
        out._cell.version -= 1  # it is written once: the copy repeats what is there
        return out.copy_(result)

    return record


def _refusing_leaf(overload: Overload, recording: Callee) -> Callee:
    """A form that is recorded, unless ``out`` is a leaf that requires grad."""
    written = [i for i, argument in enumerate(overload.schema.arguments) if argument.writes]
    refuse = _refusal(f"aten::{refused_leaf_of(overload)}")

    def run(*args: Any) -> Any:
        leaf = any(args[i].requires_grad and args[i].is_leaf for i in written)
        return (refuse if leaf else recording)(*args)

    return run


def _refusing_resize(*args: Any) -> Any:
    raise RuntimeError("cannot resize variables that require grad")


def refuse_out(overload: Overload) -> Callee:
    """``out=`` forms are not differentiable."""
    name = refused_by(overload)
    if name in PARTS_BY_ARGUMENTS:
        part = PARTS_BY_ARGUMENTS[name]
        return lambda *args: _refusal(part(*args))(*args)
    refuse = _refusal(name)
    if overload.name != "matmul.out":
        return refuse

    def refuse_product(self: Any, other: Any, out: Any) -> Any:
        # PyTorch looks at the ranks before it calls the product whose form is refused.
        a, b = self.dim(), other.dim()
        if not a or not b:
            raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
        return refuse(self, other, out)

    return refuse_product


def _refusal(name: str) -> Callee:
    def refuse(*args: Any) -> Any:
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )

    return refuse


def record_not_implemented(overload: Overload, below: Callee) -> Callee:
    """Run the operator, and give its results a node that refuses to be differentiated."""
    written = [i for i, argument in enumerate(overload.schema.arguments) if argument.writes and not argument.is_list]
    error = _no_derivative(overload)

    def record(*args: Any) -> Any:
        edges = [edge_of(t) for t in tensors_in(args) if t.requires_grad]
        targets = [args[i] for i in written]
        for target in targets:
            check_inplace(target)
        result = below(*args)
        outputs = [t for t in tensors_in((result,)) if t._dtype in DIFFERENTIABLE]
        node = underivable(error).attach(edges, [output_spec(t) for t in outputs])
        for nr, output in enumerate(outputs):
            if any(output is target for target in targets):
                set_history(output, node, nr)
            else:
                make_output(output, node, nr, output._base is not None)
        return result

    return record


def _no_derivative(overload: Overload) -> Exception:
    """What backward says of an operator that nobody declared a derivative of, or whose ``out=`` form has none."""
    error = RuntimeError(f"derivative for aten::{overload.packet_name} is not implemented")
    if overload.declaration.form != "out":
        error.add_note(
            f"Declare the derivative of {overload.name} with mt_autograd.rules.derivative, or call the operator under "
            "torch.no_grad()."
        )
    return error


def record_undifferentiable(name: str, tensor: Tensor, read: Tensor | None, change: Callable[[], Any]) -> Any:
    """`mt_core.plugins.protocols.AutogradLayer.record_undifferentiable`."""
    check_inplace(tensor)
    edges = [edge_of(t) for t in (tensor, read) if t is not None and t.requires_grad]
    result = change()
    node = underivable(RuntimeError(f"derivative for {name} is not implemented"))
    set_history(tensor, node.attach(edges, [output_spec(tensor)]))
    return result


layer = AutogradLayer()
