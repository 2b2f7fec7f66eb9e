"""Every declared derivative fits its operator's schema; what a formula asks for is what it gets."""

from __future__ import annotations

import pkgutil

import pytest

import mt_autograd
import mt_core.declarations
from mt_autograd import rules
from mt_autograd.layer import class_for, layer
from mt_core.dispatch.registry import DECLARATIONS, OVERLOADS, find_overload, load_family
from mt_core.schema import parse_schema
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)

FAMILIES = {
    name.partition("_")[0] for _, name, _ in pkgutil.iter_modules(mt_core.declarations.__path__) if name[0] != "_"
}
for _family in FAMILIES:
    load_family("mt_core.declarations", _family)
    load_family("mt_autograd.derivatives", _family)


@pytest.mark.parametrize("name", sorted(rules._RULES))
def test_rule_fits_its_operator(name):
    assert name in OVERLOADS, f"a derivative is declared for {name}, which is no operator"
    overload = find_overload(name)
    if rules._RULES[name].formulas:
        plan = rules.plan_for(rules._RULES[name], overload.schema)
        assert plan.positions
        assert class_for(overload).__name__ == plan.rule.node_name.rpartition("::")[2]


@pytest.mark.parametrize("name", sorted(n for n, d in DECLARATIONS.items() if d.form == "inplace"))
def test_in_place_forms_have_a_class_of_nodes(name):
    overload = find_overload(name)
    rule = rules.find_rule(overload)
    if rule is not None:
        assert class_for(overload).plan.positions[0] == 0


def plan(schema, **formulas):
    rule = rules.Rule("op", formulas, (), "OpBackward0", None)
    return rules.plan_for(rule, parse_schema(schema))


def test_parameters_choose_what_is_saved():
    found = plan(
        "op(Tensor self, Tensor other, int dim, *, Scalar alpha=1) -> Tensor",
        self=lambda grad, other, dim: None,
        other=lambda grad, self_spec, other_spec, result, alpha: None,
    )
    assert [(s.name, s.wanted_by, s.is_result) for s in found.saved] == [("other", 1, False), ("result", 2, True)]
    assert found.values == (("dim", 2), ("alpha", 3))
    # The layout of `other` is known from where its gradient goes; that of `self`, for `other`'s formula, need not be.
    assert found.specs == (("self_spec", 0, "spec"), ("other_spec", 1, "strides"))


def test_unknown_parameter_is_refused():
    with pytest.raises(ValueError, match="asks for 'othr'"):
        plan("op(Tensor self, Tensor other) -> Tensor", self=lambda grad, othr: None)


def test_unknown_argument_is_refused():
    with pytest.raises(ValueError, match="names an argument 'input'"):
        plan("op(Tensor self) -> Tensor", input=lambda grad: None)


def test_joint_arguments_follow_the_schema():
    rule = rules.Rule("op", {"": lambda grads, mask: None}, ("weight", "input"), "OpBackward0", None)
    with pytest.raises(ValueError, match="must follow the schema: input, weight"):
        rules.plan_for(rule, parse_schema("op(Tensor input, Tensor weight) -> Tensor"))


def test_declared_twice():
    with pytest.raises(ValueError, match="declared twice"):
        rules.derivative("mul.Tensor", self=lambda grad: grad)


@pytest.mark.parametrize(
    ("packet", "expected"),
    [
        ("native_layer_norm", "NativeLayerNorm"),
        ("log1p", "Log1P"),
        ("_softmax", "Softmax"),
        ("max_pool2d", "MaxPool2D"),
    ],
)
def test_names_of_nodes(packet, expected):
    assert rules.camel_case(packet) == expected


def test_only_what_is_wanted_is_saved():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2)
    node = (a * b).grad_fn
    assert node._saved_other is b
    assert node._saved_self is None


def test_layer_speaks_the_contract():
    from mt_core.plugins.protocols import CONTRACT, AutogradLayer, Layer

    assert layer.contract == CONTRACT
    for protocol in Layer, AutogradLayer:
        assert {name for name in vars(protocol) if name[0] != "_"} <= set(dir(layer))


def test_operator_without_rule_refuses_in_backward():
    from mt_autograd.layer import record_not_implemented

    overload = find_overload("mul.Tensor")
    record = record_not_implemented(overload, lambda a, b: a.detach() * b.detach())
    a = torch.ones(2, requires_grad=True)
    result = record(a, a)
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="^derivative for aten::mul is not implemented\n") as refusal:
        result.sum().backward()
    assert "Declare the derivative of mul.Tensor" in refusal.value.__notes__[0]


def test_statistics_of_a_batch_have_no_gradient() -> None:
    x = torch.ones(4, 3, requires_grad=True)
    for made in (
        torch._batch_norm(x, None, None, None, None, 1e-5),
        torch.native_batch_norm(x, *[None] * 4, True, 0.1, 1e-5),
    ):
        assert [t.requires_grad for t in made] == [True] + [False] * (len(made) - 1)
