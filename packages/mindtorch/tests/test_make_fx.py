"""``make_fx``: its graphs read as PyTorch's, and compute what was traced on any other input."""

from __future__ import annotations

import gc
import importlib.util
import json
import warnings
import weakref
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch._guards import TracingContext, detect_fake_mode, tracing
from mindtorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from mindtorch.fx.experimental.proxy_tensor import (
    DecompositionInterpreter,
    disable_proxy_modes_tracing,
    get_isolated_graphmodule,
    get_proxy_mode,
    make_fx,
)
from mt_core import pytree
from mt_core.autograd_state import no_grad
from mt_core.testing.arguments import REFUSALS, Arguments
from mt_core.testing.sample import TensorMaker, declared_operators, has_values, is_random, sample_functions

SNAPSHOTS = Path(__file__).with_name("snapshots")
RECORDED = json.loads((SNAPSHOTS / "proxy_graphs.json").read_text())
NESTINGS = json.loads((SNAPSHOTS / "nestings.json").read_text(encoding="utf-8"))
aten = torch.ops.aten


def _recorder():
    spec = importlib.util.spec_from_file_location("make_proxy_graphs", SNAPSHOTS / "make_proxy_graphs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


recorder = _recorder()


def test_every_program_is_recorded():
    assert list(RECORDED) == recorder.programs()


@pytest.mark.parametrize("program", RECORDED)
def test_graphs_read_as_those_of_pytorch(program):
    assert recorder.outcome(torch, make_fx, program) == RECORDED[program]


# Values on other inputs

#: The exam compares ``out=`` forms with these.
_OPERATORS = [
    o for o in declared_operators()
    if sample_functions(o) and o.declaration.form != "out" and has_values(o.name)
    and not is_random(o.name) and not is_random(o.declaration.functional or o.name)
]  # fmt: skip
#: Operators whose results' shapes depend on elements, or which read them, say so.
_READING = ("DataDependent", "DynamicOutputShape", "that you're trying to get value out of a tracing tensor")
_SAMPLES = 2


def _bound(overload, seed):
    made = (sample for generate in sample_functions(overload) for sample in generate(TensorMaker("cpu", seed=seed)))
    return [Arguments(overload, sample).bound for _, sample in zip(range(_SAMPLES), made)]


def _agree(found, expected):
    """Whether results are the same, floating-point elements up to the rounding of kernels and their parts."""
    return all(map(_same, pytree.tree_leaves(found), pytree.tree_leaves(expected)))


def _same(a, b):
    if not isinstance(b, torch.Tensor) or not (b.is_floating_point() or b.is_complex()):
        return repr(a) == repr(b) and getattr(a, "stride", tuple)() == getattr(b, "stride", tuple)()
    of_kind = (type(a), a.dtype, a.shape, a.stride(), a.requires_grad)
    if of_kind != (type(b), b.dtype, b.shape, b.stride(), b.requires_grad):
        return False
    if b.is_meta or isinstance(b, FakeTensor) or b.dtype.itemsize == 1:
        return repr(a) == repr(b)
    return torch.allclose(a, b, rtol=4 * torch.finfo(b.dtype).eps, atol=8 * torch.finfo(b.dtype).eps, equal_nan=True)


def _check_operator(overload, traced, given, again, tracing_mode):
    """A graph made of `traced` gives of `again` what the operator gives of the equal `given`."""
    expected = overload.call(*given)
    leaves, spec = pytree.tree_flatten(traced)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def call(*tensors):
        filled = list(leaves)
        for i, tensor in zip(places, tensors, strict=True):
            filled[i] = tensor
        return overload.call(*pytree.tree_unflatten(filled, spec))

    try:
        graph = make_fx(call, tracing_mode=tracing_mode)(*[leaves[i] for i in places])
    except RuntimeError as error:
        assert any(text in repr(error) for text in _READING), f"{overload.name}: {error!r}"
        return
    inputs = pytree.tree_leaves(again)
    found = graph(*[inputs[i] for i in places])
    assert _agree(found, expected), f"{overload.name} ({tracing_mode}):\n{graph.code}"


@pytest.mark.parametrize("family", sorted({o.declaration.family for o in _OPERATORS}))
def test_graphs_of_operators_compute_them(family):
    for overload in (o for o in _OPERATORS if o.declaration.family == family):
        made = [_bound(overload, seed) for seed in (0, 1, 1)]
        for i, (traced, given, again) in enumerate(zip(*made, strict=True)):
            with no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    overload.call(*_bound(overload, 0)[i])
                except REFUSALS:
                    continue
                try:
                    _check_operator(overload, traced, given, again, ("real", "fake")[i % 2])
                except REFUSALS:
                    continue


def _written(v):
    copied = v.clone()
    copied[0].mul_(3)
    return copied


def _with_point(called, space):
    return lambda point: eval(called, {**space, "point": point})  # noqa: S307 - a stored program


@pytest.mark.parametrize("tracing_mode", ["real", "fake"])
def test_graphs_of_nested_transforms_compute_them(tracing_mode):
    for stored in NESTINGS:
        space = {"torch": torch, "written": _written}
        space.update({name: getattr(torch.func, name) for name in torch.func.__all__})
        exec(stored["program"], space)  # noqa: S102 - a stored program
        point = space["point"]
        _, called = stored["program"].rsplit("result = ", 1)
        try:
            graph = make_fx(_with_point(called, space), tracing_mode=tracing_mode)(point * 0.3 - 0.2)
        except RuntimeError as error:  # the derivative of ``prod`` asks whether there are zeros
            assert ".prod(" in stored["program"] and any(text in repr(error) for text in _READING)
            continue
        expected = space["result"]
        assert torch.allclose(graph(point), expected, equal_nan=True), stored["program"]


# Modules, writes, and what belongs to a tracer


def test_a_training_step_is_traced_whole():
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    names = [name for name, _ in net.named_parameters()]

    def step(x, *weights):
        weights = [w.detach().requires_grad_() for w in weights]
        loss = torch.func.functional_call(net, dict(zip(names, weights, strict=True)), (x,)).square().mean()
        return [w - 0.1 * g for w, g in zip(weights, torch.autograd.grad(loss, weights), strict=True)]

    weights = [torch.rand_like(p) for p in net.parameters()]
    graph = make_fx(step)(torch.ones(5, 4), *(w + 1 for w in weights))
    x = torch.rand(5, 4)
    for found, expected in zip(graph(x, *weights), step(x, *weights), strict=True):
        assert torch.allclose(found, expected)
    assert not any(node.op == "get_attr" for node in graph.graph.nodes)


def test_buffers_are_written_by_the_graph():
    norm = torch.nn.BatchNorm1d(3)
    graph = make_fx(norm)(torch.rand(5, 3))
    before = norm.running_mean.clone()
    graph(torch.rand(5, 3) + 1)
    assert not torch.equal(norm.running_mean, before) and norm.num_batches_tracked == 2


def test_nodes_are_described_by_fake_tensors():
    graph = make_fx(lambda x: x.split(2)[0] * 2)(torch.rand(4, 3))
    last = list(graph.graph.nodes)[-2]
    assert isinstance(last.meta["val"], FakeTensor) and last.meta["val"].shape == (2, 3)
    assert last.meta["tensor_meta"].shape == (2, 3)


def test_tracing_can_be_left():
    def program(x):
        assert get_proxy_mode() is not None
        with disable_proxy_modes_tracing():
            assert get_proxy_mode() is None
            torch.ones(3).sin()
        inner = get_isolated_graphmodule(lambda y: y.cos(), (x,), {})
        assert [node.target for node in inner.graph.nodes][1] is aten.cos.default
        return x + 1

    graph = make_fx(program)(torch.ones(2))
    assert [node.target for node in graph.graph.nodes if node.op == "call_function"] == [aten.add.Tensor]
    assert get_proxy_mode() is None


def test_a_graph_is_written_anew_by_a_table():
    graph = make_fx(lambda x: torch.nn.functional.silu(x))(torch.ones(3))
    made = torch.fx.Graph()
    table = {aten.silu.default: lambda x: x * x.sigmoid()}
    DecompositionInterpreter(graph, made, table).run(torch.ones(3))
    assert [node.name for node in made.nodes] == ["x_1", "sigmoid", "mul", "output"]


def test_nothing_is_kept_of_what_was_traced():
    x = torch.rand(3)
    made = []

    def program(x):
        y = x + 1
        made.append(weakref.ref(y))
        return y * 2

    graph = make_fx(program)(x)
    gc.collect()
    assert made[0]() is None and graph(x).shape == (3,)


def test_errors_leave_no_mode_behind():
    with pytest.raises(ZeroDivisionError):
        make_fx(lambda x: x / (1 // 0), tracing_mode="fake")(torch.ones(2))
    assert type(torch.ones(2)) is torch.Tensor


def test_the_mode_of_fake_tensors_is_found():
    mode = FakeTensorMode()
    x = mode.from_tensor(torch.ones(2))
    assert detect_fake_mode([x]) is mode and detect_fake_mode() is None
    with mode:
        assert detect_fake_mode() is mode
    with tracing(TracingContext(mode)):
        assert detect_fake_mode() is mode
        with pytest.raises(AssertionError, match="doesn't match mode"):
            detect_fake_mode(FakeTensorMode().from_tensor(torch.ones(2)))
    graph = make_fx(lambda x: x + 1, tracing_mode="fake")(x)
    assert next(iter(graph.graph.nodes)).meta["val"].fake_mode is mode


def test_what_is_not_there_is_refused_by_name():
    for options, text in (
        ({"pre_dispatch": True}, "pre_dispatch"),
        ({"record_module_stack": True}, "record_module_stack"),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=text):
            make_fx(lambda x: x, **options)
