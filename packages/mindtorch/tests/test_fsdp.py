"""`FullyShardedDataParallel` among threads, against PyTorch's on processes and one process on the whole batch."""

from __future__ import annotations

import copy
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch.distributed import fsdp, init_device_mesh
from mindtorch.distributed.checkpoint.state_dict import get_model_state_dict
from mindtorch.distributed.fsdp import FullyShardedDataParallel as FSDP
from mindtorch.distributed.fsdp import ShardingStrategy, StateDictType
from mindtorch.distributed.fsdp.wrap import ModuleWrapPolicy
from mindtorch.utils.checkpoint import checkpoint as checkpointed
from mt_distributed.testing import run_threads

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from fsdp_programs import PROGRAMS  # noqa: E402 - lies beside the script that runs it with PyTorch

SNAPSHOT = json.loads((SNAPSHOTS / "fsdp.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name: str) -> None:
    results = run_threads(2, lambda group: PROGRAMS[name](torch, group))
    assert json.loads(json.dumps(results)) == SNAPSHOT[name]


class Network(nn.Module):
    """Tied parameters, a layer that runs twice, one that keeps its parameters in a list, one that is recomputed."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 6)
        self.twice = nn.Linear(6, 6)
        self.recurrent = nn.GRU(6, 6, batch_first=True)
        self.block = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 6))
        self.last = nn.Linear(6, 7, bias=False)
        self.last.weight = self.embedding.weight
        self.unused = nn.Parameter(torch.ones(3))

    def forward(self, tokens: Any) -> Any:
        x = self.twice(torch.tanh(self.twice(self.embedding(tokens))))
        x = self.recurrent(x)[0]
        return self.last(checkpointed(self.block, x, use_reentrant=False))


torch.manual_seed(0)
NETWORK = Network()
TOKENS = torch.randint(0, 7, (12, 4))
CLASSES = ModuleWrapPolicy({nn.GRU, nn.Sequential})


def _train(model: Any, optimizer: Any, tokens: Any, pieces: int = 1) -> list[float]:
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        total = 0.0
        for number, part in enumerate(tokens.chunk(pieces)):
            waits = model.no_sync() if isinstance(model, FSDP) and number < pieces - 1 else torch.enable_grad()
            with waits:
                loss = nn.functional.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten()) / pieces
                loss.backward()
            total += loss.item()
        norm = model.clip_grad_norm_(0.05) if isinstance(model, FSDP) else _clipped(model)
        optimizer.step()
        with torch.no_grad():  # whole parameters that a forward leaves behind are not those of the next step
            model(tokens)
        losses.append([total, norm.item()])
    return losses


def _clipped(model: Any) -> Any:
    return nn.utils.clip_grad_norm_(model.parameters(), 0.05)


@pytest.mark.parametrize(
    ("size", "strategy", "originals", "pieces"),
    [
        (2, "FULL_SHARD", False, 1),
        (3, "SHARD_GRAD_OP", True, 2),
        (2, "NO_SHARD", True, 1),
        (4, "HYBRID_SHARD", False, 1),
        (4, "_HYBRID_SHARD_ZERO2", True, 1),
    ],
)
def test_training_equals_one_process(size: int, strategy: str, originals: bool, pieces: int) -> None:
    """Losses, norms, weights, and the state of the optimizer, which another run takes up."""
    alone = copy.deepcopy(NETWORK)
    optimizer = torch.optim.Adam(alone.parameters(), 0.02)
    losses = _train(alone, optimizer, TOKENS)
    names = [name for name, _ in alone.named_parameters()]
    states = {names[number]: value for number, value in optimizer.state_dict()["state"].items()}

    def run(group: Any) -> Any:
        shape = (2, 2) if "HYBRID" in strategy else (size,)
        options = {
            "auto_wrap_policy": CLASSES,
            "sharding_strategy": ShardingStrategy[strategy],
            "device_mesh": init_device_mesh("cpu", shape),
            "use_orig_params": originals,
        }
        part = TOKENS.chunk(size)[group.rank()]
        model = FSDP(copy.deepcopy(NETWORK), **options)
        optimizer = torch.optim.Adam(model.parameters(), 0.02)
        found = _train(model, optimizer, part, pieces)
        weights, state = model.state_dict(), FSDP.optim_state_dict(model, optimizer)
        again = FSDP(copy.deepcopy(NETWORK), **options)
        again.load_state_dict(weights)
        other = torch.optim.Adam(again.parameters(), 0.02)
        FSDP.optim_state_dict_to_load(again, other, state, load_directly=True)
        assert _train(again, other, part, pieces) == _train(model, optimizer, part, pieces)
        return found, weights, state

    results = run_threads(size, run)
    found = torch.tensor([one for one, _, _ in results]).mean(0)
    torch.testing.assert_close(found, torch.tensor(losses), rtol=0, atol=2e-6)
    for _, weights, state in results:
        torch.testing.assert_close(dict(weights), dict(alone.state_dict()), rtol=0, atol=2e-6)
        given = {name: state["state"][name] for name in states if name != "unused"}
        expected = {name: value for name, value in states.items() if name != "unused"}
        torch.testing.assert_close(given, expected, rtol=0, atol=2e-6)


def test_states_in_parts_go_to_other_numbers_of_ranks() -> None:
    def parts(group: Any, state: Any = None) -> Any:
        model = FSDP(copy.deepcopy(NETWORK), device_mesh=init_device_mesh("cpu", (group.size(),)))
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        if state is None:
            _train(model, optimizer, TOKENS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            settings = FSDP.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT)
        if state is not None:
            model.load_state_dict(state[0])
            FSDP.optim_state_dict_to_load(model, optimizer, state[1], load_directly=True)
        weights, told = model.state_dict(), FSDP.optim_state_dict(model, optimizer)
        assert {type(value).__name__ for value in weights.values()} == {"DTensor"}
        whole = {name: value.full_tensor() for name, value in weights.items()}
        told["state"] = {
            name: {key: value.full_tensor() for key, value in values.items()} for name, values in told["state"].items()
        }
        assert settings.state_dict_type is StateDictType.FULL_STATE_DICT
        return whole, told

    first = run_threads(2, parts)[0]
    for second in run_threads(3, lambda group: parts(group, first)):
        torch.testing.assert_close(second[0], first[0], rtol=0, atol=0)
        torch.testing.assert_close(second[1]["state"], first[1]["state"], rtol=0, atol=0)


def test_a_model_on_the_meta_device_is_made_and_shared() -> None:
    def run(group: Any) -> Any:
        with torch.device("meta"):
            model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        torch.manual_seed(group.rank())
        model = FSDP(model, sync_module_states=True)
        model(torch.ones(2, 3)).sum().backward()
        return model.state_dict()

    one, other = run_threads(2, run)
    assert all(torch.equal(value, other[name]) for name, value in one.items() if "running" not in name)


def test_a_part_of_another_dtype_is_taken_up() -> None:
    def run(group: Any) -> None:
        for originals in (False, True):
            model = FSDP(nn.Linear(3, 3), use_orig_params=originals).double()
            model(torch.ones(2, 3, dtype=torch.float64)).sum().backward()
            assert {p.grad.dtype for p in model.parameters() if p.grad is not None} == {torch.float64}
            before = model.state_dict()["weight"]
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.data = parameter.data + 1
            assert torch.equal(model.state_dict()["weight"], before + 1)

    run_threads(2, run)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cpu_offload": fsdp.CPUOffload(True)}, "cpu_offload .*lie on the CPU already"),
        ({"backward_prefetch": fsdp.BackwardPrefetch.BACKWARD_POST}, "BACKWARD_POST"),
        ({"forward_prefetch": True}, "forward_prefetch"),
        ({"device_id": 0}, "device_id=0"),
        ({"mixed_precision": fsdp.MixedPrecision(keep_low_precision_grads=True)}, "keep_low_precision_grads"),
    ],
)
def test_options_that_are_refused(options: Any, said: str) -> None:
    def run(group: Any) -> None:
        with pytest.raises(NotImplementedError, match=said):
            FSDP(nn.Linear(2, 2), **options)

    run_threads(1, run)


def test_what_is_refused() -> None:
    def run(group: Any) -> None:
        mixed = fsdp.MixedPrecision(param_dtype=torch.bfloat16)
        with pytest.raises(NotImplementedError, match="BatchNorm1d, which is to be kept out"):
            FSDP(nn.Sequential(nn.BatchNorm1d(2)), auto_wrap_policy=CLASSES, mixed_precision=mixed)
        model = FSDP(nn.Sequential(FSDP(nn.Linear(2, 2)), nn.Linear(2, 2)))
        model(torch.ones(1, 2))
        with pytest.raises(NotImplementedError, match="register_comm_hook"):
            model.register_comm_hook(None, lambda state, grad: None)
        for kind, said in (("LOCAL_STATE_DICT", "LOCAL_STATE_DICT"), ("SHARDED_STATE_DICT", "device_mesh")):
            with pytest.warns(FutureWarning), FSDP.state_dict_type(model, StateDictType[kind]):
                with pytest.raises(NotImplementedError, match=said):
                    model.state_dict()
        for name in ("full_optim_state_dict", "rekey_optim_state_dict"):
            with pytest.raises(NotImplementedError, match=name):
                getattr(FSDP, name)(model, None)
        for option in ("rank0_only", "with_grads"):
            with pytest.raises(NotImplementedError, match=option):
                with FSDP.summon_full_params(model, **{option: True}):
                    pass
        with pytest.raises(NotImplementedError, match="its own state_dict"):
            get_model_state_dict(model)
        with FSDP.summon_full_params(model), pytest.raises(AssertionError, match="within summon_full_params"):
            model(torch.ones(1, 2))
        with pytest.raises(RuntimeError, match="root"):
            model.module[0].clip_grad_norm_(1.0)
        with pytest.raises(RuntimeError, match="Missing key|Unexpected key"):
            model.load_state_dict({"0.weight": torch.ones(2, 2), "other": torch.ones(1)})
        assert not model._is_summoned and not model.module[0]._is_summoned

    run_threads(1, run)
