"""`fully_shard` among threads, against one process on the whole batch, and against PyTorch's on processes."""

from __future__ import annotations

import copy
import doctest
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
import mindtorch.distributed.checkpoint.state_dict  # what a program reaches by `torch.distributed`
from mindtorch import nn
from mindtorch.distributed import checkpoint, init_device_mesh
from mindtorch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from mindtorch.distributed.tensor import Shard
from mindtorch.utils.checkpoint import checkpoint as checkpointed
from mt_distributed.testing import run_threads

helpers = torch.distributed.checkpoint.state_dict
SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from fully_shard_programs import PROGRAMS  # noqa: E402 - lies beside the script that runs it with PyTorch

SNAPSHOT = json.loads((SNAPSHOTS / "fully_shard.json").read_text())
# One draw for all runs: optimizers that divide by the size of a gradient make much of rounding in a tiny one.
torch.manual_seed(0)
X, Y = torch.randn(12, 3), torch.arange(12) % 2


class Network(nn.Module):
    """Layers of sizes that no number of ranks divides; one runs twice, one is frozen, one has a parameter unused."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 5)
        self.twice = nn.Linear(5, 5, bias=False)
        self.frozen = nn.Linear(5, 4).requires_grad_(False)
        self.last = nn.Sequential(nn.GELU(), nn.Linear(4, 2))
        self.scale = nn.Parameter(torch.ones(1))
        self.unused = nn.Parameter(torch.ones(3))

    def forward(self, x: Any) -> Any:
        x = self.twice(torch.tanh(self.twice(self.first(x))))
        return self.last(self.frozen(x)) * self.scale


#: Threads copy it: they share the generator that would initialize their own.
NETWORK = Network()
BLOCKS = ("first", "twice", "frozen", "last")


def _sharded(group: Any, model: Any = None, **options: Any) -> Any:
    model = copy.deepcopy(NETWORK if model is None else model)
    mesh = options.pop("mesh", None) or init_device_mesh("cpu", (group.size(),))
    for name in BLOCKS:
        fully_shard(getattr(model, name), mesh=mesh, **options)
    return fully_shard(model, mesh=mesh, **options)


def _train(model: Any, optimizer: Any, x: Any, y: Any, steps: int = 3, pieces: int = 1, clip: bool = False) -> Any:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        total = 0.0
        for number, (part, goal) in enumerate(zip(x.chunk(pieces), y.chunk(pieces), strict=True)):
            if isinstance(model, FSDPModule) and pieces > 1:
                model.set_requires_gradient_sync(number == pieces - 1)
            loss = nn.functional.cross_entropy(model(part), goal) / pieces
            loss.backward()
            total += loss.item()
        if clip:
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            total += norm.full_tensor().item() if hasattr(norm, "full_tensor") else norm.item()
        optimizer.step()
        losses.append(total)
    return losses


def _optimizer(model: Any, kind: Any) -> Any:
    options = {"lr": 0.1, "momentum": 0.9} if kind is torch.optim.SGD else {"lr": 0.01}
    return kind(model.parameters(), **options)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name: str) -> None:
    results = run_threads(2, lambda group: PROGRAMS[name](torch, group))
    assert json.loads(json.dumps(results)) == SNAPSHOT[name]


@pytest.mark.parametrize(
    ("size", "kind", "options", "pieces", "clip"),
    [
        (2, "AdamW", {}, 1, False),
        (3, "SGD", {"reshard_after_forward": True}, 2, False),
        (2, "SGD", {"reshard_after_forward": False}, 1, True),
        (4, "SGD", {"shard_placement_fn": lambda p: Shard(p.dim() - 1)}, 1, False),
        (4, "AdamW", {"mesh": (2, 2)}, 1, False),
    ],
)
def test_training_equals_one_process(size: int, kind: str, options: Any, pieces: int, clip: bool) -> None:
    """Losses, weights and the state of the optimizer; gradients that are accumulated, clipped; over replicas."""
    kind = getattr(torch.optim, kind)
    alone = copy.deepcopy(NETWORK)
    optimizer = _optimizer(alone, kind)
    losses = _train(alone, optimizer, X, Y, clip=clip)
    expected = helpers.get_state_dict(alone, optimizer)

    def run(group: Any) -> Any:
        given = dict(options)
        if "mesh" in given:
            given["mesh"] = init_device_mesh("cpu", given["mesh"])
        model = _sharded(group, **given)
        optimizer = _optimizer(model, kind)
        rank = group.rank()
        found = _train(model, optimizer, X.chunk(size)[rank], Y.chunk(size)[rank], pieces=pieces, clip=clip)
        full = helpers.StateDictOptions(full_state_dict=True)
        return found, helpers.get_state_dict(model, optimizer, options=full)

    results = run_threads(size, run)
    parts = torch.tensor([found for found, _ in results]).mean(0)
    torch.testing.assert_close(parts, torch.tensor(losses), rtol=0, atol=1e-6)
    for _, (weights, state) in results:
        torch.testing.assert_close(weights, expected[0], rtol=0, atol=1e-6)
        torch.testing.assert_close(state["state"], expected[1]["state"], rtol=0, atol=1e-6)
        assert state["param_groups"] == expected[1]["param_groups"]


def test_memory_of_whole_parameters_goes() -> None:
    """After a forward, but for the root's; after a backward, all; and what is kept by an option stays."""

    def run(group: Any) -> Any:
        model = _sharded(group)
        states = [module._get_fsdp_state() for module in (model.first, model.twice, model)]

        def held() -> list[int]:
            wholes = [state.group.parameters[0].whole for state in states]
            return [0 if one is None else one.untyped_storage().nbytes() for one in wholes]

        seen = [held()]
        loss = model(X).sum()
        seen.append(held())
        loss.backward()
        seen.append(held())
        model.unshard()
        seen.append(held())
        handle = model.first.unshard(async_op=True)
        handle.wait()
        model.reshard()
        seen.append(held())
        model.set_reshard_after_backward(False)
        model.set_reshard_after_forward(False)
        model(X).sum().backward()
        seen.append(held())
        return seen

    for seen in run_threads(2, run):
        assert seen == [[0, 0, 0], [0, 0, 4], [0, 0, 0], [0, 0, 4], [60, 0, 0], [60, 100, 4]]


