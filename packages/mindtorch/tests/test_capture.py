"""Programs captured as graphs for `torch.compile`: the graph does what the program does, for as long as that holds."""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime
import doctest
import functools
import os
import random
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._dynamo.testing import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs
from mindtorch.nn import functional as F

SCALE = 2
SETTINGS = {"scale": 2, "nested": {"list": [1, 2]}}
TABLE = np.array([1.0, 2.0])
WEIGHT = torch.ones(3) * 4
SPACE = types.ModuleType("space")
SPACE.scale = 2


def doubled(x):
    return x * 2


class Counting:
    factor = 2

    def __init__(self):
        self.calls = 0
        self.hidden = _Slots()


class _Slots:
    __slots__ = ("value",)

    def __init__(self):
        self.value = 3


HELD = Counting()


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def both(program, *args, **kwargs):
    """What the program gives, and what its graph gives; each has copies of the arguments."""
    counter = CompileCounter()
    compiled = torch.compile(copy.deepcopy(program), backend=counter, fullgraph=True)
    given = copy.deepcopy((args, kwargs))
    torch.manual_seed(1)
    expected = program(*args, **kwargs), torch.get_rng_state()
    for _ in range(2):
        again = copy.deepcopy(given)
        torch.manual_seed(1)
        found = compiled(*again[0], **again[1]), torch.get_rng_state()
        check_equal(found, expected)
        check_equal(again, (args, kwargs))
        if isinstance(program, nn.Module):
            break  # its buffers may have changed
    assert counter.frame_count == 1
    return compiled


def check_equal(found, expected):
    leaves, spec = torch.utils._pytree.tree_flatten(found)
    others, other_spec = torch.utils._pytree.tree_flatten(expected)
    assert spec == other_spec
    for a, b in zip(leaves, others, strict=True):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
            assert a.requires_grad == b.requires_grad
            assert a.stride() == b.stride()
        else:
            assert type(a) is type(b)
            assert a == b


# The graph does what the program does


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 2)
        self.register_buffer("shift", torch.ones(4, 1, 1))
        self.plain = torch.full((1,), 0.5)
        self.factor = 3

    def forward(self, x, scale=1.0):
        x = F.dropout(F.relu(self.norm(self.conv(x))) + self.shift, 0.25, self.training)
        with torch.no_grad():
            gate = x.mean((2, 3)) * self.factor * scale
        out = self.head(F.max_pool2d(x, 2).flatten(2).sum(-1)) - self.plain
        return {"out": out, "gate": (gate, x.shape[0]), "name": "block"}


MODULES = {
    "block": (Block, lambda: torch.randn(2, 2, 6, 6)),
    "lstm": (lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True), lambda: torch.randn(5, 2, 3)),
    "gru": (lambda: nn.GRU(3, 4, batch_first=True), lambda: torch.randn(2, 5, 3)),
    "encoder": (
        lambda: nn.TransformerEncoder(encoder_layer(), 2, enable_nested_tensor=False),
        lambda: torch.randn(2, 5, 8),
    ),
    "attention": (lambda: Attending(), lambda: torch.randn(4, 2, 8)),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(7, 4), nn.LayerNorm(4), nn.GELU()), lambda: torch.arange(6).view(2, 3)
    ),
    "mlp": (
        lambda: nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 1)), lambda: torch.randn(4, 3)
    ),
}  # fmt: skip


def encoder_layer():
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, dropout=0.1)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=True)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("training", [True, False])
def test_modules(name, training):
    make, example = MODULES[name]
    module = make().train(training)
    x = example()
    compiled = both(module, x)
    other = copy.deepcopy(compiled._orig_mod)
    given = [x.clone().requires_grad_(x.is_floating_point()) for _ in range(2)]
    results = []
    for program, one in zip((compiled, other), given, strict=True):
        program.zero_grad()
        torch.manual_seed(3)
        total = sum(t.sum() for t in torch.utils._pytree.tree_leaves(program(one)) if isinstance(t, torch.Tensor))
        total.backward()
        results.append(
            (total.detach(), one.grad, {n.replace("_orig_mod.", ""): p.grad for n, p in program.named_parameters()})
        )
    check_equal(*results)


