"""Traced programs: printed as PyTorch prints them, with the values of what was traced, through every change."""

from __future__ import annotations

import copy
import doctest
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch import fx
from mt_core import pytree

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from fx_programs import NOT_RUN, SPLITS, programs, split, split_texts, texts  # noqa: E402 - found beside the snapshot

STORED = json.loads((SNAPSHOTS / "fx_graphs.json").read_text(encoding="utf-8"))
TRACED = [name for name, told in STORED.items() if len(told) == 3 and name not in NOT_RUN]


def _traced(name):
    program, fixed, inputs = programs(torch)[name]
    return program, fx.symbolic_trace(program, concrete_args=fixed), inputs


def _same(one, other):
    mine, theirs = pytree.tree_leaves(one), pytree.tree_leaves(other)
    return len(mine) == len(theirs) and all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(mine, theirs, strict=True)
    )


@pytest.mark.parametrize("name", STORED)
def test_what_is_printed_is_what_pytorch_prints(name):
    assert texts(torch, name) == STORED[name]


@pytest.mark.parametrize("name", TRACED)
def test_a_traced_program_computes_what_it_did(name):
    program, traced, inputs = _traced(name)
    traced.graph.lint()
    assert _same(traced(*copy.deepcopy(inputs)), program(*copy.deepcopy(inputs)))


def _interpreted(traced):
    return lambda *inputs: fx.Interpreter(traced).run(*inputs)


def _without_dead_code(traced):
    traced.graph.eliminate_dead_code()
    traced.recompile()
    return traced


CHANGES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda traced: pickle.loads(pickle.dumps(traced)),
    "interpreter": _interpreted,
    "transformer": lambda traced: fx.Transformer(traced).transform(),
    "dead code": _without_dead_code,
    "graph copy": lambda traced: fx.GraphModule(traced, copy.deepcopy(traced.graph)),
}


class Nested(torch.nn.Module):
    def forward(self, given, pair):
        return {"sum": given["a"] + pair[0] * pair[1]}


@pytest.mark.parametrize("change", [*CHANGES, "traced again"])
def test_nested_inputs_of_a_module_are_taken_apart(change):
    traced = fx.symbolic_trace(Nested(), concrete_args={"given": {"a": fx.PH}, "pair": (fx.PH, fx.PH)})
    changed = fx.symbolic_trace(traced) if change == "traced again" else CHANGES[change](traced)
    assert changed({"a": torch.ones(2)}, (torch.ones(2), 2 * torch.ones(2)))["sum"].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", TRACED)
def test_changes_of_form_keep_the_values(name, change):
    program, traced, inputs = _traced(name)
    changed = CHANGES[change](traced)
    assert _same(changed(*copy.deepcopy(inputs)), program(*copy.deepcopy(inputs)))


#: Nested inputs are taken apart by steps of the graph then, and the check of None is a wrapped function, as in PyTorch.
OTHERWISE_AGAIN = {"nested", "branching, None"}


@pytest.mark.parametrize("name", [name for name in TRACED if name not in OTHERWISE_AGAIN])
def test_a_traced_module_traced_again_has_the_same_text(name):
    _, traced, _ = _traced(name)
    assert fx.symbolic_trace(traced).code == traced.code


def test_gradients_pass_through_a_traced_module():
    module, traced, inputs = _traced("transformer")
    traced(*inputs).sum().backward()
    found = {name: p.grad.clone() for name, p in module.named_parameters()}
    module.zero_grad()
    module(*inputs).sum().backward()
    assert all(torch.equal(p.grad, found[name]) for name, p in module.named_parameters())


# Split modules

STORED_SPLITS = json.loads((SNAPSHOTS / "fx_splits.json").read_text(encoding="utf-8"))


def test_all_splits_are_recorded():
    assert [*STORED_SPLITS] == [*SPLITS]


@pytest.mark.parametrize("name", SPLITS)
def test_a_module_is_split_as_pytorch_splits_it(name):
    assert split_texts(torch, name) == STORED_SPLITS[name]


@pytest.mark.parametrize("name", [name for name, told in STORED_SPLITS.items() if len(told) > 2 and name != "variadic"])
def test_a_split_module_computes_what_it_did(name):
    traced, whole = split(torch, name)
    inputs = programs(torch)[SPLITS[name][0]][2]
    whole.graph.lint()
    assert _same(whole(*copy.deepcopy(inputs)), traced(*copy.deepcopy(inputs)))


def test_split_modules_share_parameters():
    traced, whole = split(torch, "names of nodes")
    assert {id(p) for p in whole.parameters()} == {id(p) for p in traced.parameters()}


