"""Parts of graphs by tags, merged products, arguments by name and lists of passes."""

import operator

import pytest

import mindtorch as torch
from mindtorch import fx, nn
from mindtorch.fx.experimental.merge_matmul import are_nodes_independent, may_depend_on, merge_matmul
from mindtorch.fx.experimental.normalize import NormalizeArgs
from mindtorch.fx.passes.pass_manager import (
    PassManager,
    inplace_wrapper,
    loop_pass,
    these_before_those_pass_constraint,
    this_before_that_pass_constraint,
)
from mindtorch.fx.passes.split_utils import split_by_tags


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)
        self.w = nn.Parameter(torch.ones(2))
        self.tail = nn.Sequential(nn.ReLU(), nn.Linear(2, 2))

    def forward(self, a, b):
        r1 = self.first(a)
        r3 = torch.cat([r1, self.second(b)]) * self.w
        return self.tail(self.third(r3)) + r1


def tagged(net, without=None):
    traced = fx.symbolic_trace(net)
    for node in traced.graph.nodes:
        if node.op not in ("placeholder", "output", "get_attr") and node.name != without:
            node.tag = "ro" if node.name == "first" else "end" if node.name in ("tail_0", "tail_1", "add") else "main"
    return traced


@pytest.mark.parametrize("return_tuple", [False, True])
def test_parts_do_what_the_graph_does(return_tuple):
    net, args = Net(), (torch.randn(1, 2), torch.randn(1, 2))
    whole, names = split_by_tags(tagged(net), ["ro", "main", "end"], return_fqn_mapping=True, return_tuple=return_tuple)
    assert torch.equal(whole(*args), net(*args))
    assert [name for name, _ in whole.named_children()] == ["ro", "main", "end"]
    assert names == {
        "first": "ro.first", "second": "main.second", "w": "main.w", "third": "main.third", "tail.0": "end.tail.0",
        "tail.1": "end.tail.1",
    }  # fmt: skip
    if not return_tuple:
        assert (
            whole.code.split()
            == (
                "def forward(self, a, b): ro = self.ro(a); a = None main = self.main(b, ro); b = None "
                "end = self.end(main, ro); main = ro = None return end"
            ).split()
        )
        assert [n.name for n in whole.main.graph.nodes] == [
            "b",
            "first",
            "second",
            "cat",
            "w",
            "mul",
            "third",
            "output",
        ]


def test_several_results_of_a_part():
    traced = fx.symbolic_trace(lambda x: (x + 1, x * 2, x + 1 - x * 2))
    for node, tag in zip(traced.graph.find_nodes(op="call_function", target=operator.add), "aa", strict=True):
        node.tag = tag
    for node in traced.graph.nodes:
        node.tag = "a" if node.op == "call_function" and node.target is not operator.sub else "b"
    x = torch.randn(3)
    assert [t.tolist() for t in split_by_tags(traced, ["a", "b"])(x)] == [t.tolist() for t in traced(x)]


def test_tags_that_cannot_be():
    with pytest.raises(AssertionError, match="Component main order must be >= max of its upstream"):
        split_by_tags(tagged(Net()), ["main", "ro", "end"])
    with pytest.raises(AssertionError, match="Node does not have tag: %add"):
        split_by_tags(tagged(Net(), without="add"), ["ro", "main", "end"])
    with pytest.raises(KeyError, match="end"):
        split_by_tags(tagged(Net()), ["ro", "main"])


def test_products_by_one_tensor_are_merged():
    def products(a, b, c, d):
        return torch.matmul(a, c) + 1, torch.matmul(b, c), torch.matmul(a, d)

    class Products(nn.Module):
        def forward(self, a, b, c, d):
            return products(a, b, c, d)

    merged = merge_matmul(Products())
    assert len(merged.graph.find_nodes(op="call_function", target=torch.matmul)) == 2
    args = torch.randn(2, 3), torch.randn(4, 3), torch.randn(3, 5), torch.randn(3, 2)
    assert all(map(torch.allclose, merged(*args), products(*args)))


def test_products_that_depend_on_each_other_are_not():
    class Chain(nn.Module):
        def forward(self, a, c):
            return torch.matmul(torch.matmul(a, c), c)

    merged = merge_matmul(Chain())
    nodes = merged.graph.find_nodes(op="call_function", target=torch.matmul)
    assert len(nodes) == 2 and not are_nodes_independent(nodes)
    assert may_depend_on(nodes[1], nodes[0]) and not may_depend_on(nodes[0], nodes[1])


@pytest.mark.parametrize("by_name", [True, False])
def test_arguments_are_normalized(by_name):
    class Called(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            return torch.sum(self.linear(x), 0) + operator.neg(nn.functional.relu(x)).sum()

    net, x = Called(), torch.randn(3, 2)
    found = NormalizeArgs(fx.symbolic_trace(net), by_name).transform()
    text = "torch.sum(input = linear, dim = 0" if by_name else "torch.sum(linear, 0, keepdim = False"
    assert text in found.code
    assert torch.equal(found(x), net(x))


def plus(x):
    return x + 1


def twice(x):
    return x * 2


def test_passes_run_in_order():
    manager = PassManager([plus, twice], [this_before_that_pass_constraint(plus, twice)])
    assert manager(1) == 4
    manager.replace_pass(plus, loop_pass(plus, 3))
    assert manager(0) == 6
    manager.remove_pass(["plus"])
    assert manager(1) == 2
    manager.add_pass(plus)
    with pytest.raises(RuntimeError, match="pass schedule constraint violated. Expected <function twice"):
        manager(1)
    looped = [loop_pass(twice, 3), loop_pass(plus, 5)]
    with pytest.raises(RuntimeError, match="violated"):
        PassManager(looped, [these_before_those_pass_constraint(plus, twice)]).validate()


def test_passes_in_loops_and_in_place():
    assert loop_pass(plus, predicate=lambda x: x < 5)(0) == 5
    for given in ({}, {"n_iter": 1, "predicate": bool}):
        with pytest.raises(AssertionError, match="Exactly one of"):
            loop_pass(plus, **given)
    assert inplace_wrapper(lambda x: x.append(2))([1]) == [1, 2]