def in_place(a, b):
    a.add_(1)
    a[0] = 5
    view = a[1:]
    view *= b
    b += a[1:]
    return a.sin(), view, b


def containers(pair, table, *rest, flag=True):
    x, y = pair
    total = x + table["k"] - y if flag else x
    for item in rest:
        total = total + item
    return [total, (x, {"same": total, "number": len(rest)}), None, torch.float32]


def factories(x):
    made = torch.zeros_like(x) + torch.arange(3) + torch.tensor([1.0, 2, 3]) + torch.randn(3)
    return torch.cat([made, x, torch.full((2,), 7.0)]).to(torch.float64)


def gradients(x):
    x = x.requires_grad_()
    (grad,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return grad, torch.is_grad_enabled()


def switches(x):
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = y + x
    with torch.autocast("cpu", dtype=torch.bfloat16):
        w = x.view(1, 3) @ x.view(3, 1)
    return y, z, w


def comparisons(x):
    picked = torch.where(x > 0, x, -x)
    values, indices = picked.sort(descending=True)
    return values.topk(2), indices, x.max(0), torch.chunk(picked, 3), x.T, 2 - x, 1 / x, x**2, ~(x > 0), x // 2


def loops(x):
    for i, scale in enumerate([SCALE, *SETTINGS["nested"]["list"]]):
        x = x * scale + i
    return functools.reduce(torch.add, x.unbind(0)), WEIGHT + x, HELD.hidden.value


PROGRAMS = {
    "in place": (in_place, lambda: (torch.randn(4), torch.randn(3))),
    "containers": (containers, lambda: ((torch.ones(2), torch.ones(2) * 3), {"k": torch.arange(2)}, torch.ones(1), 4)),
    "factories": (factories, lambda: (torch.randn(3),)),
    "gradients": (gradients, lambda: (torch.randn(3),)),
    "switches": (switches, lambda: (torch.randn(3, requires_grad=True),)),
    "comparisons": (comparisons, lambda: (torch.randn(3),)),
    "loops": (loops, lambda: (torch.randn(3),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions(name):
    program, make = PROGRAMS[name]
    both(program, *make())


def test_the_same_tensor_given_twice_is_one_input():
    graphs = EagerAndRecordGraphs()

    @torch.compile(backend=graphs, fullgraph=True)
    def program(a, b):
        a.add_(1)
        return b * 2

    x, y = torch.ones(2), torch.ones(2)
    assert program(x, x).tolist() == [4, 4]
    assert program(x, y).tolist() == [2, 2]
    assert [len(g.graph.find_nodes(op="placeholder")) for g in graphs.graphs] == [1, 2]


def test_what_the_backend_is_given():
    module = Block()
    x = torch.randn(1, 2, 4, 4)
    seen = []

    def backend(graph, inputs):
        seen.append((graph, inputs))
        return graph.forward

    torch.compile(module, backend=backend)(x)
    ((graph, inputs),) = seen
    held = {id(t) for t in [*module.parameters(), *module.buffers(), module.plain, x]}
    assert {id(t) for t in inputs} == held
    targets = [node.target for node in graph.graph.find_nodes(op="placeholder")]
    assert "L_self_modules_conv_parameters_weight_" in targets
    assert "L_self_buffers_shift_" in targets
    assert {"L_x_", "L_self_plain"} <= set(targets)
    conv = next(n for n in graph.graph.nodes if n.target is torch.conv2d)
    assert conv.meta["example_value"].shape == (1, 4, 4, 4)
    assert "in forward" in next(n for n in graph.graph.nodes if n.target is F.dropout).stack_trace


def test_a_training_step_is_one_graph():
    def train(compiled):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        counter = CompileCounter()
        run = torch.compile(step, backend=counter) if compiled else step
        data = torch.randn(6, 4, 3)
        losses = [run(x, x.sum(-1, keepdim=True)).item() for x in data]
        return losses, counter.frame_count

    (expected, _), (found, graphs) = train(False), train(True)
    assert found == expected
    # The first step makes the momentum buffers, which no graph can; the steps after it are all alike.
    assert graphs == 1


# No stale results


def _set_global():
    global SCALE
    SCALE = 5


def _restore_global():
    global SCALE
    SCALE = 2


def reads_global(x):
    return x * SCALE


def reads_dict(x):
    return x * SETTINGS["scale"] + SETTINGS["nested"]["list"][1]


def reads_array(x):
    return x + float(TABLE[1])


def reads_object(x):
    return x * HELD.calls + HELD.hidden.value * HELD.factor


def reads_module(x):
    return x * SPACE.scale


def reads_tensor(x):
    return x + WEIGHT


def calls_function(x):
    return doubled(x) + with_default(x)


def with_default(x, by=1):
    return x + by


def _put(owner, name, value):
    def change():
        (owner.__setitem__ if isinstance(owner, (dict, list, np.ndarray)) else functools.partial(setattr, owner))(
            name, value
        )

    return change


CHANGES = [
    (reads_global, _set_global, _restore_global),
    (reads_dict, _put(SETTINGS, "scale", 7), _put(SETTINGS, "scale", 2)),
    (reads_dict, _put(SETTINGS["nested"]["list"], 1, 9), _put(SETTINGS["nested"]["list"], 1, 2)),
    (reads_array, _put(TABLE, 1, 9.0), _put(TABLE, 1, 2.0)),
    (reads_object, _put(HELD, "calls", 4), _put(HELD, "calls", 0)),
    (reads_object, _put(HELD.hidden, "value", 4), _put(HELD.hidden, "value", 3)),
    (reads_object, _put(Counting, "factor", 4), _put(Counting, "factor", 2)),
    (reads_module, _put(SPACE, "scale", 4), _put(SPACE, "scale", 2)),
    (reads_tensor, lambda: globals().update(WEIGHT=torch.zeros(3)), lambda: globals().update(WEIGHT=torch.ones(3) * 4)),
    (reads_tensor, lambda: WEIGHT.fill_(1), lambda: WEIGHT.fill_(4)),
    (reads_tensor, lambda: WEIGHT.requires_grad_(), lambda: WEIGHT.requires_grad_(False)),
    (calls_function, lambda: globals().update(doubled=torch.neg), lambda: globals().update(doubled=_DOUBLED)),
    (calls_function, _put(with_default, "__defaults__", (8,)), _put(with_default, "__defaults__", (1,))),
]  # fmt: skip
_DOUBLED = doubled


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_what_a_function_reads(change):
    program, do, undo = change
    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter, fullgraph=True)
    x = torch.ones(3)
    try:
        for action in (lambda: None, do, undo):
            action()
            for _ in range(2):
                check_equal(compiled(x), program(x))
    finally:
        undo()
    assert counter.frame_count <= 3  # a global tensor that is made again is another one


def _hook(module):
    module.linear.register_forward_hook(lambda mod, args, out: out + 1)


MODULE_CHANGES = [
    lambda m: m.eval(),
    lambda m: setattr(m, "factor", 5),
    lambda m: m.options.append(4),
    lambda m: setattr(m.config, "scale", 9),
    lambda m: setattr(m, "linear", nn.Linear(3, 3)),
    lambda m: setattr(m.linear, "weight", nn.Parameter(torch.zeros(3, 3))),
    lambda m: m.linear.weight.data.fill_(2.0),
    lambda m: m.linear.weight.requires_grad_(False),
    lambda m: setattr(m, "plain", torch.ones(3)),
    lambda m: m.register_buffer("shift", torch.ones(3)),
    _hook,
    lambda m: setattr(m, "activation", torch.tanh),
    lambda m: m.layers.append(nn.Linear(3, 3)),
    lambda m: m.double(),
    lambda m: setattr(m, "threshold", -0.0),
    lambda m: setattr(m, "forward", lambda x: x),
]


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3)])
        self.factor, self.options, self.activation = 2, [1, 2], torch.relu
        self.config = Counting()
        self.config.scale = 2
        self.plain = torch.zeros(3)
        self.threshold = 0.0
        self.register_buffer("shift", torch.zeros(3))

    def forward(self, x):
        x = self.activation(self.linear(x.to(self.linear.weight.dtype))) * self.factor + self.plain
        for layer in self.layers:
            x = layer(x)
        for option in self.options:
            x = x + option
        x = torch.div(x, self.threshold) if self.training else x * self.config.scale
        return x + self.shift


