"""Passes over graphs: what they change is what they say, and the values stay."""

import operator

import pytest

import mindtorch as torch
from mindtorch import fx, nn
from mindtorch.fx.experimental import const_fold
from mindtorch.fx.experimental.graph_gradual_typechecker import GraphTypeChecker, broadcast_types
from mindtorch.fx.experimental.rewriter import RewritingTracer
from mindtorch.fx.passes import tools_common
from mindtorch.fx.passes.annotate_getitem_nodes import annotate_getitem_nodes
from mindtorch.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from mindtorch.fx.passes.graph_transform_observer import GraphTransformObserver
from mindtorch.fx.passes.infra.pass_base import PassBase, PassResult
from mindtorch.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint
from mindtorch.fx.passes.shape_prop import ShapeProp
from mindtorch.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions
from mindtorch.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise


class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(2)), nn.Parameter(torch.randn(2))
        self.linear = nn.Linear(2, 2)

    def forward(self, x, y):
        a = self.a + self.b
        return x - a * y + self.a * 2 + self.b + self.linear(self.b) + torch.rand_like(x) * 0


def test_what_depends_on_no_input_is_computed_once():
    module = Constants()
    folded = const_fold.split_const_subgraphs(module)
    x, y = torch.randn(2), torch.randn(2)
    assert torch.equal(folded(x, y), module(x, y))
    assert [n.target for n in folded.graph.nodes if n.op == "get_attr"] == ["b", "_FX_CONST_FOLDED_ATTRS"]
    assert [n.name for n in folded.const_subgraph_module.graph.output_node().args[0]] == ["add", "mul_1", "linear"]
    with torch.no_grad():
        module.a.zero_()
    assert not torch.equal(folded(x, y), module(x, y))  # it was computed before
    with pytest.raises(AssertionError, match="already been run"):
        folded.run_folding()


def test_random_numbers_and_chosen_nodes_are_not_folded():
    graph = fx.Graph()
    x, drawn = graph.placeholder("x"), graph.call_function(torch.rand, (2,))
    drawn = graph.call_function(torch.nn.functional.dropout, (graph.call_method("bernoulli", (drawn,)),))
    graph.output(graph.call_function(torch.add, (x, drawn)))
    folded = const_fold.split_const_subgraphs(fx.GraphModule({}, graph))
    assert folded.const_subgraph_module is None
    assert len({tuple(folded(torch.zeros(2)).tolist()) for _ in range(20)}) > 1
    kept = const_fold.split_const_subgraphs(Constants(), lambda node: node.target in (operator.add, "linear"))
    assert [n.target for n in kept.const_subgraph_module.graph.nodes if n.op == "call_function"] == [operator.mul]


def _counted(function, banned=None):
    traced = fx.symbolic_trace(function)
    result = CSEPass(banned)(traced)
    x = torch.randn(2, 2)
    assert torch.equal(result.graph_module(x.clone()), function(x.clone()))
    assert result.modified == (len(result.graph_module.graph.nodes) < len(traced.graph.nodes))
    assert not CSEPass(banned)(result.graph_module).modified
    return len(traced.graph.nodes) - len(result.graph_module.graph.nodes)


@pytest.mark.parametrize(
    ("function", "fewer"),
    [
        (lambda x: x.cos() + x.cos(), 1),
        (lambda x: x.cos().sin() + x.cos().sin(), 2),
        (lambda x: x.sum(dim=[0, 1]) + x.sum(dim=[0, 1]), 1),
        (lambda x: x.sum(dim=(0, 1)) + x.sum(dim=[0, 1]), 0),
        (lambda x: x * 1 + x * 1.0 + x * True, 0),
        (lambda x: torch.relu(x[:, 0]) + torch.relu(x[:, 0]), 2),
        (lambda x: x.add_(1) + x.add_(1), 0),
        (lambda x: torch.relu_(x) + torch.relu_(x), 0),
        (lambda x: torch.bitwise_not(x > 0) & torch.bitwise_not(x > 0), 2),
        (lambda x: torch.exp(x, out=x) + torch.exp(x, out=x), 0),
        (lambda x: torch.add(x, 1, alpha=2) + torch.add(x, 1, alpha=3), 0),
    ],
)
def test_what_is_computed_twice_is_computed_once(function, fewer):
    assert _counted(function) == fewer


