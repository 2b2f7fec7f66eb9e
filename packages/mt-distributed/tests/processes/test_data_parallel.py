"""What threads run in the default tests, on processes."""

from __future__ import annotations

from pathlib import Path

SNAPSHOTS = Path(__file__).parents[3] / "mindtorch/tests/snapshots"


def test_programs_as_in_pytorch(run):
    program = f"""
    import json
    from pathlib import Path
    import torch.distributed.algorithms.ddp_comm_hooks.default_hooks
    sys.path.insert(0, {str(SNAPSHOTS)!r})
    from data_parallel_programs import PROGRAMS
    rank, size = begin()
    expected = json.loads(Path({str(SNAPSHOTS / "data_parallel.json")!r}).read_text())
    for name, function in PROGRAMS.items():
        got = json.loads(json.dumps(function(torch, dist.group.WORLD)))
        assert got == expected[name][rank], (name, got, expected[name][rank])
    dist.destroy_process_group()
    """
    run(program, 2)


def test_training_equals_one_process(run, size):
    program = """
    from torch import nn
    rank, size = begin()

    def train(wrap, part):
        torch.manual_seed(0)
        x, y = torch.randn(12, 3, 6, 6), torch.arange(12) % 4
        first = nn.Conv2d(3, 4, 3, bias=False)
        model = nn.Sequential(first, nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 4))
        model = wrap(model)
        optimizer = torch.optim.AdamW(model.parameters(), 0.01)
        for _ in range(4):
            loss = nn.functional.cross_entropy(model(x[part]), y[part])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return [p.detach() for p in model.parameters()]

    def on_processes(model):
        return nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(model), bucket_cap_mb=0.001)

    alone = train(lambda model: model, slice(None))
    several = train(on_processes, slice(12 // size * rank, 12 // size * (rank + 1)))
    for one, other in zip(alone, several):
        torch.testing.assert_close(other, one, rtol=0, atol=1e-6)
    sampler = torch.utils.data.DistributedSampler(range(7), shuffle=False)
    assert list(sampler) == [(rank + size * i) % 7 for i in range(len(sampler))]
    dist.destroy_process_group()
    """
    run(program, size)