@pytest.mark.parametrize("change", MODULE_CHANGES, ids=range(len(MODULE_CHANGES)))
@pytest.mark.parametrize("training", [True, False])
def test_what_a_module_reads(change, training):
    module = Configured().train(training)
    counter = CompileCounter()
    compiled = torch.compile(module, backend=counter, fullgraph=True)
    x = torch.randn(2, 3)
    for _ in range(2):
        check_equal(compiled(x), module(x))
    assert counter.frame_count == 1
    change(module)
    for _ in range(2):
        check_equal(compiled(x), module(x))
    assert counter.frame_count <= 2


def test_closures():
    scale = 2
    held = [1]

    @torch.compile(backend=CompileCounter(), fullgraph=True)
    def program(x):
        return x * scale + held[0]

    x = torch.ones(1)
    assert program(x).item() == 3
    scale = 5
    assert program(x).item() == 6
    held[0] = 10
    assert program(x).item() == 15


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    scale: float = 1.0


Pair = collections.namedtuple("Pair", "left right")

ARGUMENTS = [
    (lambda x, n: x * n, (torch.ones(2), 2), (torch.ones(2), 3)),
    (lambda x, n: x * n, (torch.ones(2), 2), (torch.ones(2), 2.0)),
    (lambda x, n: x * n, (torch.ones(2), 1), (torch.ones(2), True)),
    (lambda x, n: x / n, (torch.ones(2), 0.0), (torch.ones(2), -0.0)),
    (lambda x: x.sum(0) * x.shape[0], (torch.ones(2),), (torch.ones(3),)),
    (lambda x: x.reshape(-1) * x.stride(0), (torch.ones(2, 2),), (torch.ones(2, 2).T,)),
    (lambda x: x / 2, (torch.ones(2),), (torch.ones(2, dtype=torch.int64),)),
    (lambda x: x.requires_grad, (torch.ones(2),), (torch.ones(2, requires_grad=True),)),
    (lambda d: sum(d.values()), ({"a": torch.ones(1)},), ({"b": torch.ones(1) * 2},)),
    (lambda d: sum(d.values()), ({"a": torch.ones(1)},), ({"a": torch.ones(1), "b": torch.ones(1)},)),
    (lambda b: b.x * b.scale, (Batch(torch.ones(1)),), (Batch(torch.ones(1), 3.0),)),
    (lambda p: p.left - p.right, (Pair(torch.ones(1), 2),), (Pair(torch.ones(1), 4),)),
    (lambda p: p[0] - p[1], (Pair(torch.ones(1), 2),), ((torch.ones(1), 2),)),
    (lambda x, o=HELD: x * o.calls, (torch.ones(1), HELD), (torch.ones(1), Counting())),
]


