"""Ranks that die, or do not come: every other one raises soon, says who it was, and nothing is left behind."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from pathlib import Path

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


def test_shared_memory_that_no_rank_came_to_remove_is_removed(processes, left):
    """So it is where a rank is killed inside of ``MPI_Init``."""
    program = """
    from mt_distributed.mpi import wire_up
    wire_up._unlink_shared_memory = lambda: None
    begin()
    print("begun", flush=True)
    time.sleep(100)
    """
    processes.start(program, 2)
    for rank in range(2):
        processes.wait_for(rank, "begun")
    assert any("mpich_shm_" in Path(f"/proc/{one.pid}/maps").read_text() for one in processes.running)
    for rank in range(2):
        processes.kill(rank)
    processes.end()
    left()


@pytest.mark.parametrize("victim", ["rank 1", "the store"])
def test_a_rank_inside_of_mpi_init_is_not_ended_with_what_it_waits_for(processes, left, victim):
    """MPICH ends the process where its wire breaks: this rank is to say who is gone instead."""
    program = """
    import threading
    from mt_distributed.mpi import wire_up
    if os.environ["RANK"] == "1":
        wire_up._join_by_store = lambda *_: time.sleep(100)

    def tell():
        while wire_up._joined.wire is None or not wire_up._joined.wire.begun.is_set():
            time.sleep(0.02)
        print("inside", flush=True)

    threading.Thread(target=tell, daemon=True).start()
    try:
        begin(seconds=30)
    except dist.DistBackendError as error:
        print("raised:", error, flush=True)
        time.sleep(7)
        sys.exit(3)
    """
    processes.start(program, 2)
    processes.wait_for(0, "inside")
    time.sleep(0.2)
    if victim == "rank 1":
        processes.kill(1)
        said = r"rank 1 \(process \d+ on [^)]+\) died while MPI was set up"
    else:
        os.kill(processes.store(), signal.SIGKILL)
        said = "MPI could not be set up on rank 0: the connection to the store broke"
    processes.running[0].wait(SOON)
    processes.kill(1)
    ended = processes.end()
    assert ended[0].status == 3, ended
    assert re.search(said, ended[0].said), ended
    left()


def test_who_died_is_named_in_groups_that_it_was_not_in(processes, left):
    body = """
    half = dist.new_group([0, 1])
    if rank == 0: dist.all_reduce(torch.ones(3))
    if rank == 2: time.sleep(100)
    dist.all_reduce(torch.ones(3), group=half)
"""
    processes.start(WATCH.format(body=body), 3)
    for rank in range(3):
        processes.wait_for(rank, "begun")
    time.sleep(0.5)
    processes.kill(2)
    ended = processes.end(SOON)
    assert [one.status for one in ended[:2]] == [3, 3], ended
    assert re.search(r"rank 2 \(process \d+ on [^)]+\) died during all_reduce", ended[0].said), ended
    assert re.search(r"rank 0 .* left: .* group 1 .*, after rank 2 \(process \d+ on [^)]+\) died", ended[1].said), ended
    left()


BACKWARD = """
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64)), bucket_cap_mb=0.005
    )
    steps = 0
    def meanwhile(gradient):
        if rank == 1 and steps == 2:
            os.kill(os.getpid(), 9)
    model.module[0].bias.register_hook(meanwhile)
    while True:
        model(torch.ones(4, 64)).sum().backward()
        steps += 1
"""


def test_a_rank_that_dies_in_backward_is_named_by_all_others(processes, size, left):
    """The reductions of some of its gradients have begun then, those of others have not."""
    processes.start(WATCH.format(body=BACKWARD), size)
    processes.running[1].wait(60)
    died = time.monotonic()
    survivors_say(processes, NAMED)
    assert time.monotonic() - died < 7
    left()


def test_a_rank_that_dies_before_the_rendezvous_is_named(processes, left):
    program = """
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), 9)
    before = time.monotonic()
    try:
        begin(seconds=5)
    except dist.DistError as error:
        print("raised:", error, "after", round(time.monotonic() - before), "s")
        sys.exit(3)
    """
    processes.start(program, 3)
    survivors_say(processes, r"timed out after 5 s on rank \d: of 3 ranks, rank 1 did not come after [56] s")
    left()


KILLED = {
    "all_reduce": "    for _ in range(10_000_000): dist.all_reduce(torch.ones(5))",
    "mixture": """
    half = dist.new_group([0, 1])
    for number in range(10_000_000):
        dist.broadcast(torch.ones(20_000), number % size)
        if rank < 2: dist.all_reduce(torch.ones(7, dtype=torch.bfloat16), group=half)
        works = dist.batch_isend_irecv([
            dist.P2POp(dist.isend, torch.ones(3), (rank + 1) % size),
            dist.P2POp(dist.irecv, torch.ones(3), (rank - 1) % size),
        ])
        for work in works: work.wait()
        dist.all_gather_object([None] * size, {"number": number})
""",
    "backward": BACKWARD.replace("steps == 2", "False"),
}


@pytest.mark.parametrize("body", KILLED)
def test_random_kills(processes, left, kills, body, part, tmp_path):
    """A rank is killed at any time from its start on: the others raise or have ended, and nothing is left."""
    chance = random.Random(f"{body} {part}")
    for round_ in range(kills):
        size = chance.choice([2, 3])
        processes.running.clear()
        temporary = tmp_path / f"temporary-{round_}"
        temporary.mkdir()
        processes.start(
            WATCH.format(body=KILLED[body]).replace("seconds=30", "seconds=12"), size, TMPDIR=str(temporary)
        )
        victim = chance.randrange(size)
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0.0, 3.0))
        else:
            processes.wait_for(victim, "begun", or_end=True)
            time.sleep(chance.uniform(0.0, 0.5))
        processes.kill(victim)
        for one in processes.end(180):
            if one.rank != victim:
                assert one.status in (1, 3), (round_, one)
                assert re.search(rf"ranks? (\d, )*{victim}(, \d)* (did not come|\(process \d+ on )", one.said), (
                    round_,
                    one,
                )
        left()
        assert list(temporary.iterdir()) == []
