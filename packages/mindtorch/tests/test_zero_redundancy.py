"""`ZeroRedundancyOptimizer` among threads, against one optimizer on one process."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch.distributed.algorithms.join import Join
from mindtorch.distributed.optim import ZeroRedundancyOptimizer
from mt_distributed.data_parallel import DistributedDataParallel
from mt_distributed.optim.partition import partitioned
from mt_distributed.testing import run_threads

# One draw for all runs: optimizers that divide by the size of a gradient make much of rounding in a tiny one.
torch.manual_seed(0)
#: Threads copy it: they share the generator that would initialize their own.
NETWORK = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.GELU(), nn.Linear(4, 2)).double()


def _network() -> nn.Module:
    return copy.deepcopy(NETWORK)


def _groups(model: nn.Module) -> list[dict[str, Any]]:
    parameters = list(model.parameters())
    return [{"params": parameters[:3]}, {"params": parameters[3:], "lr": 0.05, "weight_decay": 0.1}]


X, Y = torch.randn(12, 3, dtype=torch.float64), torch.arange(12) % 2
OPTIMIZERS = [
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (torch.optim.AdamW, {"lr": 0.01}),
    (torch.optim.Adagrad, {"lr": 0.1}),
]


def _train(model: nn.Module, optimizer: Any, x: Any, y: Any, steps: int = 3) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize(("kind", "options"), OPTIMIZERS)
def test_training_equals_one_process(kind: Any, options: dict[str, Any], view: bool) -> None:
    """Losses, weights, and the state, which training goes on from on another number of processes."""
    alone = _network()
    optimizer = kind(_groups(alone), **options)
    losses = _train(alone, optimizer, X, Y)

    def run(group: Any, loaded: Any = None, start: Any = None) -> Any:
        model = _network() if start is None else copy.deepcopy(start)
        zero = ZeroRedundancyOptimizer(
            _groups(model), kind, process_group=group, parameters_as_bucket_view=view, **options
        )
        if loaded is not None:
            zero.load_state_dict(loaded)
        wrapped = DistributedDataParallel(model, process_group=group)
        rank, size = group.rank(), group.size()
        found = _train(wrapped, zero, X.chunk(size)[rank], Y.chunk(size)[rank])
        zero.consolidate_state_dict(to=size - 1)
        state = zero.state_dict() if rank == size - 1 else None
        return found, model, state

    results = run_threads(3, run)
    found = torch.tensor([one for one, _, _ in results]).mean(0)
    torch.testing.assert_close(found, torch.tensor(losses), rtol=0, atol=1e-6)
    for _, model, _ in results:
        for got, expected in zip(model.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-6)
    state = results[-1][2]
    expected_state = optimizer.state_dict()
    assert state["param_groups"] == expected_state["param_groups"]
    torch.testing.assert_close(state["state"], expected_state["state"], rtol=0, atol=1e-6)
    losses = _train(alone, optimizer, X, Y)
    again = run_threads(2, run, state, results[0][1])
    torch.testing.assert_close(
        torch.tensor([one for one, _, _ in again]).mean(0), torch.tensor(losses), rtol=0, atol=1e-6
    )
    for got, expected in zip(again[1][1].parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-6)


def test_shares_are_pytorchs() -> None:
    """As PyTorch's ``_partition_parameters`` answered."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4), nn.Linear(4, 1))
    parameters = list(model.parameters())
    number = {id(p): index for index, p in enumerate(parameters)}
    shares = partitioned([{"params": parameters[:3]}, {"params": parameters[3:]}], 3)
    told = [[[number[id(p)] for p in group["params"]] for group in share] for share in shares]
    assert told == [[[2], []], [[0], [4]], [[1], [3, 5]]]


def test_state_is_kept_by_one_process_alone_and_groups_can_be_added() -> None:
    def run(group: Any) -> Any:
        model = _network()
        parameters = list(model.parameters())
        zero = ZeroRedundancyOptimizer(parameters[:3], torch.optim.Adam, process_group=group, lr=0.1)
        assert zero.param_groups[0]["betas"] == (0.9, 0.999)
        zero.add_param_group({"params": parameters[3:], "lr": 0.5})
        parameters[0].requires_grad_(False)
        model(X).sum().backward()
        zero.step()
        before = [p.detach().clone() for p in parameters]
        zero.param_groups[0]["lr"] = zero.param_groups[1]["lr"] = 0.0
        assert zero.step(lambda: 3.0) == 3.0
        for old, new in zip(before, parameters, strict=True):
            assert torch.equal(old, new)
        with pytest.raises(RuntimeError, match=r"consolidate_state_dict\(to=" + str(group.rank())):
            zero.state_dict()
        return [id(p) in {id(q) for q in zero.optim.state} for p in parameters], [p.tolist() for p in parameters]

    with pytest.warns(
        UserWarning, match="the trainable parameters changed"
    ):  # not in threads: filters are the process's
        first, second = run_threads(2, run)
    assert first[0][1:] == [not kept for kept in second[0][1:]]
    assert first[1] == second[1]


def test_refusals() -> None:
    weight = nn.Parameter(torch.ones(2))

    def made(params: Any, **options: Any) -> Any:
        return run_threads(1, lambda group: ZeroRedundancyOptimizer(params, torch.optim.SGD, group, lr=1.0, **options))

    for params, error, words in (
        (3, TypeError, "`params` argument should be an iterable of Tensors or dicts, but got int"),
        ([], ValueError, "ZeroRedundancyOptimizer got an empty parameter list"),
        ([weight, {"params": weight}], TypeError, "`params` argument should be an iterable of Tensors or dicts"),
        (weight, TypeError, "`params` argument should be an iterable of Tensors, but got torch.FloatTensor"),
        ([weight, torch.ones(1).double()], ValueError, "got both torch.FloatTensor and torch.DoubleTensor"),
        ([weight, torch.ones(1, device="meta")], ValueError, "got both torch.FloatTensor and torch.meta.FloatTensor"),
    ):
        with pytest.raises(error, match=words):
            made(params)
    with pytest.raises(NotImplementedError, match="overlap_with_ddp=True"):
        made([weight], overlap_with_ddp=True)


def test_processes_with_fewer_inputs_step_with_the_others() -> None:
    def run(group: Any) -> Any:
        model = DistributedDataParallel(_network(), process_group=group)
        zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, process_group=group, lr=0.1)
        with Join([model, zero]):
            for _ in range(2 + group.rank()):
                zero.zero_grad()
                model(X[:2]).sum().backward()
                zero.step()
        return [p.tolist() for p in model.parameters()]

    first, second = run_threads(2, run)
    assert first == second