@pytest.mark.parametrize(("program", "first", "second"), ARGUMENTS)
def test_arguments(program, first, second):
    compiled = torch.compile(program, backend=CompileCounter(), fullgraph=True)
    for args in (first, second, first, second):
        check_equal(compiled(*args), program(*args))


def test_what_the_thread_has_set():
    counter = CompileCounter()
    module = nn.Linear(3, 3)
    compiled = torch.compile(module, backend=counter, fullgraph=True)
    x = torch.randn(2, 3)
    assert compiled(x).requires_grad
    with torch.no_grad():
        assert not compiled(x).requires_grad
    with torch.inference_mode():
        assert compiled(x).is_inference()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert compiled(x).dtype is torch.bfloat16
    assert compiled(x).dtype is torch.float32
    assert counter.frame_count == 4
    reads = torch.compile(lambda x: x + torch.ones(3), backend=counter, fullgraph=True)
    assert reads(torch.ones(3)).dtype is torch.float32
    try:
        torch.set_default_dtype(torch.float64)
        assert reads(torch.ones(3, dtype=torch.float32)).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


# What cannot be captured


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.kept = []

    def forward(self, x):
        self.calls += 1
        self.kept.append(self.calls)
        return x * self.calls


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 7


def _swallows(x):
    try:
        return x * x.sum().item()
    except Exception:  # noqa: BLE001 - what a program does
        return x * 0


