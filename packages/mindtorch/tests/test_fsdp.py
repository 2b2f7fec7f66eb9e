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
from mindtorch.distributed.fsdp import StateDictType
from mt_distributed.testing import run_threads

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path[:0] = [str(SNAPSHOTS), str(Path(__file__).parent)]

from fsdp_network import NETWORK, TOKENS, train  # noqa: E402
from fsdp_programs import PROGRAMS  # noqa: E402 - lies beside the script that runs it with PyTorch

SNAPSHOT = json.loads((SNAPSHOTS / "fsdp.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name: str) -> None:
    results = run_threads(2, lambda group: PROGRAMS[name](torch, group))
    assert json.loads(json.dumps(results)) == SNAPSHOT[name]


def test_states_in_parts_go_to_other_numbers_of_ranks() -> None:
    def parts(group: Any, state: Any = None) -> Any:
        model = FSDP(copy.deepcopy(NETWORK), device_mesh=init_device_mesh("cpu", (group.size(),)))
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        if state is None:
            train(model, optimizer, TOKENS)
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
            FSDP(
                nn.Sequential(nn.BatchNorm1d(2)),
                auto_wrap_policy=fsdp.wrap.ModuleWrapPolicy({nn.GRU}),
                mixed_precision=mixed,
            )
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


def test_what_was_gathered_ahead_and_not_used_is_gathered_again_once_it_changed() -> None:
    """A forward that takes another way than the last one leaves a gathering behind, of values that are old then."""

    class Chosen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = (FSDP(nn.Linear(2, 2, bias=False), forward_prefetch=True) for _ in range(2))
            self.uses_second = True

        def forward(self, x: Any) -> Any:
            x = self.first(x)
            return self.second(x) if self.uses_second else x

    def run(group: Any) -> None:
        model = Chosen()
        chosen = FSDP(model, forward_prefetch=True)
        with torch.no_grad():
            chosen(torch.ones(1, 2))
            model.uses_second = False
            chosen(torch.ones(1, 2))
            for parameter in chosen.parameters():
                parameter.fill_(2.0)
            model.uses_second = True
            assert chosen(torch.ones(1, 2)).tolist() == [[16.0, 16.0]]

    run_threads(2, run)