def test_gathering_is_begun_ahead() -> None:
    """Before a backward for the module before; before a forward, where it was asked for."""

    def run(group: Any) -> Any:
        base = nn.Sequential(*(nn.Linear(2, 2, bias=False) for _ in range(3)))
        model = copy.deepcopy(base)
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        events: list[str] = []
        for number, layer in enumerate(model):
            inner = layer._get_fsdp_state().group
            begin, unshard = inner.begin_unshard, inner.unshard

            def note(what: str, function: Any, inner: Any = inner, number: int = number) -> Any:
                def noted() -> None:
                    if not inner.is_whole and (what == "wait" or inner._gathering is None):
                        events.append(f"{what} {number}")
                    function()

                return noted

            inner.begin_unshard, inner.unshard = note("begin", begin), note("wait", unshard)
        model[0].set_modules_to_forward_prefetch([model[1]])
        output = model(torch.ones(1, 2)).sum()
        forward, events[:] = list(events), []
        output.backward()
        return forward, events

    for forward, backward in run_threads(2, run):
        assert forward == ["wait 0", "begin 0", "begin 1", "wait 1", "wait 2", "begin 2"]
        assert backward == ["wait 2", "begin 2", "begin 1", "wait 1", "begin 0", "wait 0"]


def test_dtypes() -> None:
    seen: list[Any] = []

    class Looks(nn.Linear):
        def forward(self, x: Any) -> Any:
            seen.append((x.dtype, self.weight.dtype))
            return super().forward(x)

    base = Looks(3, 2)

    def run(group: Any) -> Any:
        policy = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float64
        )
        model = fully_shard(copy.deepcopy(base), mp_policy=policy)
        output = model(X)
        output.sum().backward()
        return output.dtype, model.weight.dtype, model.weight.grad.dtype, model.weight.grad.full_tensor()

    for output, weight, grad, value in run_threads(2, run):
        assert (output, weight, grad) == (torch.float64, torch.float32, torch.float32)
        torch.testing.assert_close(value, X.sum(0).expand(2, 3).contiguous(), rtol=0.02, atol=0.02)
    assert set(seen) == {(torch.bfloat16, torch.bfloat16)}


