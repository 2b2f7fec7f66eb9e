"""Tensors of more bytes than 31 bits count; the same programs on smaller ones where there is no time for these."""

from __future__ import annotations


def test_large_tensors(run, thorough):
    program = f"""
    rank, size = begin(seconds=300)
    count = {2**31 if thorough else 2**20} + 1002
    x = torch.full((count,), rank + 1, dtype=torch.uint8)
    x[-1] = 7 + rank
    ends = lambda: [int(x[0]), int(x[count // 2]), int(x[-2]), int(x[-1])]
    dist.broadcast(x, 1)
    assert ends() == [2, 2, 2, 8], ends()
    dist.all_reduce(x)
    assert ends() == [4, 4, 4, 16], ends()
    if rank == 0:
        dist.send(x, 1)
    else:
        x.zero_()
        dist.recv(x, 0)
    assert ends() == [4, 4, 4, 16], ends()
    half = torch.full((count // 2,), rank + 5, dtype=torch.uint8)
    dist.all_gather_into_tensor(x, half)
    assert ends() == [5, 6, 6, 6], ends()
    dist.destroy_process_group()
    """
    run(program, 2, 500)
