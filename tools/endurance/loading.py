"""Faults in the workers of a DataLoader: each is an error with its words, and leaves no process and no file behind."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mindtorch as torch
from mindtorch.utils import data

from .memory import Watch

__all__ = ["FAULTS", "run"]

SAMPLES = 12
#: What ends a run that hangs, in seconds.
PATIENCE = 60


class Computed(data.Dataset):
    """What a function makes of the index."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> Any:
        return self.make(index)


class Stream(data.IterableDataset):
    """The same, one after the other."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        return map(self.make, range(SAMPLES))


class Fault(NamedTuple):
    """What happens at the sixth sample, the error's type and words, and options of the loader."""

    make: Callable[[], Any]
    error: type[BaseException] | None
    words: str
    options: dict[str, Any] = {}


class Unmakeable(Exception):
    """An error that cannot be made of a message."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one, two)


def _raise(error: BaseException) -> Any:
    raise error


def _kill(number: int) -> Callable[[], Any]:
    return lambda: os.kill(os.getpid(), number)


ENDED = "exited unexpectedly"
FAULTS: dict[str, Fault] = {
    "killed": Fault(_kill(signal.SIGKILL), RuntimeError, ENDED),
    "terminated": Fault(_kill(signal.SIGTERM), RuntimeError, ENDED),
    "exits": Fault(lambda: os._exit(3), RuntimeError, ENDED),
    "exits as if all were well": Fault(lambda: os._exit(0), RuntimeError, ENDED),
    "leaves Python": Fault(lambda: sys.exit(1), RuntimeError, ENDED),
    "raises": Fault(lambda: _raise(ValueError("no")), ValueError, "Caught ValueError in DataLoader worker"),
    "raises what no message makes": Fault(lambda: _raise(Unmakeable(1, 2)), RuntimeError, "Caught Unmakeable"),
    "hangs": Fault(lambda: time.sleep(1000), RuntimeError, "timed out after 0.5 seconds", {"timeout": 0.5}),
    "cannot be sent": Fault(lambda: lambda: 1, Exception, "DataLoader worker process", {"batch_size": None}),
    "needs gradients": Fault(
        lambda: torch.ones(2).requires_grad_() * 2, RuntimeError, "Cowardly refusing", {"batch_size": None}
    ),
    "does not stack": Fault(lambda: torch.ones(3), RuntimeError, "stack expects each tensor to be equal size"),
    "is left alone": Fault(lambda: torch.ones(2), None, ""),
}
#: Ways to load, for each of the faults.
SETTINGS: dict[str, dict[str, Any]] = {
    "one worker": {"num_workers": 1},
    "two workers, persistent": {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 3},
    "a stream": {"num_workers": 1, "stream": True},
}


def run(share: float) -> list[str]:
    """Every fault in every way, some rounds of them."""
    warnings.simplefilter("ignore")
    cases = [(fault, setting) for setting in SETTINGS for fault in FAULTS]
    cases = cases[:: max(1, round(1 / min(1, 10 * share)))]
    watch = Watch(len(cases))
    list(data.DataLoader(Computed(float), num_workers=1))  # what is opened once is open now
    found = []
    for fault, setting in cases:
        found += [f"{fault}, {setting}: {text}" for text in _complaints(FAULTS[fault], SETTINGS[setting])]
        watch.step()
    return found + watch.complaints()


def _complaints(fault: Fault, setting: dict[str, Any]) -> Iterator[str]:
    before = _traces()
    start = time.monotonic()
    yield from _met(fault, {"batch_size": 2, "multiprocessing_context": "fork", **setting, **fault.options})
    if time.monotonic() - start > PATIENCE:
        yield f"took {time.monotonic() - start:.0f} s"
    deadline = time.monotonic() + 10  # threads close the queues
    while _more(_traces(), before) and time.monotonic() < deadline:
        time.sleep(0.05)
    if _more(after := _traces(), before):
        yield f"left behind (processes, open files, shared memory): {after}, not {before}"


def _more(after: tuple[int, ...], before: tuple[int, ...]) -> bool:
    return any(a > b for a, b in zip(after, before, strict=True))


def _met(fault: Fault, options: dict[str, Any]) -> Iterator[str]:
    """Load with the fault, or leave the loader in the middle."""
    stream = options.pop("stream", False)

    def make(index: int) -> Any:
        return fault.make() if index == 5 else torch.full((2,), float(index))

    loader = data.DataLoader((Stream if stream else Computed)(make), **options)
    if fault.error is None:
        next(iter(loader))
        return
    try:
        list(loader)
    except fault.error as error:
        if not re.search(fault.words, str(error)):
            yield f"says {error}"
    else:
        yield "goes unnoticed"


def _traces() -> tuple[int, int, int]:
    """Processes, open files, and blocks of shared memory of this process."""
    shared = Path("/dev/shm")
    blocks = len(list(shared.iterdir())) if shared.is_dir() else 0
    return len(multiprocessing.active_children()), len(os.listdir("/proc/self/fd")), blocks
