"""`DistributedDataParallel` among threads, against PyTorch's on processes and against one process."""

from __future__ import annotations

import doctest
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
import mindtorch.distributed.algorithms.ddp_comm_hooks.default_hooks  # what a program reaches by `torch.distributed`
from mindtorch import nn
from mt_distributed.data_parallel import DistributedDataParallel
from mt_distributed.data_parallel.buckets import bucket_assignment
from mt_distributed.testing import run_threads

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from data_parallel_programs import PROGRAMS  # noqa: E402 - lies beside the script that runs it with PyTorch

SNAPSHOT = json.loads((SNAPSHOTS / "data_parallel.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name: str) -> None:
    results = run_threads(2, lambda group: PROGRAMS[name](torch, group))
    assert json.loads(json.dumps(results)) == SNAPSHOT[name]


@pytest.mark.parametrize("name", ["POWER_SGD", "POWER_SGD_RANK2", "BATCHED_POWER_SGD", "BATCHED_POWER_SGD_RANK2"])
def test_factors_of_a_rank_that_is_enough_lose_nothing(name: str) -> None:
    """Gradients of one input are of rank one, and so is their average here."""
    hooks = torch.distributed.algorithms.ddp_comm_hooks
    kind = hooks.DDPCommHookType[name]

    def run(group: Any) -> Any:
        model = DistributedDataParallel(nn.Linear(8, 8, bias=False))
        with torch.no_grad():
            model.module.weight.fill_(0.5)
        hooks.register_ddp_comm_hook(kind, model, group)
        expected = torch.arange(8.0).expand(8, 8) * 1.5
        total = torch.zeros(8, 8)
        for step in range(9):
            if step == 4:  # by default they begin to compress late
                model._comm_hooks[0][1].start_powerSGD_iter = 4
            model.zero_grad()
            model(torch.arange(8.0)[None] * (group.rank() + 1)).sum().backward()
            total += model.module.weight.grad - expected
        return total.abs().max().item()

    assert max(run_threads(2, run)) < 1e-3


def _network() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64, 8),
        nn.Tanh(),
        nn.Linear(8, 3),
    )


def _train(model: nn.Module, x: Any, y: Any, steps: int = 3, pieces: int = 1) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    losses = []
    for _ in range(steps):
        total = 0.0
        for number, (part, goal) in enumerate(zip(x.chunk(pieces), y.chunk(pieces), strict=True)):
            model.require_backward_grad_sync = number == pieces - 1
            loss = nn.functional.cross_entropy(model(part), goal) / pieces
            loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(total)
    return losses


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.0005},
        {"find_unused_parameters": True, "bucket_cap_mb": 0.0005},
        {"static_graph": True, "bucket_cap_mb": 0.0005},
    ],
)
def test_training_equals_one_process(size: int, options: dict[str, Any]) -> None:
    """With synchronized batch normalization, the parts of a batch train as the whole does."""
    x, y = torch.randn(8, 2, 6, 6), torch.arange(8) % 3
    alone = _network()
    losses = _train(alone, x, y)
    models = [nn.SyncBatchNorm.convert_sync_batchnorm(_network()) for _ in range(size)]

    def run(group: Any) -> list[float]:
        model = models[group.rank()]
        for layer in model.modules():
            if isinstance(layer, nn.SyncBatchNorm):
                layer.process_group = group
        wrapped = DistributedDataParallel(model, process_group=group, **options)
        return _train(wrapped, x.chunk(size)[group.rank()], y.chunk(size)[group.rank()])

    parts = run_threads(size, run)
    torch.testing.assert_close(torch.tensor(parts).mean(0), torch.tensor(losses), rtol=0, atol=1e-6)
    for model in models:
        for (name, value), expected in zip(model.state_dict().items(), alone.state_dict().values(), strict=True):
            torch.testing.assert_close(value, expected, rtol=0, atol=1e-6, msg=name)


def test_accumulated_gradients_equal_one_process() -> None:
    x, y = torch.randn(12, 4), torch.arange(12) % 3
    networks = []
    for _ in range(4):
        torch.manual_seed(5)
        networks.append(nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 3)))
    alone, *models = networks
    _train(alone, x, y)

    def run(group: Any) -> None:
        wrapped = DistributedDataParallel(models[group.rank()], process_group=group)
        _train(wrapped, x.chunk(3)[group.rank()], y.chunk(3)[group.rank()], pieces=2)

    run_threads(3, run)
    for model in models:
        for value, expected in zip(model.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(value, expected, rtol=0, atol=1e-6)


def test_reduction_starts_before_the_last_gradient() -> None:
    """And buckets follow the order in which gradients came first."""

    class Shuffled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(4))

        def forward(self, x: Any) -> Any:
            for number in (2, 0, 3, 1):
                x = self.layers[number](x)
            return x

    def run(group: Any) -> tuple[list[Any], list[list[int]]]:
        model = DistributedDataParallel(Shuffled(), process_group=group, bucket_cap_mb=0.00005)
        model(torch.ones(1, 4)).sum().backward()
        model(torch.ones(1, 4))
        model = DistributedDataParallel(model.module, process_group=group, bucket_cap_mb=0.00005)
        model(torch.ones(1, 4)).sum().backward()
        events: list[Any] = []
        for number, layer in enumerate(model.module.layers):
            layer.weight.register_hook(lambda grad, number=number: events.append(number))
        begun = group._communicator.begun
        output = model(torch.ones(1, 4)).sum()
        before = len(begun)
        for layer in model.module.layers:
            layer.weight.register_post_accumulate_grad_hook(lambda _: events.append(begun[before:].count("all_reduce")))
        output.backward()
        return events, [bucket.indices for bucket in model.reducer.buckets]

    for events, buckets in run_threads(2, run):
        assert buckets == [[1], [3], [0], [2]]
        assert events == [1, 0, 3, 1, 0, 2, 2, 3]  # a gradient, and how many reductions have begun as it arrives


