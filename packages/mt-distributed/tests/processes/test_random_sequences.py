"""Random sequences of collectives on random groups give what is computed alone from the same seeds."""

from __future__ import annotations

import pytest

PROGRAM = """
import random
import numpy as np

DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 complex128".split()
rank, size = begin()

def value(dtype, owner, step, count):
    # small numbers, of which sums and products are exact in every dtype
    chance = random.Random(f"{owner} {step}")
    numbers = [chance.randrange(3) for _ in range(count)]
    return torch.tensor(numbers).to(getattr(torch, dtype))

def strided(x, step):
    return torch.stack([x, x], -1)[..., 0] if step % 3 == 0 else x

def reduced(op, tensors):
    first = tensors[0].clone()
    for other in tensors[1:]:
        if op == "SUM": first = first | other if first.dtype == torch.bool else first + other
        if op == "PRODUCT": first = first * other
        if op == "MIN": first = first & other if first.dtype == torch.bool else torch.minimum(first, other)
        if op == "MAX": first = first | other if first.dtype == torch.bool else torch.maximum(first, other)
        if op == "BAND": first = first & other
        if op == "BOR": first = first | other
        if op == "BXOR": first = first ^ other
    return first

chance = random.Random(SEED)
groups = [(list(range(size)), None)]
for _ in range(3):
    members = sorted(chance.sample(range(size), chance.randrange(1, size + 1)))
    groups.append((members, dist.new_group(members)))
pending = []
for step in range(STEPS):
    members, group = chance.choice(groups)
    dtype = chance.choice(DTYPES)
    kind = chance.choice(
        "all_reduce broadcast all_gather reduce_scatter all_to_all reduce gather scatter pass".split()
    )
    ops = ["SUM"] if dtype.startswith("complex") else ["SUM", "PRODUCT", "MIN", "MAX"]
    if "float" not in dtype and "complex" not in dtype:
        ops += ["BAND", "BOR", "BXOR"]
    op = chance.choice(ops)
    count = chance.choice([0, 1, 3, 1000]) * len(members)
    root, is_async = chance.choice(members), chance.random() < 0.4
    if rank not in members:
        continue
    own = value(dtype, rank, step, count)
    all_values = [value(dtype, r, step, count) for r in members]
    me, part = members.index(rank), count // len(members)
    reduction = getattr(dist.ReduceOp, op)
    if kind == "all_reduce":
        got = strided(own.clone(), step)
        work = dist.all_reduce(got, reduction, group, async_op=is_async)
        expected = reduced(op, all_values)
    elif kind == "reduce":
        got = strided(own.clone(), step)
        work = dist.reduce(got, root, reduction, group, async_op=is_async)
        expected = reduced(op, all_values) if rank == root else own
    elif kind == "broadcast":
        got = strided(own.clone(), step)
        work = dist.broadcast(got, root, group, async_op=is_async)
        expected = all_values[members.index(root)]
    elif kind == "all_gather":
        got = torch.zeros(count * len(members), dtype=own.dtype)
        work = dist.all_gather_into_tensor(got, strided(own, step), group, async_op=is_async)
        expected = torch.cat(all_values)
    elif kind == "reduce_scatter":
        got = torch.zeros(part, dtype=own.dtype)
        work = dist.reduce_scatter_tensor(got, strided(own, step), reduction, group, async_op=is_async)
        expected = reduced(op, all_values)[me * part : (me + 1) * part]
    elif kind == "all_to_all":
        got = torch.zeros(count, dtype=own.dtype)
        work = dist.all_to_all_single(got, own, group=group, async_op=is_async)
        expected = torch.cat([v[me * part : (me + 1) * part] for v in all_values])
    elif kind == "gather":
        outputs = [torch.zeros(count, dtype=own.dtype) for _ in members] if rank == root else None
        work = dist.gather(own, outputs, root, group, async_op=is_async)
        got, expected = outputs, all_values if rank == root else None
    elif kind == "scatter":
        inputs = list(value(dtype, root, step, count).chunk(len(members))) if rank == root else None
        inputs = [value(dtype, root, step, count)[i * part : (i + 1) * part] for i in range(len(members))]
        got = torch.zeros(part, dtype=own.dtype)
        work = dist.scatter(got, inputs if rank == root else None, root, group, async_op=is_async)
        expected = value(dtype, root, step, count)[me * part : (me + 1) * part]
    else:  # messages around in a ring
        if len(members) == 1:
            continue
        got = torch.zeros(count, dtype=own.dtype)
        to, source = members[(me + 1) % len(members)], members[me - 1]
        messages = [dist.P2POp(dist.isend, own, to, group, step), dist.P2POp(dist.irecv, got, source, group, step)]
        for one in dist.batch_isend_irecv(messages):
            one.wait()
        work, expected = None, all_values[me - 1]
    assert (work is not None) == (is_async and kind != "pass"), (step, kind)
    pending.append((step, kind, dtype, op, work, got, expected))
    for step_, kind_, dtype_, op_, work_, got_, expected_ in (pending if step % 5 == 0 else []):
        if work_ is not None:
            work_.wait()
        if expected_ is None:
            continue
        pairs = zip(got_, expected_) if isinstance(got_, list) else [(got_, expected_)]
        for one, other in pairs:
            assert one.dtype == other.dtype and torch.equal(one, other), (step_, kind_, dtype_, op_, one, other)
    if step % 5 == 0:
        pending.clear()
for entry in pending:
    if entry[4] is not None:
        entry[4].wait()
dist.barrier()
print("whole")
"""


@pytest.mark.parametrize("seed", range(2))
def test_random_sequences(run, size, seed, thorough):
    steps = 400 if thorough else 120
    said = run(PROGRAM.replace("SEED", str(seed)).replace("STEPS", str(steps)), size, 200)
    assert all(one == "whole\n" for one in said), said
