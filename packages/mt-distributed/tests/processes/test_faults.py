"""Ranks that die, or do not come: every other one raises soon, says who it was, and nothing is left behind."""

from __future__ import annotations

import re
import time

import pytest

#: Seconds within which all processes have to have ended, on a machine that does other things as well.
SOON = 40

NAMED = r"rank 1 \(process \d+ on [^)]+\) died during (all_reduce|barrier|recv from rank 1) \(number \d+ of "


def survivors_say(processes, pattern: str, seconds: float = SOON) -> None:
    ended = processes.end(seconds)
    for one in ended:
        if one.rank != 1:
            assert one.status == 3, ended
            assert re.search(pattern, one.said), ended


WATCH = """
rank, size = begin(seconds=30)
print("begun", flush=True)
try:
{body}
except dist.DistBackendError as error:
    print("raised:", error, flush=True)
    sys.exit(3)
"""


@pytest.mark.parametrize(
    "body",
    [
        "    while True: dist.all_reduce(torch.ones(3))",
        "    while True: dist.all_reduce(torch.ones(100_000), async_op=True).wait()",
        "    dist.barrier() if rank != 1 else time.sleep(100)",
        "    dist.recv(torch.ones(3), 1) if rank == 0 else time.sleep(100) if rank == 1 else dist.barrier()",
    ],
)
def test_a_rank_that_is_killed_is_named_by_all_others(processes, size, left, body):
    processes.start(WATCH.format(body=body), size)
    for rank in range(size):
        processes.wait_for(rank, "begun")
    time.sleep(0.3)
    processes.kill(1)
    killed = time.monotonic()
    survivors_say(processes, NAMED)
    assert time.monotonic() - killed < 15
    left()


def test_the_first_rank_is_named_as_well(processes, left):
    processes.start(WATCH.format(body="    while True: dist.all_reduce(torch.ones(3))"), 3)
    for rank in range(3):
        processes.wait_for(rank, "begun")
    processes.kill(0)
    ended = processes.end(SOON)
    assert [one.status for one in ended[1:]] == [3, 3], ended
    assert all("rank 0 (process" in one.said for one in ended[1:]), ended
    left()


def test_a_rank_that_does_not_come_to_the_rendezvous_is_named(processes, left):
    program = """
    try:
        begin(seconds=4)
    except dist.DistError as error:
        print("raised:", error)
        sys.exit(3)
    """
    processes.start(program, 3, ranks=range(2))
    ended = processes.end(SOON)
    assert [one.status for one in ended] == [3, 3], ended
    assert all("timed out after 4 s" in one.said and "rank 2 did not come" in one.said for one in ended), ended
    left()


def test_a_collective_that_not_all_come_to_times_out(processes, left):
    program = """
    rank, size = begin(seconds=3)
    try:
        if rank == 0:
            dist.all_reduce(torch.ones(2))
        else:
            time.sleep(8)
    except dist.DistBackendError as error:
        print("raised:", error, flush=True)
        sys.exit(3)
    """
    processes.start(program, 2)
    ended = processes.end(SOON)
    assert ended[0].status == 3, ended
    assert re.search(r"all_reduce \(number 1 of .*\) timed out after 3 s: not all of the ranks 1 came", ended[0].said)
    left()


def test_a_monitored_barrier_says_who_did_not_come(processes):
    program = """
    rank, size = begin(seconds=30)
    if rank != 2:
        try:
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=2))
        except RuntimeError as error:
            print("raised:", error, flush=True)
    dist.barrier()
    """
    processes.start(program, 3)
    ended = processes.end(SOON)
    assert [one.status for one in ended] == [0, 0, 0], ended
    assert "[Rank 0]: Rank 2 failed to pass monitoredBarrier in 2000 ms" in ended[0].said, ended


def test_a_rank_that_leaves_is_named(processes, left):
    processes.start(WATCH.format(body="    if rank != 1: dist.all_reduce(torch.ones(2))"), 2)
    ended = processes.end(SOON)
    assert [one.status for one in ended] == [3, 0], ended
    assert re.search(r"rank 1 \(.*\) left: it ended, or destroyed its process group during all_reduce", ended[0].said)
    left()


def test_random_kills(processes, left, thorough):
    """A rank is killed at any time between start and end: the others raise or have ended, and nothing is left."""
    import random

    chance = random.Random(0)
    for round_ in range(200 if thorough else 3):
        size = chance.choice([2, 3])
        processes.running.clear()
        processes.start(WATCH.format(body="    for _ in range(10_000_000): dist.all_reduce(torch.ones(5))"), size)
        victim = chance.randrange(size)
        time.sleep(chance.uniform(0.0, 4.0))
        processes.kill(victim)
        for one in processes.end(60):
            assert one.rank == victim or one.status in (1, 3), (round_, one)
        left()