def test_random_and_banned_operators_are_not_shared():
    def drawn(x):
        return torch.rand_like(x) - torch.rand_like(x) + torch.nn.functional.dropout(x) - torch.nn.functional.dropout(x)

    traced = fx.symbolic_trace(drawn)
    assert not CSEPass(get_CSE_banned_ops())(traced).modified
    graph = fx.Graph()
    x = graph.placeholder("x")
    for _ in range(2):
        graph.call_function(operator.iadd, (x, 1))
    assert not CSEPass()(fx.GraphModule({}, graph)).modified
    ones = [graph.call_function(torch.ops.aten.add.Tensor, (x, 1)) for _ in range(2)]
    graph.output(tuple(ones))
    module = fx.GraphModule({}, graph)
    assert CSEPass()(module).modified
    assert not CSEPass({torch.ops.aten.add})(module).modified


class Doubling(PassBase):
    def call(self, graph_module):
        nodes = graph_module.graph.find_nodes(op="call_function", target=torch.add)
        for node in nodes:
            node.target = torch.mul
        return PassResult(graph_module, bool(nodes))


def _without_result(graph_module):
    for node in graph_module.graph.find_nodes(op="call_function", target=torch.mul):
        node.target = torch.sub


def test_passes_run_until_nothing_changes():
    traced = fx.symbolic_trace(lambda x: torch.add(x, x))
    result = PassManager([Doubling()], steps=5)(traced)
    assert result.modified
    assert "torch.mul" in result.graph_module.code
    assert not PassManager([Doubling()])(traced).modified
    with pytest.raises(Exception, match="the 'Doubling' pass|'_without_result' pass") as told:
        PassManager([_without_result])(traced)
    assert "pass_result_wrapper" in str(told.value.__cause__)
    assert "torch.sub" in PassManager([pass_result_wrapper(_without_result)])(traced).graph_module.code


def test_passes_stand_in_the_order_that_is_asked_for():
    passes = [lambda gm, i=i: PassResult(gm, False) for i in range(4)]
    first, _, _, last = passes
    manager = PassManager(list(passes), [this_before_that_pass_constraint(last, first)])
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        manager.validate_constraints()
    manager.solve_constraints()
    assert manager.passes.index(last) < manager.passes.index(first)
    manager.add_constraint(this_before_that_pass_constraint(first, last))
    with pytest.raises(RuntimeError, match="Circular dependency"):
        manager.solve_constraints()
    with pytest.raises(TypeError, match="only take in one variable"):
        manager.add_checks(lambda a, b: None)


def _disordered():
    traced = fx.symbolic_trace(lambda x: torch.relu(torch.neg(x) + 1) * 2)
    nodes = list(traced.graph.nodes)
    nodes[-2].prepend(nodes[1])  # neg stands behind what uses it
    return traced


@pytest.mark.parametrize("sort", [tools_common.legalize_graph, tools_common.stable_topological_sort])
def test_nodes_stand_behind_what_they_use(sort):
    traced = _disordered()
    with pytest.raises(RuntimeError):
        traced.graph.lint()
    sorted_module = sort(traced)
    sorted_module.graph.lint()
    sorted_module.recompile()
    assert torch.equal(sorted_module(-torch.ones(2)), torch.full((2,), 4.0))


def test_targets_have_names():
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1), nn.ReLU()))
    modules = dict(traced.named_modules())
    names = [tools_common.get_node_target(modules, n) for n in traced.graph.nodes if n.op == "call_module"]
    assert [name.rpartition(".")[2] for name in names] == ["Linear", "ReLU"]


