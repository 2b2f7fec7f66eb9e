"""Programs compiled whole: what they return, write and refuse is as in eager execution."""

from __future__ import annotations

import threading

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._dynamo.exc import Unsupported
from mindtorch._dynamo.utils import counters
from mindtorch.nn import functional as F


def compiled(program, **settings):
    return torch.compile(program, backend="xla", fullgraph=True, **settings)


def check(program, *args, exact=False):
    """A program gives, and leaves of its arguments, what it does as it is."""
    ours, theirs = ([a.clone() if isinstance(a, torch.Tensor) else a for a in args] for _ in range(2))
    torch.manual_seed(3)
    got = compiled(program)(*ours)
    torch.manual_seed(3)
    expected = program(*theirs)
    close = {"rtol": 0, "atol": 0} if exact else {}
    torch.testing.assert_close([got, ours], [expected, theirs], equal_nan=True, check_stride=True, **close)


def test_writes_to_arguments_and_views_of_them():
    def program(x, y):
        x[1:].add_(y[0])
        x.t().mul_(2)
        y[:, 0] = x.sum(0)
        return x.view(-1)[2:5] + 1

    check(program, torch.arange(6.0).reshape(3, 2), torch.ones(2, 3)[:, :2].contiguous())


def test_results_that_are_views_of_arguments_stay_so():
    x = torch.zeros(3, 4)
    row, whole = compiled(lambda x: (x[1], x))(x)
    row.add_(1)
    assert whole is x
    assert x[1].tolist() == [1.0] * 4


def test_results_that_are_one_tensor_stay_so_or_are_apart_as_they_are():
    def program(x):
        y = x + 1
        return y, y.view(-1), y * 1

    y, flat, other = compiled(program)(torch.zeros(2, 2))
    flat.add_(5)
    assert y.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    assert other.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("size", [3, 70_000])
def test_results_may_be_written_to_and_outlive_the_program(size):
    run = compiled(lambda x: (x + 1, x * 2))
    first = run(torch.zeros(size))
    second = run(torch.ones(size))
    first[0].add_(1)
    del run
    assert first[0].unique().tolist() == [2.0]
    assert second[0].unique().tolist() == [2.0]
    assert second[1].unique().tolist() == [2.0]


def test_large_results_are_complete_when_they_are_there():
    a = torch.rand(700, 700)
    run = compiled(lambda a: (a @ a @ a @ a).t())
    for _ in range(3):
        torch.testing.assert_close(run(a), (a @ a @ a @ a).t(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("layout", ["t", "channels_last", "expanded", "flipped"])
def test_strides_are_those_of_eager_execution(layout):
    def program(x):
        y = x * 2
        if layout == "t":
            return y.t()
        if layout == "channels_last":
            return y.reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
        if layout == "expanded":
            return y.sum(0, keepdim=True).expand(5, -1)
        return y.flip(0)

    x = torch.arange(24.0).reshape(6, 4)
    result = compiled(program)(x)
    assert result.stride() == program(x).stride()
    torch.testing.assert_close(result, program(x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.uint8, torch.bool])
def test_dtypes(dtype):
    x = torch.arange(-6, 6).to(dtype).reshape(3, 4)
    y = torch.tensor([3, 1, 2, 5]).to(dtype)

    def program(x, y):
        added = x + y
        return added, x * y, x > y, added.sum(0), added.to(torch.float32) / 3, torch.where(x > y, x, y)

    check(program, x, y)


def test_narrow_floats_are_rounded_after_each_operator():
    torch.manual_seed(0)
    x = torch.randn(1000).to(torch.bfloat16)
    check(lambda x: ((x * 1.1 + 0.3) * x - x / 7).sub(x * 0.7), x, exact=True)


SPECIAL = [0.0, -0.0, 1.0, -1.5, 2.5, float("inf"), -float("inf"), float("nan"), 1e30, -3e9, 1e-30]


def test_special_values():
    a = torch.tensor(SPECIAL).repeat(len(SPECIAL))
    b = torch.tensor(SPECIAL).repeat_interleave(len(SPECIAL))

    def program(a, b):
        pairs = (torch.maximum, torch.minimum, torch.fmax, torch.remainder, torch.fmod, torch.floor_divide, torch.atan2)
        lone = (torch.sign, torch.round, torch.relu, torch.isnan, torch.trunc, F.hardtanh, F.hardswish, F.softshrink)
        casts = [a.to(kind) for kind in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.bool)]
        return [f(a, b) for f in pairs], [f(a) for f in lone], casts, torch.clamp(a, -1, 2), a.sort().values

    check(program, a, b)


def test_integers():
    a = torch.tensor([-7, -1, 0, 3, 2**62, -(2**63)]).repeat(4)
    b = torch.tensor([2, -3, 5, -1]).repeat_interleave(6)

    def program(a, b):
        rounded = [torch.div(a, b, rounding_mode=mode) for mode in ("floor", "trunc")]
        return rounded, a % b, torch.fmod(a, b), a << 3, a >> 70, a * b, a + 2**63 - 1, a.pow(3)

    check(program, a, b)


def test_a_division_by_zero_is_refused():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(lambda a, b: a // b)(torch.tensor([1, 2]), torch.tensor([1, 0]))


@pytest.mark.parametrize(
    "program, text",
    [
        (lambda t, i: t[i], "index is out of bounds for dimension 0 with size 3"),
        (lambda t, i: F.embedding(i, t), "index out of range in self"),
        (lambda t, i: t.gather(0, i[:, None]), "index is out of bounds for dimension 0 with size 3"),
        (lambda t, i: F.cross_entropy(t[:1].expand(2, -1), i), "Target is out of bounds"),
        (lambda t, i: t.index_add(0, i, t[:2]), "index out of range in self"),
    ],
)
def test_an_index_out_of_range_is_refused_before_anything_is_written(program, text):
    table = torch.arange(6.0).reshape(3, 2)
    count = torch.zeros(())

    def counting(table, index):
        count.add_(1)
        return program(table, index)

    run = compiled(counting)
    good, bad = torch.tensor([0, 1]), torch.tensor([1, 3])
    torch.testing.assert_close(run(table, good), program(table, good))
    with pytest.raises(IndexError, match=text):
        run(table, bad)
    assert count.item() == 1


def test_negative_indices_count_from_the_end():
    check(lambda x, i: (x[i], x.index_put((i,), x[0] * 0)), torch.arange(6.0).reshape(3, 2), torch.tensor([-1, 0, -3]))


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.rand(5),
        lambda x: torch.randn_like(x),
        lambda x: F.dropout(x, 0.4),
        lambda x: F.dropout(x.t(), 0.4),
        lambda x: torch.randint(0, 9, (4,)),
        lambda x: torch.randperm(7),
        lambda x: x.clone().uniform_(-1, 1) + torch.empty(3).exponential_().sum(),
        lambda x: F.gumbel_softmax(x),
    ],
)
def test_random_numbers_are_those_of_eager_execution(draw):
    x = torch.ones(3, 4)
    run = compiled(draw)
    for _ in range(2):
        torch.manual_seed(5)
        got, after = run(x), torch.rand(1)
        torch.manual_seed(5)
        torch.testing.assert_close(got, draw(x))
        assert torch.equal(torch.rand(1), after)


