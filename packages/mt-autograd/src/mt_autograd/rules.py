"""Derivative rules: how they are declared, found, and prepared for recording.

A rule gives one formula per differentiable argument. The names of a formula's parameters choose what is saved for it:

======================  ===============================================================================================
``grad``                gradient of the first output; zeros where none arrived
``grads``               gradients of all outputs, None where none arrived
``mask``                which of the arguments of a joint formula want a gradient
``<argument>``          an argument of the operator; a list of tensors arrives as a tuple. A tensor argument for which
                        Python accepts a number may arrive as that number
``<argument>_spec``     shape, dtype, strides and device of a tensor argument (`mt_core.spec.Spec`), without its memory
``<argument>_offset``   storage offset of a tensor argument, in elements
``<argument>_device``   device of a tensor argument with its index, which specs do not know
``result``, ``resultN`` the only output, output number N
======================  ===============================================================================================

A formula returns a tensor, or None for zero; for a list argument, a sequence of these. It need not undo broadcasting or
dtype promotion: the engine sums a gradient to the argument's shape and converts it to its dtype.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from mt_core.api import _functions as ops
from mt_core.dispatch.registry import OVERLOADS, Overload, load_family
from mt_core.schema import Schema

__all__ = [
    "Formula",
    "Plan",
    "Rule",
    "derivative",
    "end_at_integers",
    "find_rule",
    "forward_rule",
    "joint_derivative",
    "non_differentiable",
    "plan_for",
    "real_only",
    "refuse_integers",
    "same_derivative",
    "takes_inference",
    "zero",
    "zeros",
]

Function = Callable[..., Any]
Forward = str | Function | dict[str, Function] | None

#: Positions of the pool that formulas draw their arguments from; saved tensors follow, then values, then specs.
GRAD, GRADS, MASK, FIRST_SAVED = range(4)


class Rule:
    """What has been declared for one overload; without formulas, that it is not differentiable."""

    __slots__ = (
        "differentiable_outputs", "ends_at_integers", "formulas", "forward", "history_stays", "joint", "name",
        "node_name", "real_only", "refuses_integers", "takes_inference",
    )  # fmt: skip

    def __init__(
        self, name: str, formulas: dict[str, Function], joint: tuple[str, ...], node_name: str,
        differentiable_outputs: tuple[bool, ...] | None, forward: Forward = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.formulas = formulas
        #: Arguments whose gradients one formula, under the key "", computes together.
        self.joint = joint
        self.node_name = node_name
        self.differentiable_outputs = differentiable_outputs
        #: How tangents are computed, where not as the operator's kind has it (`mt_autograd.tangent_rules`).
        self.forward = forward
        #: Whether what is written to in place keeps the history that it has.
        self.history_stays = False
        #: Whether integers that are copied to have no history of it; those that others write to require grad.
        self.ends_at_integers = False
        #: Whether a call with a complex result is refused, as PyTorch does where it has not checked a formula.
        self.real_only = False
        #: Whether integers for a result are refused where something requires grad, instead of ending the graph.
        self.refuses_integers = False
        #: Whether a call is recorded where inference tensors alone require grad.
        self.takes_inference = False


_RULES: dict[str, Rule] = {}


def derivative(
    name: str,
    /,
    *,
    node: str | None = None,
    differentiable_outputs: tuple[bool, ...] | None = None,
    forward: Forward = None,
    **formulas: Function,
) -> None:
    """Declare the derivative of an operator: one formula per differentiable argument.

    Parameters
    ----------
    name
        The overload, as in ``"mul.Tensor"``. In-place forms follow the functional one unless declared themselves.
    node
        What ``grad_fn.name()`` says, if not ``MulBackward0``, which counts the overloads of one operator in the order
        in which they are declared.
    differentiable_outputs
        For operators with several outputs; by default all of floating point dtype.
    forward
        How tangents are computed; see `mt_autograd.tangent_rules`. By default it follows from the formulas.
    """
    _enter(name, formulas, (), node, differentiable_outputs, forward)


def joint_derivative(
    name: str, arguments: Sequence[str], formula: Function, /, *, node: str | None = None,
    differentiable_outputs: tuple[bool, ...] | None = None, forward: Forward = None,
) -> None:  # fmt: skip
    """Declare one formula for several arguments; it returns their gradients, and ``mask`` tells which are wanted."""
    _enter(name, {"": formula}, tuple(arguments), node, differentiable_outputs, forward)


def non_differentiable(*names: str, history_stays: bool = False) -> None:
    """Declare that results of these operators have no gradient.

    Their in-place forms cut the tensor off its history; with `history_stays` they are as if nothing was recorded.
    """
    for name in names:
        _enter(name, {}, (), None, None)
        _RULES[name].history_stays = history_stays


def same_derivative(name: str, of: Overload, node: str | None = None) -> None:
    """Declare that an operator has the derivative of another, whose arguments have the same names."""
    rule = find_rule(of)
    if rule is None:
        raise ValueError(f"{of.name} has no derivative that {name} could have")
    _enter(name, rule.formulas, rule.joint, node if rule.formulas else None, rule.differentiable_outputs, rule.forward)


def real_only(*names: str) -> None:
    """Declare that calls of these operators with complex results cannot be recorded, as in PyTorch."""
    for name in names:
        _RULES[name].real_only = True


def forward_rule(forward: Forward, *names: str) -> None:
    """Declare how tangents of operators whose derivatives are declared are computed (`mt_autograd.tangent_rules`)."""
    for name in names:
        _RULES[name].forward = forward


def takes_inference(*names: str) -> None:
    """Declare that copies out of inference mode, which these operators make, are recorded where the original is not."""
    for name in names:
        _RULES[name].takes_inference = True


def end_at_integers(*names: str) -> None:
    """Declare that what these operators copy to integers is not recorded, also where integers require grad."""
    for name in names:
        _RULES[name].ends_at_integers = True


def refuse_integers(*names: str) -> None:
    """Declare that calls of these operators with integers for a result cannot be recorded, as in PyTorch."""
    for name in names:
        _RULES[name].refuses_integers = True


def zero(grad: Any) -> Any:
    """The formula of an argument that the result does not follow: a step function's, the old value in ``fill_``."""
    return ops.zeros_like(grad)


