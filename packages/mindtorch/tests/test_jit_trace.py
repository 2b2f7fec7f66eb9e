"""`torch.jit.trace`: what is traced makes the same calls on tensors of other sizes, and says where it cannot."""

from __future__ import annotations

import copy
import doctest
import math
import threading
import warnings
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch import nn
from mt_core import pytree

# A class of warnings in a module of PyTorch's name is not found by whoever collects the warnings of other processes.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::mindtorch.jit.TracerWarning"),
]
F = torch.nn.functional


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.q(x).reshape(b, t, 3, 2, c // 2).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) / (q.size(-1) ** 0.5)
        mask = torch.ones(t, t).tril().bool()
        weights = scores.masked_fill(~mask[None, None], float("-inf")).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).reshape(b, t, -1))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.linear = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(64, 5)

    def forward(self, x):
        return self.linear(torch.flatten(F.max_pool2d(F.relu(self.norm(self.conv(x))), 2), 1))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
        self.out.weight = self.embedding.weight
        self.register_buffer("mask", torch.arange(3.0))

    def forward(self, x):
        y = self.out(self.embedding(x)).clone()
        y[..., 0] = 0
        y += self.mask.sum()
        return y, {"width": y.size(-1), "half": (y.numel() // 2, y.size(-1) / 4)}


def _batches(*sizes):
    return [tuple(torch.randn(size) for size in each) for each in sizes]


MODULES = [
    (Attention, *_batches([(2, 3, 8)], [(4, 5, 8)])),
    (Cnn, *_batches([(2, 3, 8, 8)], [(4, 3, 8, 8)])),
    (lambda: nn.LSTM(3, 4, 2, batch_first=True), *_batches([(2, 5, 3)], [(4, 7, 3)])),
    (lambda: nn.GRU(3, 4, bidirectional=True), *_batches([(2, 5, 3)], [(4, 5, 3)])),
    (lambda: nn.MultiheadAttention(8, 2), *_batches([(5, 2, 8)] * 3, [(4, 3, 8)] * 3)),
    (lambda: nn.TransformerEncoderLayer(8, 2, 16).eval(), *_batches([(2, 5, 8)], [(3, 4, 8)])),
    (lambda: nn.Transformer(8, 2, 1, 1, 16, 0.0), *_batches([(5, 2, 8), (4, 2, 8)], [(3, 3, 8), (6, 3, 8)])),
    (lambda: nn.BatchNorm1d(3), *_batches([(4, 3)], [(5, 3)])),
]


def _same(found, expected):
    mine, theirs = pytree.tree_leaves(found), pytree.tree_leaves(expected)
    return len(mine) == len(theirs) and all(
        torch.allclose(a, torch.as_tensor(b), atol=1e-6) for a, b in zip(mine, theirs, strict=True)
    )


@pytest.mark.filterwarnings("ignore::mindtorch.jit.TracerWarning")
@pytest.mark.parametrize(("make", "example", "other"), MODULES)
def test_a_traced_module_computes_what_the_module_does_for_other_sizes(make, example, other):
    module = make()
    traced = torch.jit.trace(module, example)
    assert list(traced.state_dict()) == list(module.state_dict())
    assert _same(traced(*other), module(*other))
    leaves = [torch.jit.trace(copy.deepcopy(traced), other)(*other), copy.deepcopy(traced)(*other)]
    assert all(_same(one, module(*other)) for one in leaves)


def test_gradients_and_updates_reach_the_module():
    module, x = Attention(), torch.randn(2, 3, 8)
    traced = torch.jit.trace(module, x)
    assert all(a is b for a, b in zip(traced.parameters(), module.parameters(), strict=True))
    mine = torch.autograd.grad(traced(x).sum(), list(traced.parameters()))
    assert _same(mine, torch.autograd.grad(module(x).sum(), list(module.parameters())))
    traced.load_state_dict({key: torch.zeros_like(value) for key, value in traced.state_dict().items()})
    assert not traced(x).any()
    assert traced.double()(x.double()).dtype == torch.float64


def test_writes_tied_weights_and_nested_outputs():
    module = Tied()
    with pytest.warns(torch.jit.TracerWarning, match="Using len"):
        traced = torch.jit.trace(lambda x: x * len(x), torch.ones(2))
    traced = torch.jit.trace(module, torch.randint(10, (2, 3)), strict=False)
    x = torch.randint(10, (4,))
    values, told = traced(x)
    assert torch.equal(values, module(x)[0])
    assert told["width"].item() == 10
    assert [part.item() for part in told["half"]] == [20, 2.5]


def test_buffers_are_updated_as_often_as_in_pytorch():
    module = nn.BatchNorm1d(3)
    traced = torch.jit.trace(module, torch.randn(4, 3))
    assert module.num_batches_tracked.item() == 5
    traced(torch.randn(2, 3))
    assert module.num_batches_tracked.item() == 6
    module = nn.BatchNorm1d(3)
    torch.jit.trace(module, torch.randn(4, 3), check_trace=False)
    assert module.num_batches_tracked.item() == 1


def test_the_hierarchy_is_printed_and_parts_cannot_be_called():
    traced = torch.jit.trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(1, 2))
    assert repr(traced) == (
        "Sequential(\n  original_name=Sequential\n"
        "  (0): Linear(original_name=Linear)\n  (1): ReLU(original_name=ReLU)\n)"
    )
    assert type(traced) is torch.jit.TopLevelTracedModule
    parts = dict(traced.named_children())
    assert isinstance(parts["0"], torch.jit.TracedModule)
    with pytest.raises(RuntimeError, match="Trace submodules cannot be called"):
        parts["0"](torch.ones(1, 2))
    with pytest.raises(AttributeError):
        traced.anything  # noqa: B018 - asked for


SIZES = [
    lambda x: x.new_zeros(x.size(0) * 2 + 1) + x.shape[0] - 1,
    lambda x: x[: x.size(0) // 2],
    lambda x: x * x.size(0) ** 0.5,
    lambda x: x / x.numel(),
    lambda x: torch.zeros(x.shape) + torch.arange(x.shape[0]),
    lambda x: torch.tensor(x.size(0)) + x,
    lambda x: x.reshape(2, -1)[:, : x.size(0) % 3 + 1],
    lambda x: x.expand(3, *x.shape).reshape(x.shape.numel(), -1),
    lambda x: x + (7 - x.size(0)) * 2 / -x.size(0),
    lambda x: x + divmod(x.size(0), 3)[1] + abs(-x.size(0)) + round(x.size(0) / 3),
    lambda x: x + (x.size(0) & 5 | 8) + (x.size(0) << 1),
    lambda x: 1.5 * x.size(0) + x * (2.5 - x.size(-1)),
    lambda x: x + 3.0 / x.size(0) + 7.5 // x.size(0) + 7.5 % x.size(0),
    lambda x: x * 1.5 ** x.size(0) + math.sqrt(2) * (2 * x.size(0)),
    lambda x: x + 4.0 ** (1.0 / x.size(0)),
]


@pytest.mark.parametrize("function", SIZES)
def test_what_is_computed_from_sizes_follows_them(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error", torch.jit.TracerWarning)
        traced = torch.jit.trace(function, torch.ones(4))
    for n in (2, 6, 10):
        assert torch.equal(traced(torch.ones(n)), function(torch.ones(n)))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x.sum() > 0 else -x, "a tensor to a Python boolean"),
        (lambda x: x * int(x.sum()), "a tensor to a Python integer"),
        (lambda x: x * float(x.sum()), "a tensor to a Python float"),
        (lambda x: x * x.sum().item(), "a tensor to a Python number"),
        (lambda x: x * sum(x.tolist()), "a tensor to a Python list"),
        (lambda x: x * x.numpy().sum(), "a tensor to a NumPy array"),
        (lambda x: x if x.size(0) > 2 else -x, "a tensor to a Python boolean"),
        (lambda x: x * int(x.size(0)), "a tensor to a Python integer"),
        (lambda x: sum(x), "Iterating over a tensor"),
        (lambda x: x * len(x), "Using len to get tensor shape"),
        (lambda x: x + torch.tensor([1.0, 2.0, 3.0]), "torch.tensor results are registered as constants"),
        (lambda x: [x, x], "Encountering a list at the output"),
    ],
)
def test_what_cannot_be_followed_is_warned_about_where_it_stands(function, message):
    with pytest.warns(torch.jit.TracerWarning, match=message) as told:
        traced = torch.jit.trace(function, torch.ones(3))
    assert {one.filename for one in told if issubclass(one.category, torch.jit.TracerWarning)} == {__file__}
    assert _same(traced(torch.ones(3)), function(torch.ones(3)))