def _fills(d):
    d["out"] = d["x"] + 1
    return d["out"]


class Sub(torch.Tensor):
    pass


def _tags(x):
    x.tag = 3
    return x + x.tag


ITERATOR = iter(range(1, 100))
RANDOM = np.random.default_rng(0)
DRAWN = np.random.RandomState(0).rand
UNCAPTURED = {
    "reads elements": (lambda x: x * 2 if x.sum() > 0 else x, "__bool__"),
    "reads a number": (lambda x: x * x.sum().item(), "item"),
    "reads an array": (lambda x: torch.from_numpy(x.numpy() * 2), "numpy"),
    "passes over the reason": (_swallows, "item"),
    "prints": (lambda x: print("hello") or x + 1, "print"),
    "function with a backward of its own": (lambda x: Doubling.apply(x), "autograd.Function"),
    "seeds": (lambda x: torch.manual_seed(3) and x + torch.rand(1), "manual_seed"),
    "grad_fn": (lambda x: x + (x.requires_grad_() * 2).grad_fn.name().startswith("Mul"), "grad_fn"),
    "graph break": (lambda x: torch._dynamo.graph_break() or x + 1, "graph_break"),
    "data-dependent shape": (lambda x: x.nonzero() * 2, "nonzero"),
    "transform": (lambda x: torch.func.grad(lambda y: (y**2).sum())(x), "tensor"),
    "subclass": (lambda x: x.as_subclass(Sub) + 1, "not seen"),
    "attribute": (_tags, "attribute 'tag'"),
}


@pytest.mark.parametrize("name", UNCAPTURED)
def test_what_no_graph_repeats(name, capsys):
    program, reason = UNCAPTURED[name]
    counter = CompileCounter()
    x = torch.ones(2)
    torch.manual_seed(5)
    expected = program(x.clone())
    torch.manual_seed(5)
    check_equal(torch.compile(program, backend=counter)(x.clone()), expected)
    assert counter.frame_count == 0
    with pytest.raises(torch._dynamo.exc.Unsupported, match=reason):
        torch.compile(program, backend=counter, fullgraph=True)(x.clone())


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda x: x * time.time(), "time"), (lambda x: x * random.random(), "random"),
        (lambda x: x * next(ITERATOR), "ITERATOR"), (lambda x: x * np.random.rand(), "numpy.random"),
        (lambda x: x * RANDOM.random(), "RANDOM"), (lambda x: x * DRAWN(), "DRAWN"),
        (lambda x: x * datetime.datetime.now().microsecond, "now"), (lambda x: x * random.gauss(0, 1), "random"),
    ],
)  # fmt: skip
def test_what_is_different_at_each_call(call, reason):
    compiled = torch.compile(call, backend=CompileCounter())
    first, second = (compiled(torch.ones(1, dtype=torch.float64)) for _ in range(2))
    assert not torch.equal(first, second)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=reason):
        torch.compile(call, backend=CompileCounter(), fullgraph=True)(torch.ones(1))


@pytest.mark.parametrize("make", [lambda x: {"a": x}.values(), lambda x: (y for y in (x,)), lambda x: {1: _Slots()}])
def test_results_that_are_made_anew(make):
    def program(x):
        return make(x + 1)

    compiled = torch.compile(program, backend=CompileCounter())
    first, second = (compiled(torch.ones(1)) for _ in range(2))
    assert first is not second
    with pytest.raises(torch._dynamo.exc.Unsupported, match="made anew"):
        torch.compile(program, backend=CompileCounter(), fullgraph=True)(torch.ones(1))


def test_the_environment(monkeypatch):
    def program(x):
        return x * int(os.environ.get("MINDTORCH_TEST_SCALE", "2"))

    compiled = torch.compile(program, backend=CompileCounter(), fullgraph=True)
    assert compiled(torch.ones(1)).item() == 2
    monkeypatch.setenv("MINDTORCH_TEST_SCALE", "5")
    assert compiled(torch.ones(1)).item() == 5


