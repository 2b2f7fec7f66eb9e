"""Loads files in a child process that is watched: code that runs, memory, time, odd errors, and how the child ends."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .pickles import MARKER

__all__ = ["GOOD", "MEMORY", "PATIENCE", "SECONDS", "TIMES", "Outcome", "loaded_by_mindtorch", "outcomes"]

#: How long a file may take, in seconds of the processor; and how much memory: so many times its size, plus so much.
SECONDS = 5.0
#: How long the parent waits for a child on a machine that does much else, in seconds of the clock.
PATIENCE = 60.0
TIMES, MEMORY = 10, 100 << 20
#: What a child may take at all, beyond what it has when it starts; more is a MemoryError.
_CEILING = 2 << 30
#: What a load can come to, for better.
GOOD = ("loaded", "refused")
#: What happens in a process that does what a file says.
_DEEDS = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "socket.connect",
)
_DEEDS += ("subprocess.Popen", "shutil.rmtree", "ctypes.dlopen", "code.__new__")
#: How a refusal says where in the file it stopped.
_PLACE = re.compile(r"record |byte \d|in archive|the archive|zip archive|legacy \.tar|locating file data\.pkl")
#: Refusals of valid files that the machine, or the mode, does not suit.
_UNSUITED = re.compile(r"mmap can only be used|Attempting to deserialize object on")

#: (how it came out, what it says).
Outcome = tuple[str, str]


class _Deeds:
    """Notes what the process does while a file is loaded."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._listens = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._listens:
            return
        if event in _DEEDS:
            self.seen.append(event)
        elif event == "import" and args[0] == MARKER:
            self.seen.append("import of what the file names")
        elif event == "open" and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR):
            self.seen.append(f"open of {args[0]} for writing")

    @contextmanager
    def listening(self) -> Iterator[None]:
        self.seen.clear()
        self._listens = True
        try:
            yield
        finally:
            self._listens = False


class _Peak:
    """The most memory that this process has held since `start`."""

    def start(self) -> int:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return self.read()

    def read(self) -> int:
        text = Path("/proc/self/status").read_text(encoding="ascii")
        found = re.search(r"VmHWM:\s*(\d+) kB", text)
        assert found is not None
        return int(found[1]) << 10


def _read_all(torch: Any, value: Any, depth: int = 0) -> None:
    """Read every element that loaded tensors claim to have, and what tells where they stand."""
    if isinstance(value, torch.Tensor):
        if value.device.type == "cpu" and value.numel() < 10**6:
            value.detach().resolve_conj().resolve_neg().clone()
        value.stride(), value.storage_offset(), value.requires_grad, value.is_leaf
    elif depth < 8 and isinstance(value, dict):
        _read_all(torch, list(value.values())[:1000], depth + 1)
    elif depth < 8 and isinstance(value, (list, tuple, set)):
        for item in list(value)[:1000]:
            _read_all(torch, item, depth + 1)


def loaded_by_mindtorch(path: Path, mode: str) -> None:
    """Load a file in one of the modes of `files.MODES`, and read what came."""
    import mindtorch as torch  # the parent has imported it, before it forks

    options = {"mmap": {"mmap": True}, "meta": {"map_location": "meta"}, "trusted": {"weights_only": False}}.get(
        mode, {}
    )
    source = io.BytesIO(path.read_bytes()) if mode == "buffer" else path
    _read_all(torch, torch.load(source, **options))


Load = Callable[[Path, str], None]
#: (mode, content) of a file.
File = tuple[str, bytes]


def _tried(load: Load, path: Path, mode: str) -> Outcome:
    try:
        load(path, mode)
    except (RuntimeError, pickle.UnpicklingError, EOFError) as error:
        if type(error) in (RuntimeError, NotImplementedError, pickle.UnpicklingError, EOFError):
            clear = _PLACE.search(str(error)) or _UNSUITED.search(str(error))
            return "refused" if clear else "vague", f"{type(error).__name__}: {error}"
        return "odd", f"{type(error).__name__}: {error}"
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the finding
        return "odd", f"{type(error).__name__}: {error}"
    return "loaded", ""


def _watched(load: Load, path: Path, file: File, deeds: _Deeds, peak: _Peak) -> Outcome:
    """How a file is loaded; what is worse than an odd error is told instead of it."""
    mode, content = file
    path.write_bytes(content)
    held, begin = peak.start(), time.process_time()
    with deeds.listening():
        outcome = _tried(load, path, mode)
    seconds, taken = time.process_time() - begin, peak.read() - held
    if deeds.seen or Path(MARKER).exists():
        return "ran code", ", ".join(deeds.seen)
    if path.read_bytes() != content:
        return "changed", "the file"
    if seconds > SECONDS:
        return "hang", f"{seconds:.0f} s"
    if taken > TIMES * len(content) + MEMORY:
        return "memory", f"{taken >> 20} MB"
    return outcome


def _child(load: Load, files: list[File], folder: Path, report: int) -> None:
    """Load one file after another, a line in the pipe for each."""
    warnings.simplefilter("ignore")
    for number in (signal.SIGALRM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + _CEILING, size + _CEILING))
    os.chdir(folder)
    deeds, peak = _Deeds(), _Peak()
    for file in files:
        outcome = _watched(load, folder / f"{os.getpid()}.pt", file, deeds, peak)
        os.write(report, json.dumps([outcome[0], outcome[1][:2000]]).encode() + b"\n")


def _started(load: Load, files: list[File], folder: Path) -> tuple[int, int]:
    """(process, reading end of its pipe) of a child."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    status = 1
    try:
        os.close(reading)
        _child(load, files, folder, writing)
        status = 0
    finally:
        os._exit(status)


def _lines(reading: int, patience: float) -> Iterator[bytes | None]:
    """The lines that come through a pipe until it is closed; None, and no more, when none came in time."""
    held = b""
    while True:
        if not select.select([reading], [], [], patience)[0]:
            yield None
            return
        piece = os.read(reading, 1 << 16)
        if not piece:
            return
        *lines, held = (held + piece).split(b"\n")
        yield from lines


def outcomes(
    files: list[File], folder: Path, load: Load = loaded_by_mindtorch, patience: float = PATIENCE
) -> list[Outcome]:
    """How each file is loaded. A child that ends or hangs at a file is replaced for those behind it."""
    found: list[Outcome] = []
    while len(found) < len(files):
        process, reading = _started(load, files[len(found) :], folder)
        for line in _lines(reading, patience):
            if line is None:
                os.kill(process, signal.SIGKILL)
                found.append(("hang", f"nothing after {patience:.0f} s"))
            else:
                found.append(tuple(json.loads(line)))
        os.close(reading)
        _, status = os.waitpid(process, 0)
        (folder / f"{process}.pt").unlink(missing_ok=True)
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, -signal.SIGKILL):
            found.append(("crash", f"status {code}"))
    return found
