"""Programs on several processes: each is a text, run by ``mindtorch run`` with the variables that torchrun sets."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

#: What every program begins with.
PREAMBLE = """
import datetime, os, sys, time
import torch
import torch.distributed as dist

def begin(seconds=60, **settings):
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=seconds), **settings)
    return dist.get_rank(), dist.get_world_size()
"""


def free_port() -> int:
    """A port that nobody listens at just now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@dataclass
class Ended:
    """A process that ended: its status and what it wrote."""

    rank: int
    status: int
    said: str

    def __repr__(self) -> str:
        return f"rank {self.rank} ended with status {self.status}:\n{self.said}"


@dataclass
class Processes:
    """The ranks of one program."""

    folder: Path
    variables: dict[str, str]
    running: list[subprocess.Popen] = field(default_factory=list)

    def start(self, program: str, size: int, ranks: range | None = None, **variables: str) -> None:
        """Start some ranks, by default all."""
        file = self.folder / "program.py"
        file.write_text(PREAMBLE + textwrap.dedent(program))
        port = variables.get("MASTER_PORT") or str(free_port())
        for rank in ranks or range(size):
            world = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
            given = {name: str(value) for name, value in world.items()}
            environment = {**self.variables, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, **given, **variables}
            output = open(self.folder / f"output-{rank}", "wb")
            self.running.append(
                subprocess.Popen(
                    [sys.executable, "-m", "mindtorch", "run", str(file)],
                    env=environment,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=self.folder,
                )
            )
            output.close()

    def end(self, seconds: float = 120) -> list[Ended]:
        """Wait for all; those that do not end in time are killed, and that fails."""
        until = time.monotonic() + seconds
        late = []
        for rank, process in enumerate(self.running):
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                late.append(rank)
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        ended = [
            Ended(rank, process.returncode, (self.folder / f"output-{rank}").read_text(errors="replace"))
            for rank, process in enumerate(self.running)
        ]
        assert not late, f"ranks {late} did not end within {seconds} s: {ended}"
        return ended

    def kill(self, rank: int) -> None:
        """End a rank as the system does when memory is short."""
        self.running[rank].send_signal(signal.SIGKILL)

    def store(self) -> int:
        """The process that keeps the store."""
        (found,) = stores_of(self.folder)
        return found

    def said(self, rank: int) -> str:
        """What a rank wrote so far."""
        return (self.folder / f"output-{rank}").read_text(errors="replace")

    def wait_for(self, rank: int, text: str, seconds: float = 60, or_end: bool = False) -> None:
        """Wait until a rank wrote something, or has ended."""
        until = time.monotonic() + seconds
        while text not in self.said(rank) and not (or_end and self.running[rank].poll() is not None):
            assert time.monotonic() < until, f"rank {rank} did not say {text!r} but: {self.said(rank)}"
            time.sleep(0.02)


def stores_of(folder: Path) -> list[int]:
    """Processes of stores that a test in a folder started."""
    marker = f"STARTED_BY_TEST_IN={folder}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            variables = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if marker in variables and any(word.endswith(b"mt_distributed/stores/server.py") for word in words):
            found.append(int(process.name))
    return found


def left_behind(folder: Path) -> set[str]:
    """Processes of stores that a test in a folder started, and names of shared memory that nobody uses."""
    names = {str(path) for path in Path("/dev/shm").glob("mpich_shm_*")}
    for process in Path("/proc").glob("[0-9]*") if names else ():
        try:
            used = (process / "maps").read_text()
        except OSError:
            continue
        names = {name for name in names if name not in used}
    return {f"process {number}" for number in stores_of(folder)} | names


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="4 processes, all dtypes, 200 kills")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a `size` runs on 2 and 3 processes, and on 4 if it is to be thorough."""
    if "size" in metafunc.fixturenames:
        metafunc.parametrize("size", [2, 3, *([4] if metafunc.config.getoption("--thorough") else [])])
    if "part" in metafunc.fixturenames:
        metafunc.parametrize("part", range(7 if metafunc.config.getoption("--thorough") else 1))


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs keep bytecode, which they share, also where pytest is told to write none."""
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def variables(bytecode: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of programs."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode), "STARTED_BY_TEST_IN": str(tmp_path)}


@pytest.fixture
def processes(tmp_path: Path, variables: dict[str, str]) -> Iterator[Processes]:
    """Processes of a test, none of which survives it."""
    made = Processes(tmp_path, variables)
    yield made
    for process in made.running:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def run(processes: Processes) -> Callable[..., list[str]]:
    """Run a program on some processes, all of which must succeed; what each wrote."""

    def call(program: str, size: int, seconds: float = 120, **variables: str) -> list[str]:
        processes.start(program, size, **variables)
        ended = processes.end(seconds)
        assert all(one.status == 0 for one in ended), ended
        return [one.said for one in ended]

    return call


@pytest.fixture
def left(tmp_path: Path) -> Callable[[], None]:
    """A check that nothing stays that was not there before: processes of stores end within some seconds."""
    before = left_behind(tmp_path)

    def check() -> None:
        until = time.monotonic() + 12
        while left_behind(tmp_path) - before and time.monotonic() < until:
            time.sleep(0.2)
        assert left_behind(tmp_path) - before == set()

    return check


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether there is time for everything."""
    return request.config.getoption("--thorough")


@pytest.fixture
def kills(thorough: bool) -> int:
    """How many ranks a part of a test with random kills kills: three bodies of seven parts make 210."""
    return 10 if thorough else 1


@pytest.fixture(name="free_port")
def _free_port() -> int:
    return free_port()