def zeros(grad: Any, self_spec: Any) -> Any:
    """The formula of an argument ``self`` of another shape than the result, which does not follow its elements."""
    return ops.zeros(self_spec.shape, dtype=self_spec.dtype, device=grad.device)


def _enter(
    name: str, formulas: dict[str, Function], joint: tuple[str, ...], node: str | None,
    differentiable_outputs: tuple[bool, ...] | None, forward: Forward = None,
) -> None:  # fmt: skip
    if name in _RULES:
        raise ValueError(f"the derivative of {name} is declared twice")
    packet = name.partition(".")[0]
    counted = f"{camel_case(packet)}Backward{_COUNTS.get(packet, 0)}"
    if node == counted:
        raise ValueError(f"{name} is called {node} without being told so")
    _COUNTS[packet] = _COUNTS.get(packet, 0) + 1
    _RULES[name] = Rule(name, formulas, joint, node or counted, differentiable_outputs, forward)
    if name in OVERLOADS:
        OVERLOADS[name].cache.clear()  # closures that do not know of it


_COUNTS: dict[str, int] = {}


def camel_case(packet: str) -> str:
    """``native_layer_norm`` to ``NativeLayerNorm``, as the names of graph nodes are made."""
    return "".join(part.title() for part in packet.split("_"))


def find_rule(overload: Overload) -> Rule | None:
    """The rule of an overload: its own, else that of the functional form it derives from; None when there is none."""
    load_family("mt_autograd.derivatives", overload.family)
    rule = _RULES.get(overload.name)
    if rule is None and overload.declaration.functional is not None:
        rule = _RULES.get(overload.declaration.functional)
    return rule


class Formula:
    """A formula, which items of the pool are its arguments, and the bit of the argument that it is for."""

    __slots__ = ("_one", "_select", "bit", "function")

    def __init__(self, function: Function, indexes: tuple[int, ...], bit: int) -> None:
        self.function = function
        self.bit = bit
        self._one = indexes[0] if len(indexes) == 1 else None
        self._select = itemgetter(*indexes) if len(indexes) > 1 else lambda pool: ()

    def call(self, pool: Sequence[Any]) -> Any:
        """Apply the formula to its arguments."""
        one = self._one
        return self.function(*self._select(pool)) if one is None else self.function(pool[one])


class SavedSlot:
    """A tensor that some formula asks for.

    Attributes
    ----------
    name : str
        As the formula spells it: an argument, or ``result``.
    position : int
        Of the argument in the schema, or of the output.
    wanted_by : int
        Bit mask over the differentiable arguments: it is saved if one of them has an edge.
    edge : int or None
        Of a single tensor that is itself differentiable: which pair of the node's edges is its own.
    """

    __slots__ = ("edge", "is_list", "is_result", "name", "position", "wanted_by")

    def __init__(self, name: str, position: int, wanted_by: int, is_result: bool, is_list: bool) -> None:
        self.edge: int | None = None
        self.name = name
        self.position = position
        self.wanted_by = wanted_by
        self.is_result = is_result
        self.is_list = is_list


