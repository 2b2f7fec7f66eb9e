"""torchrun: ranks are started, watched, and started anew."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

MINDTORCH = [sys.executable, "-m", "mindtorch", "run"]


@pytest.fixture
def launched(tmp_path, variables):
    """Run a command in which PROGRAM stands for a file with a program; what it wrote, and its status."""

    def call(program: str, *command: str, seconds: float = 120, **added: str) -> subprocess.CompletedProcess:
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program))
        return subprocess.run(
            [word if word != "PROGRAM" else str(file) for word in command],
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**variables, **added},
            cwd=tmp_path,
            check=False,
        )

    return call


SUM = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(x)
sys.stdout.write(f"{os.environ['LOCAL_RANK']} of {os.environ['WORLD_SIZE']}: {x.item()} {sys.argv[1:]} "
      f"{dist.is_torchelastic_launched()}\\n")
dist.destroy_process_group()
"""


@pytest.mark.parametrize(
    "command",
    [
        [*MINDTORCH, "--nproc", "2", "PROGRAM", "a", "-b"],
        [*MINDTORCH, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", "PROGRAM", "a", "-b"],
        [*MINDTORCH, "-m", "torch.distributed.launch", "--nproc_per_node", "2", "PROGRAM", "a", "-b"],
    ],
    ids=["mindtorch run", "torch.distributed.run", "torch.distributed.launch"],
)
def test_each_way_to_start(launched, left, command):
    done = launched(SUM, *command)
    assert done.returncode == 0, done
    assert sorted(done.stdout.splitlines()) == [f"{rank} of 2: 3.0 ['a', '-b'] True" for rank in range(2)], done
    left()


def test_torchrun_is_a_command_under_mindtorch_run(launched, tmp_path):
    inner = tmp_path / "inner.py"
    inner.write_text(SUM)
    program = f"""
    import subprocess
    subprocess.run(["torchrun", "--nproc-per-node=2", {str(inner)!r}], check=True)
    """
    done = launched(program, *MINDTORCH, "PROGRAM")
    assert done.returncode == 0, done
    assert len(done.stdout.splitlines()) == 2


def test_ranks_are_started_anew_and_go_on_from_what_was_saved(launched, left):
    program = """
    import os, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    start, weight = (torch.load("saved.pt") if os.path.exists("saved.pt") else (0, torch.zeros(2)))
    for step in range(start, 6):
        gradient = torch.full((2,), float(step + rank))
        dist.all_reduce(gradient)
        weight += gradient
        if rank == 0:
            torch.save((step + 1, weight), "saving.pt")
            os.replace("saving.pt", "saved.pt")
        dist.barrier()
        if step == 2 and attempt == 0 and rank == 1:
            os.kill(os.getpid(), 9)
    if rank == 0:
        print("attempt", attempt, "weight", weight.tolist())
    """
    done = launched(program, *MINDTORCH, "--nproc", "2", "--max-restarts", "1", "PROGRAM")
    assert done.returncode == 0, done
    assert done.stdout.splitlines() == ["attempt 1 weight [36.0, 36.0]"], done
    left()


def test_one_that_fails_ends_all_and_is_named(launched, left):
    program = """
    import os, sys, time
    if os.environ["RANK"] == "1":
        sys.exit(7)
    time.sleep(100)
    """
    before = time.monotonic()
    done = launched(program, *MINDTORCH, "--nproc", "3", "PROGRAM")
    assert done.returncode == 1
    assert "rank 1 (local rank 1 of machine 0" in done.stderr and "ended with status 7" in done.stderr, done
    assert time.monotonic() - before < 30
    left()


LARGE_SUM = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.ones(1_000_000) * (dist.get_rank() + 1)
dist.all_reduce(x)
sys.stdout.write(f"{os.environ['LOCAL_RANK']} of {os.environ['WORLD_SIZE']}: {x.unique().tolist()}\\n")
dist.destroy_process_group()
"""
#: Nothing goes by shared memory: what MPICH does between machines.
TCP_ONLY = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}


@pytest.fixture
def machines(tmp_path, variables, free_port):
    """Start launchers at loopback addresses of their own, each of which stands for a machine; TCP only."""
    started = []

    def start(program: str, *options: str) -> subprocess.Popen:
        number = len(started)
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program))
        command = [*MINDTORCH, "-m", "torch.distributed.run", "--nproc-per-node", "1", "--rdzv-id", "x"]
        command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.2:{free_port}"]
        command += ["--local-addr", f"127.0.0.{number + 2}", *options, str(file)]
        output = open(tmp_path / f"machine-{number}", "wb")
        started.append(
            subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env={**variables, **TCP_ONLY}, cwd=tmp_path,
                start_new_session=True,
            )
        )  # fmt: skip
        output.close()
        return started[-1]

    def said(number: int) -> str:
        return (tmp_path / f"machine-{number}").read_text(errors="replace")

    def wait_for(number: int, text: str, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while text not in said(number):
            assert time.monotonic() < until, f"machine {number} did not say {text!r} but: {said(number)}"
            time.sleep(0.05)

    yield SimpleNamespace(start=start, said=said, wait_for=wait_for)
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


#: What this process has received by TCP: the kernel's count of each of its connections.
BY_TCP = """
import socket, struct
received = 0
for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
            with socket.socket(fileno=os.dup(int(name))) as one:
                if one.family == socket.AF_INET and one.type == socket.SOCK_STREAM:
                    info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
                    received += struct.unpack_from("Q", info, 128)[0]
    except OSError:
        pass  # it was closed meanwhile
sys.stdout.write(f"megabytes by TCP: {received // 1_000_000}\\n")
"""


def test_two_launchers_stand_for_two_machines(machines, left):
    """What is large goes by TCP, not by shared memory: each half of a sum of 4 MB comes from the other."""
    program = LARGE_SUM.replace("dist.destroy_process_group()\n", BY_TCP)
    running = [machines.start(program, "--nnodes", "2") for _ in range(2)]
    assert [process.wait(180) for process in running] == [0, 0], [machines.said(0), machines.said(1)]
    assert [machines.said(number) for number in range(2)] == ["0 of 2: [3.0]\nmegabytes by TCP: 4\n"] * 2
    left()


COMES_AND_GOES = """
import datetime, os, time, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
size, restarts = dist.get_world_size(), os.environ["TORCHELASTIC_RESTART_COUNT"]
x = torch.ones(1)
dist.all_reduce(x)
print(f"{int(x.item())} of {os.environ['GROUP_WORLD_SIZE']} machines, {restarts} restarts", flush=True)
if (size, restarts) != (1, "1"):
    time.sleep(5 if size == 2 and dist.get_rank() == 0 else 100)
    dist.all_reduce(x)
"""


def test_machines_come_and_go(machines, left):
    """One runs alone; another is let in, which costs no restart; it dies, and the first goes on alone."""
    options = ["--nnodes", "1:2", "--max-restarts", "1", "--rdzv-conf", "last_call_timeout=0.5"]
    first = machines.start(COMES_AND_GOES, *options)
    machines.wait_for(0, "1 of 1 machines, 0 restarts")
    second = machines.start(COMES_AND_GOES, *options)
    machines.wait_for(0, "2 of 2 machines, 0 restarts")
    machines.wait_for(1, "2 of 2 machines, 0 restarts")
    os.killpg(second.pid, signal.SIGKILL)
    assert first.wait(60) == 0, machines.said(0)
    assert "1 of 1 machines, 1 restarts" in machines.said(0)
    left()


def test_too_few_machines_are_told_of(machines, left):
    alone = machines.start(SUM, "--nnodes", "2:3", "--rdzv-conf", "join_timeout=1")
    assert alone.wait(60) == 1
    assert "not enough machines came within 1 s: at least 2 were asked for" in machines.said(0)
    left()


def test_options_that_are_not_there_are_refused_by_name(launched):
    done = launched(SUM, *MINDTORCH, "-m", "torch.distributed.run", "--run-path", "PROGRAM")
    assert done.returncode != 0
    assert "torchrun --run-path is not supported by mindtorch" in done.stderr


WRITES = """
import os, sys
print("out", os.environ["LOCAL_RANK"], flush=True)
print("err", os.environ["LOCAL_RANK"], file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize(
    ("options", "out", "err", "files"),
    [
        (
            ["--tee", "3"],
            ["[default0]:out 0", "[default1]:out 1"],
            ["[default0]:err 0", "[default1]:err 1"],
            {"0/stdout": "out 0", "0/stderr": "err 0", "1/stdout": "out 1", "1/stderr": "err 1"},
        ),
        (["-r", "0:1,1:2"], ["out 1"], ["err 0"], {"0/stdout": "out 0", "1/stderr": "err 1"}),
        (
            ["-t", "1", "--local-ranks-filter", "0"],
            ["[default0]:out 0"],
            ["err 0"],
            {"0/stdout": "out 0", "1/stdout": "out 1"},
        ),
    ],
    ids=["tee", "redirects", "filter"],
)
def test_what_ranks_write_goes_to_files(launched, tmp_path, options, out, err, files):
    """What PyTorch's torchrun shows, and the files that it makes."""
    command = [*MINDTORCH, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    done = launched(WRITES, *command, "--log-dir", str(tmp_path / "logs"), *options, "PROGRAM")
    assert (done.returncode, sorted(done.stdout.splitlines()), sorted(done.stderr.splitlines())) == (0, out, err)
    (folder,) = (tmp_path / "logs").glob("*/attempt_0")
    found = {str(path.relative_to(folder))[: -len(".log")]: path.read_text().strip() for path in folder.rglob("*.log")}
    assert found == files


def test_mpiexec_says_who_a_process_is(launched, left):
    """Without variables of torchrun, and without a store of its own."""
    program = """
    import os, sys, torch, torch.distributed as dist
    assert "RANK" not in os.environ
    dist.init_process_group("mpi")
    x = torch.ones(3) * (dist.get_rank() + 1)
    dist.all_reduce(x)
    sys.stdout.write(f"{dist.get_rank()} of {dist.get_world_size()}: {x.tolist()} {dist.get_backend()}\\n")
    dist.destroy_process_group()
    """
    mpiexec = Path(sys.executable).with_name("mpiexec")
    done = launched(program, str(mpiexec), "-n", "2", *MINDTORCH, "PROGRAM")
    assert done.returncode == 0, done
    assert sorted(done.stdout.splitlines()) == [f"{rank} of 2: [3.0, 3.0, 3.0] mpi" for rank in range(2)], done
    left()