def test_forwards_that_are_run_again_and_other_methods() -> None:
    class Twofold(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return checkpointed(self.inner, x, use_reentrant=False).sin()

        def other(self, x: Any) -> Any:
            return self.inner(x).cos()

    base = Twofold()
    alone = copy.deepcopy(base)
    (alone(X).sum() + alone.other(X).sum()).backward()

    def run(group: Any) -> Any:
        model = copy.deepcopy(base)
        fully_shard(model.inner)
        fully_shard(model)
        register_fsdp_forward_method(model, "other")
        (model(X).sum() + model.other(X).sum()).backward()
        return model.inner.weight.grad.full_tensor()

    for found in run_threads(2, run):
        torch.testing.assert_close(found, alone.inner.weight.grad, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("writers", "readers"), [(2, 1), (2, 3), (3, 2)])
def test_checkpoints_are_resumed_on_other_numbers_of_ranks(tmp_path: Path, writers: int, readers: int) -> None:
    alone = copy.deepcopy(NETWORK)
    optimizer = _optimizer(alone, torch.optim.AdamW)
    _train(alone, optimizer, X, Y, steps=2)

    def write(group: Any) -> Any:
        model = _sharded(group)
        optimizer = _optimizer(model, torch.optim.AdamW)
        _train(model, optimizer, X.chunk(writers)[group.rank()], Y.chunk(writers)[group.rank()], steps=2)
        weights, state = helpers.get_state_dict(model, optimizer)
        checkpoint.save({"model": weights, "optimizer": state}, checkpoint_id=tmp_path)

    run_threads(writers, write)
    expected = _train(alone, optimizer, X, Y, steps=2)

    def read(group: Any) -> Any:
        model = _sharded(group, Network())
        optimizer = _optimizer(model, torch.optim.AdamW)
        weights, state = helpers.get_state_dict(model, optimizer)
        given = {"model": weights, "optimizer": state}
        # A parameter that was never used has a state here, and had none where it was trained.
        planner = checkpoint.DefaultLoadPlanner(allow_partial_load=True)
        checkpoint.load(given, checkpoint_id=tmp_path, planner=planner)
        helpers.set_state_dict(model, optimizer, model_state_dict=given["model"], optim_state_dict=given["optimizer"])
        return _train(model, optimizer, X.chunk(readers)[group.rank()], Y.chunk(readers)[group.rank()], steps=2)

    found = torch.tensor(run_threads(readers, read)).mean(0)
    torch.testing.assert_close(found, torch.tensor(expected), rtol=0, atol=1e-6)
    plain = copy.deepcopy(NETWORK)
    state = {"model": plain.state_dict()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpoint.load(state, checkpoint_id=tmp_path)


def test_whole_states_are_taken() -> None:
    whole = copy.deepcopy(NETWORK)
    optimizer = _optimizer(whole, torch.optim.AdamW)
    _train(whole, optimizer, X, Y, steps=1)
    weights, state = helpers.get_state_dict(whole, optimizer)
    options = helpers.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)

    def run(group: Any) -> Any:
        model = _sharded(group)
        optimizer = _optimizer(model, torch.optim.AdamW)
        own = group.rank() == 0
        helpers.set_state_dict(
            model,
            optimizer,
            model_state_dict=weights if own else {},
            optim_state_dict=state if own else {},
            options=options,
        )
        full = helpers.StateDictOptions(full_state_dict=True)
        return helpers.get_state_dict(model, optimizer, options=full)

    for found, found_state in run_threads(2, run):
        torch.testing.assert_close(found, weights, rtol=0, atol=0)
        torch.testing.assert_close(found_state["state"], state["state"], rtol=0, atol=0)


def test_refusals() -> None:
    def run(group: Any) -> None:
        for options in ({"reshard_after_forward": 2}, {"dp_mesh_dims": 1}):
            with pytest.raises(NotImplementedError, match="fully_shard with"):
                fully_shard(nn.Linear(2, 2), **options)
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
            fully_shard(nn.Linear(2, 2), offload_policy=CPUOffloadPolicy())
        offloaded = fully_shard(nn.Linear(2, 2), offload_policy=CPUOffloadPolicy(pin_memory=False))
        offloaded(torch.ones(1, 2)).sum().backward()
        assert {one.device.type for p in offloaded.parameters() for one in (p, p.grad)} == {"cpu"}
        scalar = nn.Linear(2, 2)
        scalar.register_parameter("s", nn.Parameter(torch.tensor(1.0)))
        with pytest.raises(ValueError, match="fully_shard doesn't support scalar parameters. Change s to a 1D tensor"):
            fully_shard(scalar)
        with pytest.raises(ValueError, match="does not support containers that do not implement forward"):
            fully_shard(nn.ModuleList([nn.Linear(2, 2)]))
        model = fully_shard(nn.Linear(2, 2))
        assert isinstance(model, FSDPModule)
        assert isinstance(model, nn.Linear)
        with pytest.raises(AssertionError, match="FSDP does not support deepcopy"):
            copy.deepcopy(model)
        with pytest.raises(NotImplementedError, match="FSDPModule.set_custom_all_gather"):
            model.set_custom_all_gather(1)
        with pytest.raises(ValueError, match="before"):
            fully_shard(model)
        model.weight = nn.Parameter(torch.ones(2, 2))
        with pytest.raises(RuntimeError, match="weight was replaced"):
            model(torch.ones(1, 2))

    run_threads(1, run)


def test_the_page_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "sharded-training.md"
    failures, examples = doctest.testfile(str(page), module_relative=False)
    assert examples > 10
    assert failures == 0
