"""Parts of graphs as modules of their own, and layers folded: the values stay, and so does what is left out."""

from __future__ import annotations

import operator
import random

import pytest

import mindtorch as torch
from mindtorch import fx, nn
from mindtorch.fx.experimental import optimization
from mindtorch.fx.passes.graph_manipulation import replace_target_nodes_with
from mindtorch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from mindtorch.fx.passes.operator_support import (
    OperatorSupport,
    OpSupports,
    any_chain,
    chain,
    create_op_support,
)
from mindtorch.fx.passes.shape_prop import ShapeProp
from mindtorch.fx.passes.utils.common import compare_graphs
from mindtorch.fx.passes.utils.fuser_utils import fuse_by_partitions, topo_sort, validate_partition


def _drawn(seed):
    """A random graph of two inputs."""
    draw = random.Random(seed)
    graph = fx.Graph()
    nodes = [graph.placeholder("a"), graph.placeholder("b")]
    for _ in range(12):
        if draw.random() < 0.4:
            nodes.append(graph.call_function(draw.choice([torch.neg, torch.sin, torch.relu]), (draw.choice(nodes),)))
        else:
            function = draw.choice([operator.add, operator.mul])
            nodes.append(graph.call_function(function, (draw.choice(nodes), draw.choice(nodes))))
    graph.output(tuple(draw.sample(nodes[2:], 3)))
    return fx.GraphModule({}, graph)


ARITHMETIC = create_op_support(lambda modules, node: node.target in (operator.add, operator.mul))


@pytest.mark.parametrize("seed", range(40))
def test_groups_of_random_graphs_compute_what_their_steps_did(seed):
    a, b = torch.randn(3), torch.randn(3)
    plain, module = _drawn(seed), _drawn(seed)
    partitioner = CapabilityBasedPartitioner(module, ARITHMETIC, allows_single_node_partition=True)
    partitions = partitioner.propose_partitions()
    assert all(validate_partition(list(p.nodes)) for p in partitions)
    assert sum(p.size() for p in partitions) == len(
        [n for n in plain.graph.nodes if n.target in (operator.add, operator.mul)]
    )
    fused = partitioner.fuse_partitions(partitions)
    fused.graph.lint()
    assert not [n for n in fused.graph.nodes if n.target in (operator.add, operator.mul)]
    for one, other in zip(fused(a, b), plain(a, b), strict=True):
        assert torch.equal(one, other)
    for one, other in zip(fx.Interpreter(fused).run(a, b), plain(a, b), strict=True):
        assert torch.equal(one, other)


def _two_paths(a, b, c):
    x = a + b
    y = x.relu()
    w = (torch.neg(y) + c) * 2
    return w + x, y


def test_groups_are_those_of_pytorch():
    partitioner = CapabilityBasedPartitioner(fx.symbolic_trace(_two_paths), ARITHMETIC)
    (partition,) = partitioner.propose_partitions()  # one step alone is no group
    assert [node.name for node in partition.nodes] == ["add_1", "mul", "add_2"]
    fused = partitioner.fuse_partitions([partition])
    assert "fused_0(neg, c, add)" in fused.code
    assert fused.fused_0.code.strip().startswith("def forward(self, neg, c, add):")


def test_idle_steps_leave_the_ends_of_groups():
    def program(a):
        return (torch.flatten(a).relu().exp().flatten() + 1).sum()

    names = ["flatten", "relu", "exp", "flatten_1"]
    module = fx.symbolic_trace(program)
    nodes = [node for node in module.graph.nodes if node.name in names]
    partition = Partition(0, nodes)
    everything = create_op_support(lambda modules, node: True)
    partitioner = CapabilityBasedPartitioner(module, everything, non_compute_ops=["torch.flatten", "flatten"])
    partitioner.remove_bookend_non_compute_ops([partition])
    assert [node.name for node in partition.nodes] == ["relu", "exp"]


def test_what_cannot_be_one_module_is_refused():
    module = fx.symbolic_trace(_two_paths)
    x, _, _, add_1, *_ = [node for node in module.graph.nodes if node.op.startswith("call")]
    assert not validate_partition([x, add_1])
    with pytest.raises(AssertionError, match="dependency cycles"):
        fuse_by_partitions(module, [[x, add_1]])
    assert topo_sort([add_1, x]) == [add_1, x]
    other = fx.symbolic_trace(_two_paths)
    with pytest.raises(AssertionError, match="is not found in graph module"):
        fuse_by_partitions(other, [[x]])


def test_support_is_told_by_names_and_dtypes():
    module = fx.symbolic_trace(lambda a, b: torch.neg(a) + b)
    ShapeProp(module).propagate(torch.ones(2), torch.ones(2, dtype=torch.float64))
    neg, add = (node for node in module.graph.nodes if node.op == "call_function")
    floats = OperatorSupport({"torch.neg": (((torch.float32,),), {}), "_operator.add": (((torch.int64,),), {})})
    assert [floats.is_node_supported({}, node) for node in (neg, add)] == [True, False]
    named = OperatorSupport({"_operator.add": None})
    assert [any_chain(floats, named).is_node_supported({}, node) for node in (neg, add)] == [True, True]
    assert [chain(floats, named).is_node_supported({}, node) for node in (neg, add)] == [False, False]
    assert not OpSupports.decline_if_input_dtype(torch.float64).is_node_supported({}, add)
    assert OpSupports.decline_if_input_dtype(torch.float64).is_node_supported({}, neg)
    assert not OpSupports.decline_if_node_in_names({"neg"}).is_node_supported({}, neg)


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.drop = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout()
        self.linear, self.bn1 = nn.Linear(4, 4), nn.BatchNorm1d(4)

    def forward(self, x):
        return self.bn1(self.linear(self.drop(self.bn(self.conv(x)).mean((2, 3)))))


def test_norms_are_folded_into_the_layers_before_them():
    module, x = Normed(), torch.randn(2, 3, 5, 5)
    module(x)  # so that the norms know something
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        optimization.fuse(module)
    module.eval()
    fused = optimization.fuse(module)
    assert [n.target for n in fused.graph.nodes if n.op == "call_module"] == ["conv", "drop", "linear"]
    assert torch.allclose(fused(x), module(x), atol=1e-6)
    assert fused.conv is not module.conv
    without = optimization.remove_dropout(module)
    assert [n.target for n in without.graph.nodes if n.op == "call_module"] == ["conv", "bn", "linear", "bn1"]
    with pytest.raises(NotImplementedError, match="optimize_for_inference is not supported"):
        optimization.optimize_for_inference(module)


def test_layers_that_others_use_are_not_folded():
    class Shared(Normed):
        def forward(self, x):
            y = self.conv(x)
            return self.bn(y) + self.bn(self.conv(x + 1)) + y

    module, x = Shared().eval(), torch.randn(2, 3, 5, 5)
    module.bn.running_mean += 1
    fused = optimization.fuse(module)
    assert torch.equal(fused(x), module(x))


def test_targets_are_replaced():
    module = fx.symbolic_trace(lambda a, b: torch.add(a, b) * 2)
    replace_target_nodes_with(module, "call_function", torch.add, "call_function", torch.sub)
    module.recompile()
    assert module(torch.ones(1), torch.ones(1)).item() == 0
    assert compare_graphs(module.graph, fx.symbolic_trace(lambda a, b: torch.sub(a, b) * 2).graph)
    assert not compare_graphs(module.graph, fx.symbolic_trace(lambda a, b: torch.add(a, b) * 2).graph)
