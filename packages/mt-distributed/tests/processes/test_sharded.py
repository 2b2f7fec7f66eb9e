"""What threads run in the default tests, on processes: models and optimizers that are spread, checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).parents[3] / "mindtorch/tests/snapshots"


@pytest.mark.parametrize("name", ["fully_shard", "fsdp", "checkpoint"])
def test_programs_as_in_pytorch(run, name):
    program = f"""
    import json
    from pathlib import Path
    import torch.distributed.checkpoint.state_dict, torch.distributed.fsdp
    sys.path.insert(0, {str(SNAPSHOTS)!r})
    from {name}_programs import PROGRAMS
    rank, size = begin()
    expected = json.loads(Path({str(SNAPSHOTS / name)!r} + ".json").read_text())
    for name, function in PROGRAMS.items():
        got = json.loads(json.dumps(function(torch, dist.group.WORLD)))
        assert got == expected[name][rank], (name, got, expected[name][rank])
    dist.destroy_process_group()
    """
    run(program, 2)


def test_training_equals_one_process_and_goes_on_from_a_checkpoint(run, tmp_path):
    program = f"""
    import copy
    from torch import nn
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.optim import ZeroRedundancyOptimizer
    rank, size = begin()
    torch.manual_seed(0)
    x, y = torch.randn(12, 3), torch.arange(12) % 4
    base = nn.Sequential(nn.Linear(3, 7), nn.GELU(), nn.Linear(7, 4))
    part = slice(12 // size * rank, 12 // size * (rank + 1))

    def train(model, optimizer, part, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[part]), y[part]).backward()
            optimizer.step()

    def spread(model):
        model = copy.deepcopy(model)
        fully_shard(model[0])
        fully_shard(model)
        return model, torch.optim.AdamW(model.parameters(), 0.01)

    alone = copy.deepcopy(base)
    train(alone, torch.optim.AdamW(alone.parameters(), 0.01), slice(None), 4)
    model, optimizer = spread(base)
    train(model, optimizer, part, 2)
    weights, state = get_state_dict(model, optimizer)
    group = dist.new_group()
    written = checkpoint.async_save(
        dict(model=weights, optimizer=state), checkpoint_id={str(tmp_path / "ck")!r}, process_group=group
    )
    written.result()
    dist.barrier()
    model, optimizer = spread(nn.Sequential(nn.Linear(3, 7), nn.GELU(), nn.Linear(7, 4)))
    weights, state = get_state_dict(model, optimizer)
    given = dict(model=weights, optimizer=state)
    checkpoint.load(given, checkpoint_id={str(tmp_path / "ck")!r})
    set_state_dict(model, optimizer, model_state_dict=given["model"], optim_state_dict=given["optimizer"])
    train(model, optimizer, part, 2)
    for (name, one), expected in zip(model.state_dict().items(), alone.state_dict().values()):
        torch.testing.assert_close(one.full_tensor(), expected, rtol=0, atol=1e-6, msg=name)
    model = copy.deepcopy(base)
    zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.01, parameters_as_bucket_view=True)
    train(nn.parallel.DistributedDataParallel(model), zero, part, 4)
    for one, expected in zip(model.parameters(), alone.parameters()):
        torch.testing.assert_close(one, expected, rtol=0, atol=1e-6)
    dist.destroy_process_group()
    """
    run(program, 2)