def test_what_a_program_changes_it_changes_once():
    module = Stateful()
    compiled = torch.compile(module, backend=CompileCounter())
    assert [compiled(torch.ones(1)).item() for _ in range(12)] == list(range(1, 13))
    assert module.calls == 12
    assert module.kept == list(range(1, 13))
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"changes L\['self'\]"):
        torch.compile(module, backend=CompileCounter(), fullgraph=True)(torch.ones(1))
    assert module.calls == 12


def test_an_argument_that_is_changed():
    compiled = torch.compile(_fills, backend=CompileCounter())
    for _ in range(2):
        given = {"x": torch.ones(1)}
        assert compiled(given).item() == 2
        assert given["out"].item() == 2


def test_an_error_is_the_programs_own():
    def program(x):
        return x @ torch.ones(5, 2)

    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        torch.compile(program, backend=CompileCounter())(torch.ones(2, 3))


def test_a_hook_of_a_backward_is_not_lost():
    seen = []

    def program(x):
        y = x * 2
        y.register_hook(seen.append)
        return y.sum()

    x = torch.ones(2, requires_grad=True)
    torch.compile(program, backend=CompileCounter())(x).backward()
    assert len(seen) == 1


# When a program is captured


def test_the_limit(caplog):
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + x.shape[0], backend=counter, recompile_limit=3)
    for rank in range(1, 7):
        assert compiled(torch.zeros((2,) * rank)).flatten()[0].item() == 2
    assert counter.frame_count == 3
    assert caplog.text.count("hit config.recompile_limit (3)") == 1
    strict = torch.compile(lambda x: x + x.shape[0], backend=counter, recompile_limit=1, fullgraph=True)
    strict(torch.ones(1))
    with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):
        strict(torch.ones(2))


def test_stances():
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + 1, backend=counter)
    with torch.compiler.set_stance("force_eager"):
        compiled(torch.ones(1))
    assert counter.frame_count == 0
    compiled(torch.ones(1))
    with torch.compiler.set_stance("eager_on_recompile"):
        assert compiled(torch.ones(2)).tolist() == [2, 2]
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(torch.ones(1))
        with pytest.raises(torch._dynamo.exc.RecompileError):
            compiled(torch.ones(2))
    assert counter.frame_count == 1
    within = torch.compiler.set_stance("force_eager")(compiled)
    within(torch.ones(3))
    assert counter.frame_count == 1
    compiled(torch.ones(3))
    assert counter.frame_count == 2
    torch.compiler.reset()
    compiled(torch.ones(3))
    assert counter.frame_count == 3


def test_disabled_functions():
    @torch.compiler.disable
    def never(x):
        return x + 1

    counter = CompileCounter()
    assert torch.compile(never, backend=counter)(torch.ones(1)).item() == 2
    assert torch.compile(lambda x: never(x) * 2, backend=counter)(torch.ones(1)).item() == 4
    assert counter.frame_count == 0
    assert torch.compiler.disable(never, recursive=False) is never


def test_programs_know_that_they_are_captured():
    asked = torch.compile(lambda x: x + (1 if torch.compiler.is_compiling() else 0), backend=CompileCounter())
    assert asked(torch.zeros(1)).item() == 1
    assert not torch.compiler.is_compiling()


def test_compiled_programs_in_compiled_programs():
    counter = CompileCounter()
    inner = torch.compile(lambda x: x * 2, backend=counter)
    outer = torch.compile(lambda x: inner(x) + 1, backend=counter)
    assert outer(torch.ones(1)).item() == 3
    assert counter.frame_count == 1
    assert counter.op_count == 2


def test_errors_of_backends():
    def failing(graph, inputs):
        raise ValueError("no such machine")

    program = torch.compile(lambda x: x + 1, backend=failing)
    with pytest.raises(
        torch._dynamo.exc.BackendCompilerFailed, match="backend='failing' raised:\nValueError: no such"
    ) as caught:
        program(torch.ones(1))
    assert isinstance(caught.value.inner_exception, ValueError)
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="did not return callable"):
        torch.compile(lambda x: x + 1, backend=lambda graph, inputs: None)(torch.ones(1))
    try:
        torch._dynamo.config.suppress_errors = True
        assert torch.compile(lambda x: x + 1, backend=failing)(torch.ones(1)).item() == 2
    finally:
        torch._dynamo.config.suppress_errors = False