class Plan:
    """A rule worked out against a schema.

    Attributes
    ----------
    positions : tuple of int
        Schema positions of the differentiable arguments, in the schema's order; `lists` tells which take several
        tensors.
    formulas : tuple of Formula
        One per differentiable argument; with `joint`, one in all.
    saved : tuple of SavedSlot
        Tensors to save; `values` are (name, position) of other arguments to keep, `specs` (name, position, kind) of
        tensors whose layout to keep: its ``"spec"``, the specs of a ``"list"``, its ``"offset"``, its ``"device"``, or,
        where only the argument's own formula asks, the ``"strides"``: the rest of the spec is known from where the
        argument's gradient goes.

    `inputs`, `saved_inputs`, `saved_outputs`, `has_lists` and `several` (arguments) say the same again for recording.
    """

    __slots__ = (
        "formulas",
        "has_lists",
        "inputs",
        "joint",
        "lists",
        "positions",
        "rule",
        "saved",
        "saved_inputs",
        "saved_outputs",
        "schema",
        "several",
        "specs",
        "uses_grad",
        "values",
    )

    def __init__(self, rule: Rule, schema: Schema) -> None:
        self.rule = rule
        self.schema = schema
        self.joint = bool(rule.joint)
        index = {argument.name: i for i, argument in enumerate(schema.arguments)}
        names = rule.joint or tuple(rule.formulas)
        for name in names:
            if name not in index:
                raise ValueError(
                    f"the derivative of {rule.name} names an argument '{name}' that {schema} does not have"
                )
        ordered = tuple(sorted(names, key=index.__getitem__))
        if self.joint and ordered != rule.joint:
            raise ValueError(
                f"the arguments of the joint derivative of {rule.name} must follow the schema: {', '.join(ordered)}"
            )
        self.positions = tuple(index[name] for name in ordered)
        self.lists = tuple(schema.arguments[i].is_list for i in self.positions)
        self.has_lists = any(self.lists)
        self.several = len(ordered) > 1
        self.inputs = tuple((position, 1 << i, self.lists[i]) for i, position in enumerate(self.positions))
        functions = [rule.formulas[""]] if self.joint else [rule.formulas[name] for name in ordered]
        wanted = [(1 << len(ordered)) - 1] if self.joint else [1 << i for i in range(len(ordered))]
        parameters = [tuple(inspect.signature(function).parameters) for function in functions]
        self._collect(index, list(zip(parameters, wanted, strict=True)))
        where = self._pool()
        self.formulas = tuple(
            Formula(function, tuple(where[p] for p in names), bit)
            for function, names, bit in zip(functions, parameters, wanted, strict=True)
        )
        self.uses_grad = any("grad" in names for names in parameters)

    def _collect(self, index: dict[str, int], wants: list[tuple[tuple[str, ...], int]]) -> None:
        """Sort what the formulas ask for into saved tensors, values and specs."""
        masks: dict[str, int] = {}
        for names, bit in wants:
            for name in names:
                masks[name] = masks.get(name, 0) | bit
        saved, values, specs = [], [], []
        for name, mask in masks.items():
            if name in ("grad", "grads") or name == "mask" and self.joint:  # else an argument may be called so
                continue
            if name in index:
                argument = self.schema.arguments[index[name]]
                if argument.is_tensor:
                    saved.append(SavedSlot(name, index[name], mask, False, argument.is_list))
                else:
                    values.append((name, index[name]))
            elif name.endswith("_spec") and name[:-5] in index:
                specs.append((name, index[name[:-5]], self._spec_kind(index[name[:-5]], mask)))
            elif name.endswith("_offset") and name[:-7] in index:
                specs.append((name, index[name[:-7]], "offset"))
            elif name.endswith("_device") and name[:-7] in index:
                specs.append((name, index[name[:-7]], "device"))
            elif name.startswith("result") and (name == "result" or name[6:].isdecimal()):
                saved.append(SavedSlot(name, int(name[6:] or 0), mask, True, False))
            else:
                raise ValueError(f"a formula of {self.rule.name} asks for '{name}', which {self.schema} does not have")
        self.saved = tuple(sorted(saved, key=lambda slot: (slot.is_result, slot.position)))
        for slot in self.saved:
            if not slot.is_result and slot.position in self.positions and not self.has_lists:
                slot.edge = self.positions.index(slot.position)
        self.saved_inputs = tuple((s.position, s.wanted_by, s.is_list) for s in self.saved if not s.is_result)
        self.saved_outputs = tuple((s.position, s.wanted_by) for s in self.saved if s.is_result)
        self.values = tuple(values)
        self.specs = tuple(specs)

    def _spec_kind(self, position: int, wanted_by: int) -> str:
        if self.schema.arguments[position].is_list:
            return "list"
        own = position in self.positions and not self.has_lists and not self.joint
        return "strides" if own and wanted_by == 1 << self.positions.index(position) else "spec"

    def _pool(self) -> dict[str, int]:
        names = [s.name for s in self.saved] + [name for name, _ in self.values] + [name for name, _, _ in self.specs]
        return {"grad": GRAD, "grads": GRADS, "mask": MASK, **{name: FIRST_SAVED + i for i, name in enumerate(names)}}


def plan_for(rule: Rule, schema: Schema) -> Plan:
    """The rule prepared for operators of this schema."""
    return Plan(rule, schema)