def test_asserts_are_steps_when_programs_are_rewritten():
    class Checked(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, x, limit):
            y: torch.Tensor = x * self.weight
            assert limit > 2, "too small"
            return y

    tracer = RewritingTracer()
    graph = tracer.trace(Checked())
    traced = fx.GraphModule(tracer.root, graph)
    assert "torch._assert(gt, 'too small')" in traced.code
    assert traced(torch.ones(1), 3).item() == 1
    with pytest.raises(AssertionError, match="too small"):
        traced(torch.ones(1), 1)
    assert [n.type for n in traced.graph.find_nodes(op="call_function", target=operator.mul)] == [torch.Tensor]


def test_rewritten_functions_keep_closures_defaults_and_decorators():
    scale = 3

    def wrapper(function):
        return lambda x, by=2: function(x, by) + 1

    @wrapper
    def decorated(x, by=2):
        assert x.sum() > 0
        return x * scale * by

    def plain(x, by=2):
        assert x.sum() > 0
        return x * scale * by

    for function in (plain,):
        tracer = RewritingTracer()
        graph = tracer.trace(function)
        assert fx.GraphModule(tracer.root, graph)(torch.ones(1)).item() == 6
        with pytest.raises(AssertionError):
            fx.GraphModule(tracer.root, graph)(-torch.ones(1))
    assert decorated(torch.ones(1)).item() == 7


def test_overloads_are_steps_where_they_are_given_proxies():
    traced = fx.symbolic_trace(lambda x: torch.ops.aten.add.Tensor(torch.ops.aten.relu(x), 1))
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"] == [
        torch.ops.aten.relu, torch.ops.aten.add.Tensor,
    ]  # fmt: skip
    assert torch.equal(traced(-torch.ones(2)), torch.ones(2))


def test_functions_of_nn_look_at_the_name_that_tracers_exchange(monkeypatch):
    functional = torch.nn.functional
    assert "dropout" in fx.symbolic_trace(lambda x: functional.dropout(x, 0.5)).code
    monkeypatch.setattr(functional, "has_torch_function", lambda values: False)
    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        fx.symbolic_trace(functional.dropout)


def test_types_are_as_precise_as_what_is_known():
    assert TensorType[1, Dyn] == TensorType((1, Dyn))
    assert repr(TensorType((1, Dyn))) == "TensorType[(1, Dyn)]"
    assert is_consistent(TensorType((1, 2, 3)), TensorType((1, Dyn, 3)))
    assert not is_consistent(TensorType((1, 2)), TensorType((1, 3)))
    assert is_more_precise(TensorType((1, 2)), TensorType((1, Dyn)))
    assert not is_more_precise(TensorType((1, Dyn)), TensorType((1, 2)))
    assert broadcast_types(TensorType((1, 2, 3, Dyn)), TensorType((2, 3, 4))) == (
        TensorType((1, 2, 3, Dyn)), TensorType((1, 2, 3, 4)),
    )  # fmt: skip


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.relu = nn.Conv2d(3, 6, 5, stride=2, padding=1), nn.BatchNorm2d(6), nn.ReLU()
        self.pool, self.linear = nn.MaxPool2d(3, 2, ceil_mode=True), nn.Linear(7, 5)
        self.adaptive = nn.AdaptiveAvgPool2d((None, 4))

    def forward(self, x: TensorType((2, 3, 31, 30))):
        out: TensorType((2, 6, Dyn, Dyn)) = self.relu(self.norm(self.conv(x)))
        out = self.adaptive(self.linear(self.pool(out + out)))
        return torch.reshape(torch.transpose(torch.flatten(out, 1), 0, 1), [-1, 4])


def test_types_that_are_found_are_the_shapes():
    tracer = RewritingTracer()
    graph = tracer.trace(Layers())
    traced = fx.GraphModule(tracer.root, graph)
    assert GraphTypeChecker({}, traced).type_check()
    ShapeProp(traced).propagate(torch.randn(2, 3, 31, 30))
    for node in traced.graph.nodes:
        assert is_consistent(node.type, TensorType(tuple(node.meta["tensor_meta"].shape))), node
    assert [n.type for n in traced.graph.nodes if n.target == "adaptive"] == [TensorType((2, 6, 7, 4))]


