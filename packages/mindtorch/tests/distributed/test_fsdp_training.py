"""`FullyShardedDataParallel` of every strategy among threads equals one process, and its states are taken up again."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch.distributed import init_device_mesh
from mindtorch.distributed.fsdp import FullyShardedDataParallel as FSDP
from mindtorch.distributed.fsdp import ShardingStrategy
from mindtorch.distributed.fsdp.wrap import ModuleWrapPolicy
from mt_distributed.testing import run_threads

sys.path.insert(0, str(Path(__file__).parents[1]))

from fsdp_network import NETWORK, TOKENS, train

CLASSES = ModuleWrapPolicy({nn.GRU, nn.Sequential})


@pytest.mark.parametrize(
    ("ranks", "strategy", "originals", "pieces"),
    [
        (2, "FULL_SHARD", False, 1),
        (3, "SHARD_GRAD_OP", True, 2),
        (2, "NO_SHARD", True, 1),
        (4, "HYBRID_SHARD", False, 1),
        (4, "_HYBRID_SHARD_ZERO2", True, 1),
    ],
)
def test_training_equals_one_process(ranks: int, strategy: str, originals: bool, pieces: int) -> None:
    """Losses, norms, weights, and the state of the optimizer, which another run takes up."""
    alone = copy.deepcopy(NETWORK)
    optimizer = torch.optim.Adam(alone.parameters(), 0.02)
    losses = train(alone, optimizer, TOKENS)
    names = [name for name, _ in alone.named_parameters()]
    states = {names[number]: value for number, value in optimizer.state_dict()["state"].items()}

    def run(group: Any) -> Any:
        shape = (2, 2) if "HYBRID" in strategy else (ranks,)
        options = {
            "auto_wrap_policy": CLASSES,
            "sharding_strategy": ShardingStrategy[strategy],
            "device_mesh": init_device_mesh("cpu", shape),
            "use_orig_params": originals,
        }
        part = TOKENS.chunk(ranks)[group.rank()]
        model = FSDP(copy.deepcopy(NETWORK), **options)
        optimizer = torch.optim.Adam(model.parameters(), 0.02)
        found = train(model, optimizer, part, pieces)
        weights, state = model.state_dict(), FSDP.optim_state_dict(model, optimizer)
        again = FSDP(copy.deepcopy(NETWORK), **options)
        again.load_state_dict(weights)
        other = torch.optim.Adam(again.parameters(), 0.02)
        FSDP.optim_state_dict_to_load(again, other, state, load_directly=True)
        assert train(again, other, part, pieces) == train(model, optimizer, part, pieces)
        return found, weights, state

    results = run_threads(ranks, run)
    found = torch.tensor([one for one, _, _ in results]).mean(0)
    torch.testing.assert_close(found, torch.tensor(losses), rtol=0, atol=2e-6)
    for _, weights, state in results:
        torch.testing.assert_close(dict(weights), dict(alone.state_dict()), rtol=0, atol=2e-6)
        given = {name: state["state"][name] for name in states if name != "unused"}
        expected = {name: value for name, value in states.items() if name != "unused"}
        torch.testing.assert_close(given, expected, rtol=0, atol=2e-6)
