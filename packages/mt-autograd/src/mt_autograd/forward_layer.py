"""The layer of forward mode: runs an operator below the level, and gives its results their tangents.

It stands above autograd: what it computes is recorded, tangents too (reverse over forward), and what backward computes
has tangents where what it was saved of has (forward over reverse). How a tangent is computed, `tangent_rules` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.lookup import composite_of
from mt_core.dispatch.registry import Overload, find_overload
from mt_core.dispatch.registry import overload as declared
from mt_core.keys import AUTOGRAD, FORWARD_GRAD
from mt_core.plugins.protocols import CONTRACT
from mt_core.state import excluding
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in

from .inplace import CopySlices
from .layer import may_be_differentiated, writes_first
from .operator_node import OperatorNode
from .recording import DIFFERENTIABLE
from .rules import Rule, find_rule
from .saved import SavedOutput
from .tangent_rules import TangentRule, tangent_rule
from .tangents import below, give, laid_out_as, tangent_of, top_level
from .views import ViewGeometry

__all__ = ["ForwardLayer", "layer"]

Callee = Callable[..., Any]

_alias = declared("alias", "view")


class ForwardLayer:
    """Builds, per operator and call keys, the closure that computes tangents."""

    contract = CONTRACT
    dispatch_key = "FORWARD_GRAD"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee | None:
        """The closure of an operator that has a rule; None for one that has none."""
        if overload.declaration.form == "out":
            return refuse_out(overload, below()) if may_be_differentiated(overload) else without_tangents(below())
        rule = find_rule(overload)
        if rule is None:
            return None
        if rule.forward == "parts":
            return through_parts(overload)
        if not rule.formulas and not writes_first(overload.schema):
            return without_tangents(below())
        if writes_first(overload.schema):
            if overload.declaration.kind == "view":
                return laid_out_anew(overload, below())
            return Writing(overload, rule, below()).run
        return Making(overload, rule, below()).run

    def fallback(
        self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Callee | None
    ) -> Callee:
        """An operator without a rule: its parts, where it has some."""
        return refuse(overload, below()) if composite is None else composite


def through_parts(overload: Overload) -> Callee:
    """An operator as its composite, or, in place, a copy of what that gives."""
    functional = overload.declaration.functional
    composite = composite_of(overload if functional is None else find_overload(functional))
    assert composite is not None, "its derivative is made of it"
    if functional is None:
        return composite.function
    return lambda self, *others: self.copy_(composite.function(self, *others))


def without_tangents(handled: Callee) -> Callee:
    """An operator whose results do not follow its arguments."""

    def run(*args: Any) -> Any:
        with excluding(FORWARD_GRAD):
            return handled(*args)

    return run


# Operators that cannot be differentiated


def refuse(overload: Overload, handled: Callee) -> Callee:
    """An operator that has neither rule nor parts, where an argument has a tangent."""
    reason = (
        "because it has not been implemented yet.\nPlease file an issue to PyTorch at "
        "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its "
        "implementation or submit a PR adding the implementation to derivatives.yaml"
    )
    refused = _refusal(overload.packet_name, reason, handled)

    def run(*args: Any) -> Any:
        if top_level(tensors_in(args)) is None:
            return handled(*args)
        with excluding(FORWARD_GRAD):
            result = handled(*args)
        return refused(*args) if any(t._dtype in DIFFERENTIABLE for t in tensors_in((result,))) else result

    return run


def refuse_out(overload: Overload, handled: Callee) -> Callee:
    """``out=`` forms have no tangents."""
    return _refusal(f"{overload.packet_name}_out", "because it is an out= function", handled)


def _refusal(name: str, reason: str, handled: Callee) -> Callee:
    def run(*args: Any) -> Any:
        if top_level(tensors_in(args)) is None:
            return handled(*args)
        raise NotImplementedError(f"Trying to use forward AD with {name} that does not support it {reason}")

    return run


# Operators that can


class _Differentiated:
    """An operator with tangents; `run` is the closure."""

    def __init__(self, overload: Overload, rule: Rule, handled: Callee) -> None:
        self.overload = overload
        self.rule: TangentRule = tangent_rule(rule, overload)
        self.handled = handled

    def run(self, *args: Any) -> Any:
        level = top_level(tensors_in(args))
        if level is None:
            return self.handled(*args)
        tangents = self.tangents_of(args, level)
        with below(level) as inside:
            return self.carry_out(args, tangents, level, self.run if inside.has_more else self.handled)

    def tangents_of(self, args: tuple[Any, ...], level: int) -> dict[int, Any]:
        """Position -> tangent, or list of them, of the arguments that have one."""
        found: dict[int, Any] = {}
        for i in self.rule.positions:
            value = args[i]
            if isinstance(value, (list, tuple)):
                items = [tangent_of(item, level) for item in value]
                if any(item is not None for item in items):
                    found[i] = items
            elif (tangent := tangent_of(value, level)) is not None:
                found[i] = tangent
        return found

    def carry_out(self, args: tuple[Any, ...], tangents: dict[int, Any], level: int, further: Callee) -> Any:
        """Run the operator by `further`, below the level, and give what it changes or makes its tangent there."""
        raise NotImplementedError


class Making(_Differentiated):
    """An operator that makes new tensors or views."""

    def carry_out(self, args: tuple[Any, ...], tangents: dict[int, Any], level: int, further: Callee) -> Any:
        result = further(*args)
        if not tangents:
            return result
        results = result if isinstance(result, (list, tuple)) else (result,)
        rule = self.rule
        wanted = [nr for nr, r in enumerate(results) if isinstance(r, Tensor) and rule.has_tangent(nr, r)]
        if not wanted:
            return result
        if any(results[nr].numel() for nr in wanted) or rule.may_alias:
            made = rule(_recordable(args, tangents), results, tangents)
        else:
            made = [None] * len(results)
        for nr in wanted:
            give(results[nr], self._finished(made[nr], results[nr], tangents), level)
        let_node_save(results[wanted[0]]._autograd, results)
        return result

    def _finished(self, tangent: Any, result: Tensor, tangents: dict[int, Any]) -> Tensor:
        if self.rule.may_alias:
            return ops.zeros_like(result) if tangent is None else tangent
        return of_its_own(tangent, result, tangents)


def _recordable(args: Sequence[Any], tangents: dict[int, Any]) -> Sequence[Any]:
    """Arguments as a formula is to see them whose steps are recorded: views without tangents.

    What a step keeps for backward would have a tangent there, and give the gradient of a tangent one, which would lack
    what follows from the direction's own change.
    """
    if not is_grad_enabled() or not any(t._keys & AUTOGRAD for t in tensors_in([args, *tangents.values()])):
        return args
    return [_primal(value) for value in args]


def _primal(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _alias.call(value)
    return [_primal(item) for item in value] if isinstance(value, (list, tuple)) else value


def of_its_own(tangent: Any, result: Tensor, tangents: dict[int, Any]) -> Tensor:
    """A tangent in the shape, dtype and layout of its result, on memory that no other tangent has; zeros for None."""
    if tangent is None:
        return ops.zeros_like(result)  # type: ignore[no-any-return]
    if tangent._dtype is not result._dtype:
        if tangent._dtype.is_complex and not result._dtype.is_complex:
            tangent = tangent.real
        tangent = tangent.to(result._dtype)
    if tangent.shape != result.shape:
        tangent = tangent.expand(result.shape)
    laid_out = laid_out_as(tangent, result)
    if laid_out._base is not None or any(laid_out is given for given in tensors_in(list(tangents.values()))):
        return laid_out.clone()
    return laid_out


class Writing(_Differentiated):
    """An in-place operator."""

    def carry_out(self, args: tuple[Any, ...], tangents: dict[int, Any], level: int, further: Callee) -> Any:
        self_ = args[0]
        if self_._dtype not in DIFFERENTIABLE:
            return further(*args)
        old = tangent_of(self_, level)
        if not tangents:
            result = further(*args)
            if old is not None:
                old.zero_()
            return result
        before = _kept_apart(args, self.rule.reads_first)
        if old is not None:
            tangents = {**tangents, 0: old.clone()} if 0 in tangents else tangents
        result = further(*args)
        new = self.rule(_recordable(before, tangents), _recordable((self_,), tangents), tangents)[0]
        write_tangent(self_, new, level, tangents)
        state = (self_ if self_._base is None else self_._base)._autograd
        let_node_save(state, (self_,))
        if 0 in tangents:
            _give_to_old_value(_node_of(state), tangents[0], level)
        return result


def _kept_apart(args: tuple[Any, ...], reads_first: bool) -> tuple[Any, ...]:
    """The arguments of an in-place operator as they are, copied where it is about to write to them."""
    self_, *others = args
    cell = self_._cell

    def kept(value: Any) -> Any:
        if isinstance(value, Tensor) and (value is self_ or cell is not None and value._cell is cell):
            return value.clone()
        return value

    return (self_.clone() if reads_first else self_, *map(kept, others))


def write_tangent(tensor: Tensor, new: Any, level: int, given: dict[int, Any]) -> None:
    """Let a tensor that was written to have a new tangent, where its views, and its base, see it.

    `given` are the tangents that it was computed of.
    """
    if tangent_of(tensor, level) is None:
        if tensor._base is None:
            give(tensor, of_its_own(new, tensor, given), level)
            _give_views(tensor, level)
            return
        if tangent_of(tensor._base, level) is None:
            give(tensor._base, _zeros_of(tensor._base, new), level)
        _give_views(tensor._base, level)
    tangent = tangent_of(tensor, level)
    if new is None:
        tangent.zero_()
    else:
        tangent.copy_(new.real if new._dtype.is_complex and not tangent._dtype.is_complex else new)


def _zeros_of(tensor: Tensor, new: Any) -> Tensor:
    """Zeros that a tangent of a part of a tensor can be written to: made of that tangent, whose lanes they share."""
    zeros = ops.zeros_like(tensor) if new is None else new.new_zeros(tensor.shape, dtype=tensor.dtype)
    return laid_out_as(zeros, tensor)


def _give_views(base: Tensor, level: int) -> None:
    """Let the views of a base have the same views of its tangent."""
    tangent = tangent_of(base, level)
    for view in base._cell.tensors() if base._cell is not None else ():
        if view._base is base and tangent_of(view, level) is None and view._dtype in DIFFERENTIABLE:
            give(view, ViewGeometry(view, base).replay(tangent), level)


def laid_out_anew(overload: Overload, handled: Callee) -> Callee:
    """An operator that reads a tensor's memory otherwise, in place: it does the same to the tangent."""

    def run(self: Any, *others: Any) -> Any:
        level = top_level(tensors_in((self,)))
        if level is None:
            return handled(self, *others)
        with below(level) as inside:
            overload.call(tangent_of(self, level), *others)
            return (run if inside.has_more else handled)(self, *others)

    return run


def let_node_save(state: Any, results: Sequence[Any]) -> None:
    """Let what the node of an operation has saved of its own results have their tangents.

    `state` is that of what the node made: a result, or the base of the view that was written to.
    """
    node = _node_of(state)
    if node is None or not node.plan.saved_outputs:
        return
    for item in (node.saved or ())[::2]:
        if isinstance(item, SavedOutput) and results[item.output_nr]._keys & FORWARD_GRAD:
            item.tangents = results[item.output_nr]._autograd.tangents


def _give_to_old_value(node: OperatorNode | None, tangent: Tensor, level: int) -> None:
    """Let the copy of the old value that the node of an in-place operation keeps have the old tangent."""
    if node is None or node.saved is None:
        return
    for slot, item in zip(node.plan.saved, node.saved[::2]):
        if slot.position == 0 and not slot.is_result and isinstance(item, Tensor):
            give(item, tangent, level)


def _node_of(state: Any) -> OperatorNode | None:
    node = None if state is None else state.grad_fn
    if isinstance(node, CopySlices):
        node = node._fn
    return node if isinstance(node, OperatorNode) else None


layer = ForwardLayer()