# Graphs made by hand


def _chain():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.relu, (x,))
    z = graph.call_method("neg", (y,))
    graph.output(z)
    return graph, x, y, z


def test_users_and_inputs_follow_the_arguments():
    graph, x, y, z = _chain()
    assert list(x.users) == [y] and z.all_input_nodes == [y]
    z.args = (x,)
    assert list(x.users) == [y, z] and not y.users
    y.replace_all_uses_with(x)
    graph.erase_node(y)
    assert [node.name for node in graph.nodes] == ["x", "neg", "output"]
    assert graph.find_nodes(op="call_method", target="neg") == [z]


def test_nodes_are_put_where_they_are_wanted():
    graph, x, y, z = _chain()
    with graph.inserting_before(z):
        first = graph.call_function(torch.abs, (y,))
    with graph.inserting_after(x):
        second = graph.call_function(torch.cos, (x,))
    assert [n.name for n in graph.nodes] == ["x", "cos", "relu", "abs_1", "neg", "output"]
    assert x < second < y < first < z
    first.append(y)
    with pytest.raises(RuntimeError, match="Argument 'relu' of Node 'abs_1' was used before it has been defined!"):
        graph.lint()


def test_what_cannot_be_is_refused_in_pytorchs_words():
    graph, x, y, _ = _chain()
    with pytest.raises(RuntimeError, match="Tried to erase Node x but it still had 1 users in the graph"):
        graph.erase_node(x)
    with pytest.raises(TypeError, match="'immutable_list' object does not support mutation"):
        graph.call_function(torch.cat, ([x, y],)).args[0].append(3)
    with pytest.raises(ValueError, match="has type str but a Callable is expected"):
        graph.create_node("call_function", "relu")
    with pytest.raises(RuntimeError, match="Unsupported type 3 passed for root!"):
        fx.GraphModule(3, graph)
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("len")


def test_a_pattern_is_replaced_wherever_it_stands():
    def program(x, y):
        return torch.relu(x) + torch.relu(y), torch.relu(torch.relu(x))

    traced = fx.symbolic_trace(program)
    assert len(fx.replace_pattern(traced, lambda a: torch.relu(a), lambda a: torch.clamp(a, min=0))) == 4
    assert "relu" not in traced.code and traced.code.count("torch.clamp") == 4
    inputs = torch.randn(3), torch.randn(3)
    assert _same(traced(*inputs), program(*inputs))


def test_a_pattern_whose_inside_is_used_elsewhere_stays():
    def program(x):
        y = torch.relu(x)
        return torch.neg(y), y

    traced = fx.symbolic_trace(program)
    assert fx.replace_pattern(traced, lambda a: torch.neg(torch.relu(a)), lambda a: a) == []


def test_shapes_are_noted_where_they_are_computed():
    _, traced, inputs = _traced("transformer")
    fx.passes.shape_prop.ShapeProp(traced).propagate(*inputs)
    metas = {node.name: node.meta["tensor_meta"] for node in traced.graph.nodes if "tensor_meta" in node.meta}
    assert metas["qkv"].shape == (2, 12) and metas["x"].dtype is torch.float32 and metas["qkv"].requires_grad
    assert 'qkv: "f32[2, 12]" = self.qkv' in traced.print_readable(print_output=False)


def test_a_module_in_a_folder_runs_without_tracing(tmp_path):
    module, traced, _ = _traced("attributes")
    traced.to_folder(tmp_path / "written", "Written")
    program = "import mindtorch, sys, torch; sys.path.insert(0, sys.argv[1]); from written import Written"
    found = subprocess.run(
        [sys.executable, "-c", program + "; print(Written()(torch.ones(2, 4)).tolist())", str(tmp_path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.strip() == str(module(torch.ones(2, 4)).tolist())


def test_tracing_leaves_modules_as_they_were():
    call, getattr_ = torch.nn.Module.__call__, torch.nn.Module.__getattr__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(programs(torch)["truth"][0])
    assert torch.nn.Module.__call__ is call and torch.nn.Module.__getattr__ is getattr_


@pytest.mark.parametrize("package", [fx, fx.experimental, fx.passes, fx.passes.utils])
def test_every_module_that_a_package_lists_is_there(package):
    assert all(hasattr(package, name) for name in dir(package))


def test_import_does_not_load_it():
    program = "import sys, mindtorch; raise SystemExit('mindtorch.fx' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_page_about_graphs_says_what_happens():
    page = Path(__file__).parents[3] / "docs" / "fx.md"
    if not page.exists():
        pytest.skip("the documents are part of the repository, not of the distribution")
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 5 and not results.failed
