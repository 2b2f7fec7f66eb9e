"""torchrun: ranks are started, watched, and started anew."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time

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


def test_two_launchers_stand_for_two_machines(tmp_path, variables, left, free_port):
    file = tmp_path / "program.py"
    file.write_text(LARGE_SUM)
    command = [*MINDTORCH, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", "--rdzv-id", "x"]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free_port}", str(file)]
    environment = {**variables, **TCP_ONLY}
    running = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=tmp_path
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=180)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert said == ["0 of 2: [3.0]\n"] * 2
    left()


def test_options_that_are_not_there_are_refused_by_name(launched):
    done = launched(SUM, *MINDTORCH, "-m", "torch.distributed.run", "--nnodes", "1:4", "PROGRAM")
    assert done.returncode != 0
    assert "--nnodes 1:4 is not supported by mindtorch" in done.stderr


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
