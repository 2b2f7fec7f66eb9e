"""``torch.autograd.graph.Node``: what every node is an instance of; and what of a tensor's hooks programs see."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import mt_core as torch
from mt_autograd.function import BackwardCFunction, DelayedError, Function
from mt_autograd.graph import Node
from mt_autograd.node import AccumulateGrad


class _Doubled(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        assert isinstance(ctx, Node)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        assert isinstance(ctx, Node)
        return grad * 2


def _nodes() -> list[Any]:
    x = torch.ones(3, 3, requires_grad=True)
    changed = x * 1
    row = changed[0]
    row.add_(1)
    found = [f.grad_fn for f in (x.exp(), changed, row, _Doubled.apply(x))]
    return [*found, found[0].next_functions[0][0]]


def test_every_node_is_an_instance_whatever_its_class_derives_from() -> None:
    for node in _nodes():
        assert isinstance(node, Node) and issubclass(type(node), Node) and Node not in type(node).mro()
    assert all(issubclass(cls, Node) for cls in (AccumulateGrad, BackwardCFunction, DelayedError))


def test_every_node_has_what_the_class_promises() -> None:
    for node in _nodes():
        missing = [name for name in Node.__abstractmethods__ if not hasattr(node, name)]
        assert not missing, f"{node}: {missing}"


def test_what_is_no_node_is_no_instance() -> None:
    assert not any(isinstance(value, Node) for value in (None, 1, Node, torch.ones(2)))
    assert not issubclass(int, Node)


def test_the_class_is_abstract_and_its_subclasses_are_apart() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Node()  # type: ignore[abstract]
    own = type("Own", (Node,), {})
    assert issubclass(own, Node) and not any(isinstance(node, own) for node in _nodes())


@pytest.mark.parametrize("leaf", [True, False])
def test_hooks_of_a_tensor_are_shown_as_they_are_registered(leaf: bool) -> None:
    x = torch.ones(2, requires_grad=True)
    tensor = x if leaf else x * 2
    assert tensor._backward_hooks is None
    handle = tensor.register_hook(lambda grad: grad * 3)
    assert list(tensor._backward_hooks.values()) == [tensor._backward_hooks[handle.id]]
    handle.remove()
    assert tensor._backward_hooks == {}
    with pytest.raises(RuntimeError, match="not allowed"):
        del tensor._backward_hooks


def test_hooks_of_a_leaf_may_be_replaced() -> None:
    x = torch.ones(2, requires_grad=True)
    seen = []
    x._backward_hooks = OrderedDict({5: lambda grad: grad * 10})
    x._post_accumulate_grad_hooks = OrderedDict({1: lambda leaf: seen.append(leaf.grad.tolist())})
    x.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0] and seen == [[10.0, 10.0]]
    x._backward_hooks = x._post_accumulate_grad_hooks = x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0] and len(seen) == 1


def test_hooks_are_refused_where_they_could_not_be_called() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="dict or None"):
        x._backward_hooks = 3
    with pytest.raises(RuntimeError, match="leaf tensors only"):
        (x * 2)._backward_hooks = OrderedDict()
    with pytest.raises(TypeError, match="expected a variable"):
        (x * 2).grad_fn._register_hook_dict(3)


@pytest.mark.parametrize(
    "name",
    "device dtype edges hooks inputs keys mask more_outputs outputs save sequence_nr shape strides variable".split(),
)
def test_what_a_program_keeps_at_its_node_is_its_own(name: str) -> None:
    """The engine's own facts about a node have other names than those a program takes, such as ``ctx.shape``."""

    class Sum(Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, (2, 3))
            return x.sum(), x.new_ones(4)

        @staticmethod
        def backward(ctx, grad, other):
            assert getattr(ctx, name) == (2, 3)
            return grad.expand(2, 3)

    x = torch.ones(2, 3, requires_grad=True)
    total, _ = Sum.apply(x * 2)
    assert getattr(total.grad_fn, name) == (2, 3)
    total.register_hook(lambda grad: grad * 3)
    total.backward()
    assert x.grad.tolist() == [[6.0] * 3] * 2
