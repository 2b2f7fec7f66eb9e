"""Functions as graphs of forward and backward do what they do without, to the last alias."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._dynamo.backends.common import aot_autograd
from mindtorch._functorch.aot_autograd import aot_function, aot_module, get_aot_compilation_context, make_boxed_func
from mindtorch._functorch.compilers import nop, ts_compile
from mindtorch._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from mt_core import pytree


def _hidden_write(x):
    with torch.no_grad():
        x.mul_(2)
    return x * x


def _relaid(x):
    x.t_()
    return x * 2


def _writes_twice(x, w):
    y = x.view(-1)
    y[0] = 5.0
    x.add_(w)
    return y * 2, x


def _no_grad_view(x):
    y = x * 2
    with torch.no_grad():
        return y, y.t()


def _dropped_draw(x):
    torch.rand(3)
    return torch.nn.functional.dropout(x, 0.5), torch.randn(2)


#: Name -> function, and which of its tensors (2, 3), (3,) it takes: "x" plain, "g" requires grad, "h" has a history.
PROGRAMS = {
    "computes": (lambda x, w: (x.sin() * w).sum(), "gx"),
    "several results": (lambda x, w: {"a": x.relu(), "b": (x @ w, 3, None)}, "gg"),
    "returns an argument": (lambda x, w: (x, x * w), "gg"),
    "views of an argument": (lambda x: (x.view(-1), x.t()[1:]), "g"),
    "views of a history": (lambda x: (x.view(-1), x.exp()), "h"),
    "views of a result": (lambda x: [v := x * 2, v.t(), v.view(-1)], "g"),
    "views of what is not returned": (lambda x: [(v := x * 2).t(), v.view(-1)[2:]], "g"),
    "one view": (lambda x: (x * 2).view(-1), "g"),
    "twice the same": (lambda x: [v := x * 2, v, v.detach()], "g"),
    "parts": (lambda x: (x * 2).split(1), "g"),
    "parts of an argument": (lambda x: x.unbind(), "g"),
    "view without history": (_no_grad_view, "g"),
    "writes": (lambda x, w: x.mul_(2) @ w, "xg"),
    "writes what has a gradient": (lambda x, w: x.mul_(w).sum(), "xg"),
    "writes to a history": (lambda x, w: x.mul_(w).sum(), "hg"),
    "writes to a view": (_writes_twice, "hg"),
    "writes to a plain view": (_writes_twice, "xx"),
    "writes without history": (_hidden_write, "g"),
    "gives another geometry": (_relaid, "x"),
    "writes to its own": (lambda x: (y := x * 2).add_(1) * y, "g"),
    "constants": (lambda x: x * torch.tensor([1.0, 2.0, 3.0]), "g"),
    "makes tensors": (lambda x: (x + 1, x.new_zeros(2), torch.arange(3)), "g"),
    "draws": (_dropped_draw, "g"),
    "differentiates": (lambda x: torch.func.grad(lambda t: t.sin().sum())(x) * 2, "g"),
    "integers": (lambda x: (x.argmax(), x.sort(dim=1)), "g"),
    "nothing to differentiate": (lambda x: x.detach() * 2, "g"),
    "strided cotangents": (lambda x: (x * 2).t().reshape(-1), "g"),
}


def _inputs(kinds):
    torch.manual_seed(3)
    leaves = [torch.randn(2, 3) if i == 0 else torch.randn(3) for i in range(len(kinds))]
    leaves = [leaf.requires_grad_(kind != "x") for leaf, kind in zip(leaves, kinds, strict=True)]
    return leaves, [leaf * 1 if kind == "h" else leaf for leaf, kind in zip(leaves, kinds, strict=True)]


def _told(tensor, given, others):
    """All that is to be seen of a tensor, and which of others it shares memory with."""
    memory = tensor.untyped_storage().data_ptr()
    shared = [i for i, other in enumerate([*given, *others]) if other.untyped_storage().data_ptr() == memory]
    same = [i for i, other in enumerate(given) if other is tensor]
    facts = tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.requires_grad, tensor.storage_offset()
    return tensor.tolist(), *facts, shared, same


def _seen(function, kinds):
    """Results, arguments and gradients after a call, whose results are written to where they may be."""
    leaves, given = _inputs(kinds)
    torch.manual_seed(7)
    out = function(*given)
    found = [t for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
    plain = [leaf for leaf in pytree.tree_leaves(out) if not isinstance(leaf, torch.Tensor)]
    told = [_told(t, given, found) for t in (*found, *given)]
    next_draw = torch.rand(2).tolist()
    roots = [t for t in (*found, *given) if t.requires_grad and t.grad_fn is not None]
    if roots:
        torch.autograd.backward(roots, [torch.full_like(t, i + 1.5) for i, t in enumerate(roots)])
    grads = [None if not leaf.is_leaf or leaf.grad is None else leaf.grad.tolist() for leaf in leaves]
    return told, plain, pytree.tree_structure(out), next_draw, grads


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_function_does_the_same(name):
    function, kinds = PROGRAMS[name]
    graphs = []

    def compiler(graph, inputs):
        graphs.append(graph)
        return nop(graph, inputs)

    compiled = aot_function(function, compiler)
    for _ in range(2):
        assert _seen(compiled, kinds) == _seen(function, kinds)
    assert 1 <= len(graphs) <= 2, "the second call runs the graphs of the first"
    calls = [n.target for g in graphs for n in g.graph.nodes if n.op == "call_function"]
    assert not [target for target in calls if hasattr(target, "_schema") and target._schema.is_mutable]


def test_the_two_are_told_apart():
    """A fault in the compiled function is seen by the comparison above."""

    def wrong(graph, inputs):
        return make_boxed_func(lambda *args: [t * 2 if isinstance(t, torch.Tensor) else t for t in graph(*args)])

    function, kinds = PROGRAMS["computes"]
    assert _seen(aot_function(function, wrong), kinds) != _seen(function, kinds)


def test_other_arguments_are_compiled_anew():
    count = []

    def compiler(graph, inputs):
        count.append(1)
        return nop(graph, inputs)

    compiled = aot_function(lambda x, n: x * n, compiler)
    assert compiled(torch.ones(2), 2).tolist() == [2.0, 2.0]
    assert compiled(torch.ones(2), 3).tolist() == [3.0, 3.0]
    assert compiled(torch.ones(1, 3), 3).shape == (1, 3)
    assert len(count) == 3
    with torch.no_grad():
        compiled(torch.ones(2), 2)
    assert len(count) == 4
    compiled(torch.ones(2), 2)
    assert len(count) == 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))


@pytest.mark.parametrize("way", ["aot_module", "backend"])
def test_a_network_trains_alike(way):
    def steps(compile_):
        torch.manual_seed(0)
        net = Net()
        run = compile_(net)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        losses = []
        for i in range(3):
            torch.manual_seed(i)
            loss = nn.functional.cross_entropy(run(torch.randn(4, 1, 4, 4)), torch.tensor([0, 1, 2, 0]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, net.norm.running_mean.tolist(), int(net.norm.num_batches_tracked)

    def by_aot(net):
        return (
            aot_module(net, nop) if way == "aot_module" else torch.compile(net, backend=aot_autograd(fw_compiler=nop))
        )

    expected = steps(lambda net: net)
    found = steps(by_aot)
    assert found[2] == expected[2]
    assert found[0] == pytest.approx(expected[0], rel=1e-5)
    assert found[1] == pytest.approx(expected[1], rel=1e-5)


def test_compilers_know_what_they_compile():
    told = []

    def compiler(graph, inputs):
        told.append(get_aot_compilation_context()[0])
        assert all(isinstance(i, torch._subclasses.FakeTensor) for i in inputs)
        return nop(graph, inputs)

    x = torch.ones(2, requires_grad=True)
    out = aot_function(lambda x: x * x, compiler)(x)
    assert told == [["forward"]], "the backward is compiled when it is asked for"
    out.sum().backward()
    aot_function(lambda x: x * x, compiler)(x.detach())
    assert told == [["forward"], ["backward"], ["inference"]]


def test_graphs_may_write_to_arguments_themselves():
    codes = []

    def compiler(graph, inputs):
        codes.append(graph.code)
        return nop(graph, inputs)

    x = torch.ones(2)
    out = aot_function(lambda x: x.mul_(3) + 1, compiler, keep_inference_input_mutations=True)(x)
    assert "copy_.default(arg0_1" in codes[0]
    assert (x.tolist(), out.tolist()) == ([3.0, 3.0], [4.0, 4.0])


def test_autocast_is_part_of_the_graphs():
    def f(x, w):
        return (x @ w).sin()

    def grads(function):
        x, w = torch.ones(2, 2, requires_grad=True), torch.full((2, 2), 0.3, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16):
            out = function(x, w)
        out.sum().backward()
        return out.dtype, out.tolist(), x.grad.tolist(), w.grad.dtype

    compiled = aot_function(f, nop)
    assert grads(compiled) == grads(f)
    assert compiled(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.float32


def test_functions_that_take_no_list_are_warned_of():
    with pytest.warns(UserWarning, match="doesn't take boxed arguments"):
        aot_function(lambda x: x * 2, lambda graph, inputs: graph)(torch.ones(2))


def _resizes(x):
    x.resize_(8)


@pytest.mark.parametrize(
    ("function", "args", "error", "words"),
    [
        (_resizes, (torch.ones(2),), NotImplementedError, "resizes its arguments"),
        (_relaid, (torch.ones(2, 3, requires_grad=True) * 1,), NotImplementedError, "changes the geometry"),
        (lambda x, y: x.add_(1) + y.sum(), (lambda t: (t[0], t.view(-1)))(torch.ones(2, 3)), NotImplementedError,
         "share memory"),
        (lambda x: (x.t_(), x[1:])[1:], (torch.ones(2, 3),), NotImplementedError, "a view of an argument that gets"),
        (lambda x: x.mul_(2), (torch.ones(2, requires_grad=True),), RuntimeError, "a leaf Variable that requires grad"),
        (lambda x: x.dtype, (torch.ones(2),), RuntimeError, "not a known type"),
        (lambda x: x * 2 if x.sum() > 0 else x, (torch.ones(2),), Exception, "_local_scalar_dense"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(function, args, error, words):
    with pytest.raises(error, match=words):
        aot_function(function, nop)(*args)
    assert torch.zeros(2).tolist() == [0.0, 0.0], "no mode stays on"


def test_a_gradient_has_no_gradient():
    x = torch.ones(2, requires_grad=True)
    (grad,) = torch.autograd.grad(aot_function(lambda x: x * x, nop)(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        grad.sum().backward()


def test_what_is_not_here_says_so():
    for missing in (ts_compile, min_cut_rematerialization_partition):
        with pytest.raises(NotImplementedError, match=missing.__name__):
            missing()


def test_a_partition_of_ones_own():
    seen = []

    def partition(joint, inputs, *, num_fwd_outputs):
        seen.append((len(inputs[0]), len(inputs[1]), num_fwd_outputs))
        return default_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs)

    x = torch.ones(2, requires_grad=True)
    aot_function(lambda x, n: (x * n, x + n), nop, partition_fn=partition)(x, 2)
    assert seen == [(2, 2, 2)]


def test_decompositions_are_traced():
    def compiler(graph, inputs):
        assert "aten.silu" not in graph.code
        assert "aten.sigmoid" in graph.code
        return nop(graph, inputs)

    table = {torch.ops.aten.silu.default: lambda x: x * x.sigmoid()}
    x = torch.randn(3)
    found = aot_function(torch.nn.functional.silu, compiler, decompositions=table)(x)
    assert torch.allclose(found, torch.nn.functional.silu(x))


def test_operators_of_libraries_write_to_clones():
    with torch.library._scoped_library("aottests", "FRAGMENT") as library:
        library.define("double(Tensor(a!) x, Tensor y) -> Tensor")
        library.impl("double", lambda x, y: x.mul_(2) * 0 + y * 3, "CPU")
        library.impl("double", lambda x, y: torch.empty_like(y), "Meta")

        def f(x, y, w):
            a = x * 1
            r = torch.ops.aottests.double(a.view(-1), y)
            return (a + r) * w * a, a

        def seen(function):
            w = torch.ones(3, requires_grad=True)
            first, second = function(torch.arange(3.0), torch.ones(3), w)
            first.sum().backward()
            return first.tolist(), second.tolist(), w.grad.tolist()

        assert seen(aot_function(f, nop)) == seen(f)
        args = torch.ones(2), torch.ones(2)
        found = torch.library.opcheck(torch.ops.aottests.double.default, args, test_utils="test_aot_dispatch_static")
        assert found == {"test_aot_dispatch_static": "SUCCESS"}


def test_opcheck_finds_a_kernel_that_graphs_cannot_hold():
    with torch.library._scoped_library("aottests", "FRAGMENT") as library:
        library.define("bare(Tensor x) -> Tensor")
        library.impl("bare", lambda x: x.clone(), "CPU")
        for kind in ("static", "dynamic"):
            check = f"test_aot_dispatch_{kind}"
            with pytest.raises(Exception, match=f"{check} failed with aottests.bare.default"):
                torch.library.opcheck(torch.ops.aottests.bare.default, (torch.ones(2),), test_utils=check)


def test_opcheck_finds_what_holds_for_one_size_only():
    with torch.library._scoped_library("aottests", "FRAGMENT") as library:
        library.define("rows(Tensor x) -> Tensor")
        library.impl("rows", lambda x: x.sum(1), "CPU")
        library.impl("rows", lambda x: x.new_empty(x.shape[0]), "Meta")
        library.define("three(Tensor x) -> Tensor")
        library.impl("three", lambda x: x.sum(1), "CPU")
        library.impl("three", lambda x: x.new_empty(int(x.sum(1).shape[0]), 1), "Meta")
        x = torch.ones(3, 4)
        assert set(torch.library.opcheck(torch.ops.aottests.rows.default, (x,)).values()) == {"SUCCESS"}
        with pytest.raises(Exception, match="test_faketensor failed with When comparing"):
            torch.library.opcheck(torch.ops.aottests.three.default, (x,))


@pytest.mark.parametrize("differentiated", [False, True])
def test_graphs_with_symbols(differentiated):
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph.code)
        return make_boxed_func(graph.forward)

    def f(x):
        y = x.clone()
        y[0].add_(1)
        return y.view(-1), x.expand(2, *x.shape).sum(0) * x.shape[0]

    compiled = aot_function(f, keep, dynamic=True)
    for shape in ((2, 3), (4, 3)):
        x = torch.rand(shape).requires_grad_(differentiated)
        found, expected = compiled(x), f(x)
        assert all(torch.equal(a, b) for a, b in zip(found, expected))
        if differentiated:
            total = [sum((t * t).sum() for t in results) for results in (found, expected)]
            assert torch.equal(*(torch.autograd.grad(t, x)[0] for t in total))
    assert any("sym_size" in code for code in graphs) and not any("[6]" in code or "[2, 3]" in code for code in graphs)


def test_the_page_is_true():
    page = Path(__file__).parents[3] / "docs" / "aot-autograd.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("alias", ["itself", "detached", "data", "part"])
def test_arguments_that_share_memory_at_a_later_call(alias):
    """A graph that writes to one of them was made for arguments that did not: nothing is written then."""
    compiled = aot_function(lambda x, y: (x.mul_(2) + y).sum(), nop)
    assert compiled(torch.arange(4.0), torch.arange(4.0)) == 18
    x = torch.arange(4.0)
    y = {"itself": x, "detached": x.detach(), "data": x.data, "part": x.view(4)}[alias]
    with pytest.raises(NotImplementedError, match="share memory"):
        compiled(x, y)
    assert x.tolist() == [0, 1, 2, 3]
    assert compiled(x, y.clone()) == 18