def test_models_must_be_alike() -> None:
    def run(group: Any, make: Any) -> str:
        with pytest.raises(RuntimeError) as raised:
            DistributedDataParallel(make(group.rank()), process_group=group)
        group._communicator.hub.failed.set()
        return str(raised.value)

    assert (
        "Rank 1 has 2 params, while rank 0 has inconsistent 1 params."
        in run_threads(2, run, lambda rank: nn.Linear(2, 2, bias=rank == 1))[1]
    )

    def differ(group: Any) -> str:
        try:
            DistributedDataParallel(nn.Linear(2, 2 + group.rank()), process_group=group)
        except RuntimeError as error:
            return str(error)
        finally:
            group._communicator.hub.failed.set()
        return ""

    assert run_threads(2, differ)[1] == (
        "[1]: params[0] in this process with sizes [3, 2] appears not to match sizes of the same param in process 0."
    )


@pytest.mark.parametrize(
    "option",
    [
        {"mixed_precision": 1},
        {"skip_all_reduce_unused_params": True},
        {"batched_grad_copy": True},
        {"delay_all_reduce_named_params": [], "param_to_hook_all_reduce": 1},
    ],
)
def test_what_is_not_supported_says_so(option: dict[str, Any]) -> None:
    def run(group: Any) -> None:
        DistributedDataParallel(nn.Linear(2, 2), process_group=group, **option)

    with pytest.raises(NotImplementedError, match="DistributedDataParallel with"):
        run_threads(1, run)


def test_bucket_assignment() -> None:
    """As PyTorch's ``_compute_bucket_assignment_by_size`` answered."""
    shapes = [(3000, torch.float32), (2, torch.float64), (3000, torch.float32), (3000, torch.float32)]
    tensors = [torch.zeros(size, dtype=dtype) for size, dtype in [*shapes, (3000, torch.float64), (5, torch.float32)]]
    assert bucket_assignment(tensors, [10000, 30000]) == ([[0], [1, 4], [2, 3, 5]], [10000, 10000, 30000])
    assert bucket_assignment(tensors, [1, 2, 4, 8]) == ([[0], [1], [2], [3], [4], [5]], [1, 1, 2, 4, 2, 8])
    assert bucket_assignment(tensors, [10000, 30000], [5, 4, 3, 2, 1, 0])[0] == [[5], [4, 1], [3, 2, 0]]


def test_synchronized_statistics_of_uneven_batches() -> None:
    """Processes may have different numbers of samples, and none."""
    x = torch.randn(7, 3, 2, dtype=torch.float64)
    weight = torch.randn(7, 3, 2, dtype=torch.float64)
    alone = nn.BatchNorm1d(3, dtype=torch.float64)
    whole = x.clone().requires_grad_()
    expected = alone(whole)
    (expected * weight).sum().backward()
    bounds = [0, 5, 5, 7]

    def run(group: Any) -> Any:
        rows = slice(bounds[group.rank()], bounds[group.rank() + 1])
        layer = nn.SyncBatchNorm(3, process_group=group, dtype=torch.float64)
        part = x[rows].clone().requires_grad_()
        result = layer(part)
        (result * weight[rows]).sum().backward()
        return result.detach(), part.grad, layer.weight.grad, layer.bias.grad, layer.running_mean, layer.running_var

    results, grads, weights, biases, means, variances = zip(*run_threads(3, run), strict=True)
    for given, wanted in (
        (torch.cat(results), expected),
        (torch.cat(grads), whole.grad),
        (sum(weights), alone.weight.grad),
        (sum(biases), alone.bias.grad),
        *((mean, alone.running_mean) for mean in means),
        *((variance, alone.running_var) for variance in variances),
    ):
        torch.testing.assert_close(given, wanted.detach(), rtol=0, atol=1e-10)


def test_the_page_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "data-parallel.md"
    failures, examples = doctest.testfile(str(page), module_relative=False)
    assert examples > 5 and failures == 0


def test_after_a_join_gradients_are_divided_by_all_again() -> None:
    def train(group: Any) -> list[float]:
        model = nn.Linear(1, 1, bias=False)
        parallel = DistributedDataParallel(model, process_group=group)
        found = []
        for _ in range(2):
            with parallel.join(divide_by_initial_world_size=False):
                for _ in range(group.rank() + 1):
                    parallel(torch.full((1, 1), 6.0)).sum().backward()
                    found.append(model.weight.grad.item())
                    model.weight.grad = None
        with parallel.join(enable=False):  # a join that is over goes on asking who takes part, as PyTorch's
            parallel(torch.full((1, 1), 6.0 * group.rank())).sum().backward()
        return [*found, model.weight.grad.item()]

    assert run_threads(2, train) == [[6.0, 6.0, 3.0], [6.0, 6.0, 6.0, 6.0, 3.0]]
