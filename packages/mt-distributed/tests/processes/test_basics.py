"""The operations that everything else stands on."""

from __future__ import annotations


def test_basic_collectives(run, size):
    program = """
    rank, size = begin()
    x = torch.full((2, 3), rank + 1.0)
    dist.all_reduce(x)
    assert (x == size * (size + 1) / 2).all()
    y = torch.arange(6).reshape(2, 3) * (rank + 1)
    dist.broadcast(y, 1)
    assert (y == torch.arange(6).reshape(2, 3) * 2).all()
    outputs = [torch.zeros(2) for _ in range(size)]
    dist.all_gather(outputs, torch.tensor([rank, rank * 2.0]))
    assert [o.tolist() for o in outputs] == [[r, r * 2.0] for r in range(size)]
    if rank == 0:
        dist.send(torch.tensor([7.0]), 1)
    elif rank == 1:
        got = torch.zeros(1)
        assert dist.recv(got) == 0 and got == 7
    work = dist.all_reduce(torch.ones(3), async_op=True)
    assert work.wait() and work.is_completed() and (work.result()[0] == size).all()
    future = dist.all_reduce(torch.ones(3), async_op=True).get_future()
    assert (future.wait()[0] == size).all()
    pair = dist.new_group([0, 1])
    if rank < 2:
        z = torch.ones(2) * rank
        dist.all_reduce(z, group=pair)
        assert (z == 1).all()
    else:
        assert pair == dist.GroupMember.NON_GROUP_MEMBER
    every = [None] * size
    dist.all_gather_object(every, {"rank": rank})
    assert every == [{"rank": r} for r in range(size)]
    dist.barrier()
    dist.destroy_process_group()
    """
    run(program, size)


def test_groups_are_made_again(run):
    program = """
    for count in range(3):
        rank, size = begin()
        x = torch.ones(1)
        dist.all_reduce(x)
        assert x == 2
        dist.destroy_process_group()
        assert not dist.is_initialized()
    """
    run(program, 2)


def test_coalesced_operations_and_levels_as_in_pytorch(run):
    """Older functions give futures; ranks that do not come to a monitored barrier are named, one or all."""
    program = """
    rank, size = begin()
    x = [torch.ones(2) * (rank + 1), torch.ones(3)]
    future = dist.all_reduce_coalesced(x, async_op=True)
    assert isinstance(future, torch.futures.Future)
    future.wait()
    assert [t.tolist() for t in x] == [[6.0, 6.0], [3.0, 3.0, 3.0]]
    rows = [[torch.zeros(2), torch.zeros(1)] for _ in range(size)]
    assert dist.all_gather_coalesced(rows, [torch.ones(2) * rank, torch.ones(1)]) is None
    assert [row[0].tolist() for row in rows] == [[r, r] for r in range(size)]
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = "info"
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel.INFO
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = "much"
    try:
        dist.set_debug_level_from_env()
    except ValueError as error:
        assert str(error) == "The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL."
    else:
        raise AssertionError("not refused")
    dist.monitored_barrier()
    if rank == 0:
        second = datetime.timedelta(seconds=1)
        try:
            dist.monitored_barrier(timeout=second, wait_all_ranks=True)
        except RuntimeError as error:
            assert str(error) == "[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 1000 ms"
        else:
            raise AssertionError("nobody is missing")
    dist.barrier()
    """
    run(program, 3)