@pytest.mark.parametrize(
    ("shape", "function", "error"),
    [
        ((1, 5), lambda x: torch.reshape(x, [1, 2, 3]), TypeError),
        ((1, 4), lambda x: torch.reshape(x, [2]), TypeError),
        ((1, 5), lambda x: torch.transpose(x, 0, 7), TypeError),
        ((1, 5), lambda x: torch.exp(x), RuntimeError),
        ((2, 3), lambda x: x + torch.transpose(x, 0, 1), TypeError),
    ],
)
def test_types_that_do_not_fit_are_refused(shape, function, error):
    traced = fx.symbolic_trace(function)
    next(iter(traced.graph.nodes)).type = TensorType(shape)
    with pytest.raises(error):
        GraphTypeChecker({}, traced).type_check()


# Where steps come from


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, x):
        return self.l(self.l(x).relu()) * 2


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.i, self.c = Inner(), nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x):
        return self.c(self.i(x)) + self.i(x)


def _names(nodes):
    return sorted(node.name for node in nodes)


def test_steps_of_an_exported_program_by_their_modules():
    graph = torch.export.export(Outer(), (torch.ones(2, 3),)).graph
    found = get_source_partitions(graph, [nn.Linear, nn.ReLU, Inner, nn.Sequential, "torch.nn.modules.linear.Linear"])
    assert nn.Sequential not in found, "what is innermost counts"
    inner, own = found[nn.Linear]
    assert _names(inner.nodes) == ["linear", "linear_1", "linear_3", "linear_4"] == _names(inner.output_nodes)
    assert _names(inner.input_nodes) == ["p_i_l_bias", "p_i_l_weight", "relu", "relu_2", "x"]
    assert _names(own.input_nodes) == ["mul", "p_c_0_bias", "p_c_0_weight"] and own.params == []
    assert [_names(part.nodes) for part in found["torch.nn.modules.linear.Linear"]] == [
        _names(inner.nodes),
        ["linear_2"],
    ]
    assert _names(found[Inner][0].nodes) == ["mul", "mul_1", "relu", "relu_2"]
    assert check_subgraphs_connected(own, found[nn.ReLU][0]) and not check_subgraphs_connected(found[nn.ReLU][0], own)
    only = get_source_partitions(graph, [nn.Linear], filter_fn=lambda node: node.name == "linear_2")
    assert [part.nodes for part in only[nn.Linear]] == [own.nodes]
    with pytest.raises(NotImplementedError, match="Ask for classes of modules"):
        get_source_partitions(graph, ["relu"])


def test_steps_by_what_they_say_of_their_source():
    traced = fx.symbolic_trace(Outer())
    for node in traced.graph.nodes:
        if node.op == "call_module":
            node.meta["source_fn_stack"] = [(node.name, type(traced.get_submodule(node.target)))]
    parts = get_source_partitions(traced.graph, [nn.Linear])[nn.Linear]
    assert [_names(part.nodes) for part in parts] == [["i_l"], ["i_l_1"], ["c_0"], ["i_l_2"], ["i_l_3"]]


def test_types_of_items():
    def items(x: tuple[int, torch.Tensor], y: list[torch.Tensor], z):
        return x[0], x[1], y[0], z[0]

    graph = fx.symbolic_trace(items).graph
    annotate_getitem_nodes(graph)
    found = [node.type for node in graph.nodes if node.target is operator.getitem]
    assert found == [int, torch.Tensor, torch.Tensor, None]


def test_passes_under_a_name():
    traced = fx.symbolic_trace(Constants())
    observer = GraphTransformObserver(traced, "name")
    assert observer.apply_graph_pass(lambda graph: graph) is traced.graph
    assert observer.apply_gm_pass(lambda module: module) is traced
    with pytest.raises(NotImplementedError, match="log_url"):
        GraphTransformObserver(traced, "name", log_url="here")


def test_annotations_of_steps():
    @fx.traceback.annotate_fn({"k": 1})
    def told():
        return dict(fx.traceback.get_current_meta())

    assert told() == {"custom": {"k": 1}} and fx.traceback.get_current_meta() == {}
    with fx.traceback.set_current_replay_node("n"):
        assert fx.traceback.get_current_replay_node() == "n"
    assert fx.traceback.get_current_replay_node() is None