def _without_value(x):
    x.add_(1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: torch.jit.trace(lambda x: 3, torch.ones(1)), RuntimeError, "Only tensors, lists, tuples of tensors"),
        (lambda: torch.jit.trace(_without_value, torch.ones(1)), RuntimeError, "didn't return any values!"),
        (lambda: torch.jit.trace(lambda x: {"a": x}, torch.ones(1)), RuntimeError, "Encountering a dict at the output"),
        (
            lambda: torch.jit.trace(lambda x, y: x, (torch.ones(1), 3)), RuntimeError,
            r"Type 'Tuple\[Tensor, int\]' cannot be traced",
        ),
        (lambda: torch.jit.trace_module(nn.ReLU(), 3), AttributeError, "expected a dictionary of"),
        (
            lambda: torch.jit.trace(lambda x: torch.autograd.grad(x.sum(), x)[0], torch.ones(1, requires_grad=True)),
            NotImplementedError, "torch.jit.trace of grad is not supported",
        ),
        (
            lambda: torch.jit.trace(torch.func.vmap(torch.sin), torch.ones(1)),
            NotImplementedError, "torch.jit.trace of transforms",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_traced_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert not torch.jit.is_tracing()


def test_a_tensor_that_requires_grad_is_no_constant():
    weight = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        torch.jit.trace(lambda x: x * weight, torch.ones(2))
    constant = torch.ones(2)
    assert torch.equal(torch.jit.trace(lambda x: x * constant, torch.ones(2))(torch.ones(2)), constant)


def test_autograd_functions_are_steps_with_their_backward():
    class Sevenfold(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    traced = torch.jit.trace(lambda x: Sevenfold.apply(x) + 1, torch.ones(2))
    x = torch.zeros(3, requires_grad=True)
    assert torch.equal(traced(x), torch.ones(3))
    assert torch.equal(torch.autograd.grad(traced(x).sum(), x)[0], torch.full((3,), 7.0))


def test_arguments_are_checked_as_in_pytorch():
    traced = torch.jit.trace(lambda x, y: (x[0] + x[1]) * y, ((torch.ones(1), torch.ones(1)), torch.ones(1)))
    assert traced((torch.ones(2), torch.ones(2)), y=torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"_lambda\(\) is missing value for argument 'y'. Declaration: _lambda\("):
        traced((torch.ones(1), torch.ones(1)))
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'Tuple\[Tensor, Tensor\]' for argument 'x'"):
        traced(torch.ones(1), torch.ones(1))
    module = torch.jit.trace(nn.ReLU(), torch.ones(1))
    with pytest.raises(RuntimeError, match=r"forward\(\) expected at most 2 argument\(s\) but received 3"):
        module(torch.ones(1), torch.ones(1))
    with pytest.raises(RuntimeError, match=r"forward\(__torch__.ReLU self, Tensor input\)"):
        module(3)


def test_a_second_trace_that_differs_is_an_error():
    count = [0]

    def counting(x):
        count[0] += 1
        return x * count[0]

    with pytest.raises(torch.jit.TracingCheckError, match="Graphs differed across invocations"):
        torch.jit.trace(counting, torch.ones(1))
    torch.jit.trace(counting, torch.ones(1), check_trace=False)
    with pytest.warns(torch.jit.TracerWarning) as told:
        torch.jit.trace(lambda x: torch.rand_like(x), torch.ones(3))
    messages = [str(one.message) for one in told]
    assert any("Trace had nondeterministic nodes" in text and "rand_like" in text for text in messages)
    assert any("Output nr 1. of the traced function does not match" in text for text in messages)


def test_methods_and_keywords_are_traced():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x, y):
            return self.linear(x) - y

        def other(self, x):
            return self.linear(x) * 2

    module, x = Two(), torch.randn(3, 2)
    traced = torch.jit.trace_module(module, {"forward": (x, x), "other": x})
    assert torch.equal(traced(x, x), module(x, x))
    assert torch.equal(traced.other(x), module.other(x))
    of_method = torch.jit.trace(module.other, x)
    assert torch.equal(of_method(x), module.other(x))
    named = torch.jit.trace(module, example_kwarg_inputs={"y": torch.zeros(3, 2), "x": x})
    assert torch.equal(named(x, x), module(x, x))
    assert torch.equal(torch.jit.freeze(torch.jit.trace(module.eval(), (x, x)))(x, x), module(x, x))


def test_tracing_is_seen_by_the_program_and_by_its_thread_alone():
    seen = []

    def program(x):
        thread = threading.Thread(target=lambda: seen.append((torch.jit.is_tracing(), (x * 2).sum().item())))
        thread.start()
        thread.join()
        seen.append((torch.jit.is_tracing(), torch._C._get_tracing_state() is not None))
        return x + 1

    traced = torch.jit.trace(program, torch.ones(1), check_trace=False)
    assert seen == [(False, 2.0), (True, True)]
    assert not torch.jit.is_tracing()
    assert torch._C._get_tracing_state() is None
    assert traced(torch.zeros(1)).item() == 1
    assert len(seen) == 2  # the program itself does not run again


def test_the_page_runs():
    page = Path(__file__).parents[3] / "docs" / "jit.md"
    if not page.exists():
        pytest.skip("the documents are part of the repository, not of the distribution")
    with warnings.catch_warnings():
        results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 10
    assert results.failed == 0


@pytest.mark.parametrize(
    "trace",
    [
        lambda **options: torch.jit.trace(torch.sin, torch.ones(1), **options),
        lambda **options: torch.jit.trace_module(nn.ReLU(), {"forward": torch.ones(1)}, **options),
    ],
)
def test_options_without_effect_are_not_taken_in_silence(trace):
    with pytest.warns(FutureWarning, match="`optimize` is deprecated and has no effect"):
        trace(optimize=True)
    for options in {"_force_outplace": True}, {"_store_inputs": False}, {"_module_class": object}:
        with pytest.raises(NotImplementedError, match=next(iter(options))):
            trace(**options)