def test_what_is_drawn_by_elements_is_named():
    with pytest.raises(Unsupported, match="aten::bernoulli draws random numbers by elements of a tensor"):
        compiled(torch.bernoulli)(torch.full((3,), 0.5))


def test_an_operator_that_is_not_lowered_is_named_and_the_program_runs_as_it_is():
    x = torch.tensor([3.0, 1.0, 2.0])
    with pytest.raises(Unsupported, match="aten::mode is not lowered to XLA"):
        compiled(lambda x: torch.mode(x).values * 2)(x)
    assert torch.compile(lambda x: torch.mode(x).values * 2, backend="xla")(x).item() == 2
    assert any("aten::mode" in reason for reason in counters["graph_break"])


def test_a_gradient_that_is_not_lowered_is_refused_before_the_program_runs():
    x = torch.rand(3, 3, requires_grad=True)
    counted = torch.zeros(())

    def program(x):
        counted.add_(1)
        return torch.cummax(x, 0).values.mode(0).values

    with pytest.raises(Unsupported, match="is not lowered to XLA"):
        compiled(program)(x)
    assert counted.item() == 0


def test_numbers_that_composites_would_read_are_not_made_up():
    with pytest.raises(Unsupported, match="linspace"):
        compiled(lambda end: torch.linspace(0, end, 3))(torch.tensor(4.0))


def test_modules_and_closures_that_change():
    layer = nn.Linear(3, 2)
    scale = 2.0

    def program(x):
        return layer(x) * scale

    run = torch.compile(program, backend="xla")
    x = torch.ones(1, 3)
    torch.testing.assert_close(run(x), program(x))
    scale = 3.0
    torch.testing.assert_close(run(x), program(x))
    with torch.no_grad():
        layer.weight.add_(1)
    torch.testing.assert_close(run(x), program(x))
    layer.weight = nn.Parameter(torch.zeros(2, 3))
    torch.testing.assert_close(run(x), program(x))
    layer.register_forward_hook(lambda module, args, out: out + 1)
    torch.testing.assert_close(run(x), program(x))


def test_training_and_evaluation_have_programs_of_their_own():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    run = torch.compile(model, backend="xla", fullgraph=True)
    x = torch.randn(6, 4)
    twin = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    twin.load_state_dict(model.state_dict())
    for mode in (True, False, True):
        model.train(mode)
        twin.train(mode)
        torch.manual_seed(1)
        got = run(x)
        torch.manual_seed(1)
        torch.testing.assert_close(got, twin(x))
    torch.testing.assert_close(model.state_dict(), twin.state_dict())


def test_threads_share_a_program():
    run = compiled(lambda x: (x @ x).sum(0))
    inputs = [torch.rand(20, 20) for _ in range(4)]
    found = {}

    def work(number):
        found[number] = [run(inputs[number]) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for number, results in found.items():
        for result in results:
            torch.testing.assert_close(result, (inputs[number] @ inputs[number]).sum(0))
    assert len(found) == 4


def test_sizes_of_nothing():
    check(lambda x: (x + 1, x.sum(), x.sum(0), torch.cat([x, x]), x @ x.t()), torch.empty(0, 3))


def test_explain_and_reset():
    run = compiled(lambda x: x.sin() + 1)
    run(torch.ones(2))
    run(torch.ones(2))
    assert counters["stats"]["unique_graphs"] == 1
    torch.compiler.reset()
    run(torch.ones(2))
    assert counters["stats"]["unique_graphs"] == 2


def test_a_program_whose_gradient_cannot_be_computed_runs_as_it_is():
    def program(x):
        y = x.log_softmax(-1)
        y.copy_(y * 2)
        return y

    x = torch.randn(2, 3, requires_grad=True)
    assert torch.equal(torch.compile(program, backend="xla")(x), program(x))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="modified by an inplace operation"):
        torch.compile(program, backend="xla", fullgraph=True)(x)


def test_a_view_of_an_argument_that_gets_another_geometry():
    def program(x):
        part = x.narrow(1, 1, 1)
        x.t_()
        return part

    compiled = torch.compile(program, backend="xla")
    for _ in range(2):
        assert compiled(torch.ones(4, 3)).shape == (4, 1)