def test_backends_get_what_they_are_set_to():
    seen = []

    def backend(graph, inputs, **settings):
        seen.append(settings)
        return graph.forward

    torch.compile(lambda x: x + 1, backend=backend, options={"a": 1})(torch.ones(1))
    torch.compile(lambda x: x + 1, backend=backend, mode="max-autotune")(torch.ones(1))
    assert seen == [{"options": {"a": 1}}, {"mode": "max-autotune"}]


def test_the_compiled_function_runs_in_the_place_of_the_program():
    def backend(graph, inputs):
        return lambda *tensors: tuple(t + 100 for t in graph(*tensors))

    compiled = torch.compile(lambda x: (x + 1, x), backend=backend)
    first, second = compiled(torch.ones(1))
    assert first.item() == 102
    assert second.item() == 1


def test_explain():
    told = torch._dynamo.explain(lambda x: (x + 1).sin())(torch.ones(1))
    assert (told.graph_count, told.graph_break_count, told.op_count) == (1, 0, 2)
    assert "Op Count: 2" in str(told)
    told = torch._dynamo.explain(lambda x: x * x.item())(torch.ones(1))
    assert told.graph_count == 0
    assert "item" in told.break_reasons[0]


def test_logs(capsys):
    def program(x):
        return x * x.item() if x.numel() == 1 else x

    torch._logging.set_logs(graph_breaks=True, recompiles=True, graph_code=True)
    try:
        compiled = torch.compile(program, backend=CompileCounter())
        compiled(torch.ones(1))
        torch.compile(lambda x: x + 1, backend=CompileCounter())(torch.ones(1))
        compiled(torch.ones(2))
    finally:
        torch._logging.set_logs()
    text = capsys.readouterr().err
    assert "Graph break in test_logs.<locals>.program: reads elements" in text
    assert "add = l_x_ + 1" in text
    assert "Recompiling test_logs.<locals>.program, since it is called with other arguments" in text
    compiled(torch.ones(3))
    assert not capsys.readouterr().err


@pytest.mark.parametrize("name", ["recompiles", "recompiles_verbose"])
def test_who_listens_to_guards_hears_of_recompiling(name, caplog):
    size = {"n": 1, "m": 1}
    compiled = torch.compile(lambda x: x * size["n"] * size["m"], backend=CompileCounter())
    caplog.set_level("DEBUG", logger="torch._dynamo.guards")
    torch._logging.set_logs(**{name: True})
    try:
        compiled(torch.ones(2))
        assert not caplog.records
        size["n"] = 2
        compiled(torch.ones(2))
        size["n"], size["m"] = 1, 2
        compiled(torch.ones(2))
    finally:
        torch._logging.set_logs()
    assert [record.name for record in caplog.records] == [f"torch._dynamo.guards.__{name}"] * 2
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("Recompiling ") and first.count(" has changed") == 1
    assert second.count(" has changed") == (1 if name == "recompiles" else 2)
    caplog.clear()
    size["n"], size["m"] = 2, 2
    compiled(torch.ones(2))
    assert not caplog.records


@pytest.mark.parametrize(("names", "told"), [("graph_breaks", True), ("", False), ("+dynamo", True)])
def test_logs_by_the_environment(run_python, names, told):
    printed = run_python(f"""
        import os, sys
        os.environ["TORCH_LOGS"], sys.stderr = "{names}", sys.stdout
        import mindtorch as torch
        torch.compile(lambda x: x * x.item(), backend=lambda graph, inputs: graph.forward)(torch.ones(1))
    """)
    assert ("Graph break in <lambda>" in printed) is told


def test_threads():
    counter = CompileCounterWithBackend("eager")
    compiled = torch.compile(lambda x, n: x * n, backend=counter)
    results = {}

    def run(n):
        results[n] = [compiled(torch.ones(2), n % 3).tolist() for _ in range(10)]

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: [[n % 3] * 2] * 10 for n in range(6)}
    assert counter.frame_count == 3
    assert len(counter.graphs) == 3


def test_the_page_runs():
    page = Path(__file__).parents[3] / "docs" / "compile.md"
    run = doctest.testfile(str(page), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert run.attempted > 8
    assert not run.failed
