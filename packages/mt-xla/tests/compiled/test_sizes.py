"""Sizes that vary: captured once, compiled for each, and never a value of other sizes."""

from __future__ import annotations

import logging

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._dynamo import config
from mindtorch._dynamo.exc import FailOnRecompileLimitHit, Unsupported
from mindtorch._dynamo.utils import counters
from mindtorch.fx.experimental.symbolic_shapes import ConstraintViolationError
from mindtorch.nn import functional as F


def of_sizes(x, factor):
    """Numbers of sizes in shapes, elements, constants and results."""
    rows = x.shape[0]
    halves = x.reshape(2, rows // 2, -1).sum(1) * rows * factor
    return halves, x.shape[0] + 1, x.mean(), torch.arange(rows).sum(), torch.zeros(rows, factor), x.t()[:, : rows - 1]


@pytest.mark.parametrize("dynamic", [True, None])
def test_sizes_and_integers_vary_within_one_graph(dynamic):
    run = torch.compile(of_sizes, backend="xla", dynamic=dynamic, fullgraph=True)
    for rows, factor in ((4, 3), (6, 3), (8, 3), (4, 3)):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(run(x, factor), of_sizes(x, factor))
    assert counters["stats"]["unique_graphs"] == (1 if dynamic else 2)
    if dynamic:
        torch.testing.assert_close(run(x, 5), of_sizes(x, 5))
        assert counters["stats"]["unique_graphs"] == 1


def test_what_the_program_asks_of_sizes_is_a_guard():
    def program(x):
        return x * 2 if x.shape[0] > 3 else x - 1

    run = torch.compile(program, backend="xla", dynamic=True, fullgraph=True)
    for rows in (2, 5, 3, 4, 0):
        x = torch.randn(rows, 2)
        torch.testing.assert_close(run(x), program(x))
    assert counters["stats"]["unique_graphs"] <= 4


def test_strides_of_one_shape_have_programs_of_their_own():
    run = torch.compile(lambda x: x * 2 + x.shape[0], backend="xla", dynamic=True, fullgraph=True)
    for x in (torch.randn(4, 6), torch.randn(6, 4).t(), torch.randn(4, 12)[:, ::2], torch.randn(5, 7)):
        result = run(x)
        assert result.stride() == (x * 2).stride()
        torch.testing.assert_close(result, x * 2 + x.shape[0])


def test_batches_of_many_sizes_train_as_in_eager_execution():
    def losses(compiles):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.Linear(8, 3))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

        def step(x, y):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss.detach()

        run = torch.compile(step, backend="xla") if compiles else step
        sizes = (5, 3, 7, 4, 9, 5)
        return torch.stack([run(torch.randn(n, 6), torch.randint(0, 3, (n,))) for n in sizes])

    torch.testing.assert_close(losses(True), losses(False), rtol=1e-4, atol=1e-4)
    # One step makes the optimizer's state, and has no graph; one is captured for its size, the next for all.
    assert counters["stats"]["unique_graphs"] == 2


def test_a_size_that_is_marked_varies_and_may_not_be_fixed():
    run = torch.compile(lambda x: x * x.shape[0], backend="xla", dynamic=False, fullgraph=True)
    for rows in (4, 6, 9):
        x = torch.ones(rows, 2)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(run(x), x * rows)
    assert counters["stats"]["unique_graphs"] == 1
    fixed = torch.compile(lambda x: x.reshape(2, 4), backend="xla", fullgraph=True)
    x = torch.ones(8)
    torch._dynamo.mark_dynamic(x, 0)
    with pytest.raises(ConstraintViolationError):
        fixed(x)


def test_an_operator_that_one_size_does_not_allow_is_a_break_for_this_size():
    def program(x):
        return torch.as_strided(x, (2,), (1,)) + x.shape[0]

    run = torch.compile(program, backend="xla", dynamic=True)
    strict = torch.compile(program, backend="xla", dynamic=True, fullgraph=True)
    whole, part = torch.arange(6.0), torch.arange(9.0)[:7]
    for compiled in (run, strict):
        torch.testing.assert_close(compiled(whole), program(whole))
    torch.testing.assert_close(run(part), program(part))
    with pytest.raises(Unsupported, match="of a tensor that is a part of its storage"):
        strict(part)


@pytest.mark.parametrize("limit, sizes", [("recompile_limit", False), ("accumulated_recompile_limit", True)])
def test_the_limit_is_told_in_the_words_of_pytorch_and_the_program_runs_as_it_is(limit, sizes, monkeypatch, caplog):
    monkeypatch.setattr(config, limit, 2)
    run = torch.compile(lambda x: x + x.shape[0], backend="xla", dynamic=sizes)
    with caplog.at_level(logging.WARNING, logger="torch._dynamo"):
        for rows in (2, 3, 4, 5):
            torch.testing.assert_close(run(torch.ones(rows)), torch.full((rows,), rows + 1.0))
    told = [record.getMessage() for record in caplog.records if "torch._dynamo hit config." in record.getMessage()]
    assert len(told) == 1
    assert told[0].startswith(f"torch._dynamo hit config.{limit} (2)\n   function: ")
    strict = torch.compile(lambda x: x + x.shape[0], backend="xla", dynamic=sizes, fullgraph=True)
    strict(torch.ones(2))
    strict(torch.ones(3))
    with pytest.raises(FailOnRecompileLimitHit, match=limit):
        strict(torch.ones(4))


def test_logs_tell_of_recompilations_and_breaks(capfd):
    torch._logging.set_logs(recompiles=True, graph_breaks=True)
    try:
        run = torch.compile(lambda x: x * x.shape[0], backend="xla", dynamic=True)
        run(torch.ones(3))
        run(torch.ones(4))
        torch.compile(lambda x: x.mode().values, backend="xla")(torch.ones(3))
    finally:
        torch._logging.set_logs()
    told = capfd.readouterr().err
    assert "for other sizes: 4" in told
    assert "aten::mode is not lowered to XLA" in told


def test_explain_and_error_on_recompile(monkeypatch):
    run = torch.compile(lambda x: x.sin() + x.shape[0], backend="xla", dynamic=False)
    found = torch._dynamo.explain(run)(torch.ones(3))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (1, 0, 2)
    run(torch.ones(3))
    monkeypatch.setattr(config, "error_on_recompile", True)
    with pytest.raises(torch._dynamo.exc.RecompileError):
        run(torch.ones(4))
    torch.compiler.reset()
    torch.testing.assert_close(run(torch.ones(4)), torch.ones(4).sin() + 4)
