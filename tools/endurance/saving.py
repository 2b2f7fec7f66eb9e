"""Kills while saving and full disks: the old or the new file is whole, and nothing else is left."""

from __future__ import annotations

import os
import random
import resource
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mindtorch as torch

from .memory import Watch

__all__ = ["run"]

KILLS = 1_000
FULL = 200
SIZE = 1 << 18


def _block(value: int) -> Any:
    return torch.full((SIZE,), value, dtype=torch.uint8)


def run(share: float) -> list[str]:
    source = random.Random(0)
    kills, full = max(1, int(KILLS * share)), max(1, int(FULL * share))
    watch = Watch(kills + full)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt"
        torch.save(_block(0), path)
        for _ in range(kills):
            found += _killed(path, source.uniform(0, 0.02))
            watch.step()
        for _ in range(full):
            found += _filled(path, source.randrange(SIZE + 500), source.random() < 0.5)
            watch.step()
    return found + watch.complaints()


def _killed(path: Path, seconds: float) -> Iterator[str]:
    """A process that saves over and over is killed; then the file is whole, and the next save clears up."""
    child = os.fork()
    if child == 0:
        try:
            blocks = [_block(1), _block(2)]
            while True:
                for block in blocks:
                    torch.save(block, path)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        yield f"saving ended by itself: {status}"
    yield from _unwhole(path, {0, 1, 2})
    torch.save(_block(0), path)
    yield from _litter(path)


def _filled(path: Path, limit: int, legacy: bool) -> Iterator[str]:
    """A file may have `limit` bytes: saving is refused, or done, and the file is whole in either case."""
    torch.save(_block(3), path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    wanted = {4}
    try:
        torch.save(_block(4), path, _use_new_zipfile_serialization=not legacy)
    except OSError:
        wanted = {3}
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    yield from _unwhole(path, wanted)
    yield from _litter(path)


def _unwhole(path: Path, values: set[int]) -> Iterator[str]:
    loaded = torch.load(path)
    if loaded.shape != (SIZE,) or int(loaded[0]) not in values or not bool((loaded == loaded[0]).all()):
        yield f"the file is not whole: {loaded}, of {values}"


def _litter(path: Path) -> Iterator[str]:
    if left := [other.name for other in path.parent.iterdir() if other != path]:
        yield f"left behind: {left}"
