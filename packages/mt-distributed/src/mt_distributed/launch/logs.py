"""Where what ranks write goes: ``--log-dir``, ``--redirects``, ``--tee``, ``--local-ranks-filter``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

__all__ = ["Logs", "Written", "ranks_of", "streams_of"]

#: What ``0``, ``1``, ``2`` and ``3`` mean in ``--redirects`` and ``--tee``.
_STREAMS: dict[str, tuple[str, ...]] = {"0": (), "1": ("stdout",), "2": ("stderr",), "3": ("stdout", "stderr")}
#: Seconds between looks at a file that is shown while it is written.
_LOOK = 0.1


def streams_of(text: str, processes: int) -> list[tuple[str, ...]]:
    """Which streams of each local rank are meant: ``"3"`` for all ranks, or ``"0:1,1:2"``.

    Raises
    ------
    ValueError
        For another text, or a rank that there is not.
    """
    if re.fullmatch(r"[0-3]", text):
        return [_STREAMS[text]] * processes
    if not re.fullmatch(r"(\d:[0-3],)*(\d:[0-3])", text):
        raise ValueError(f"{text} does not match: <^(\\d:[0123],)+(\\d:[0123])$ | ^[0123]$>")
    meant: list[tuple[str, ...]] = [()] * processes
    for pair in text.split(","):
        rank, streams = pair.split(":")
        if int(rank) >= processes:
            raise ValueError(f"{text} names local rank {rank}, and there are {processes}")
        meant[int(rank)] = _STREAMS[streams]
    return meant


def ranks_of(text: str) -> frozenset[int] | None:
    """The local ranks of ``--local-ranks-filter``; None for no filter.

    Raises
    ------
    ValueError
        For what are not numbers.
    """
    if not text:
        return None
    try:
        return frozenset(int(rank) for rank in text.split(","))
    except ValueError:
        raise ValueError(
            "--local_ranks_filter must be a comma-separated list of integers e.g. --local_ranks_filter=0,1,2"
        ) from None


@dataclass
class Logs:
    """What was asked for.

    Parameters
    ----------
    redirected, shown_too
        For each local rank the streams that go to files, and those that go to files and to the terminal.
    filter
        The local ranks of which the terminal shows anything; None for all.
    folder
        Where the files are to be; a new temporary folder, which stays, if it is not said.
    """

    redirected: list[tuple[str, ...]]
    shown_too: list[tuple[str, ...]]
    filter: frozenset[int] | None = None
    folder: str | None = None
    _made: Path | None = field(default=None, init=False)

    def _run_folder(self, name: str) -> Path:
        if self._made is None:
            folder = Path(self.folder) if self.folder else Path(tempfile.mkdtemp(prefix="torchelastic_"))
            folder.mkdir(parents=True, exist_ok=True)
            self._made = Path(tempfile.mkdtemp(prefix=f"{name}_", dir=folder))
        return self._made

    def begin(self, name: str, attempt: int, local: int, role: str) -> Written:
        """Where the streams of a rank go in an attempt."""
        is_shown = self.filter is None or local in self.filter
        written = Written()
        for stream in ("stdout", "stderr"):
            is_teed = stream in self.shown_too[local]
            if is_teed or stream in self.redirected[local]:
                folder = self._run_folder(name) / f"attempt_{attempt}" / str(local)
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"{stream}.log"
                written.streams[stream] = path.open("wb")
                if is_teed and is_shown:
                    written.show(path, f"[{role}{local}]:", stream)
            elif not is_shown:
                written.streams[stream] = subprocess.DEVNULL
        return written


class Written:
    """What the streams of one rank are, as `subprocess.Popen` takes them, and who shows them."""

    def __init__(self) -> None:
        self.streams: dict[str, Any] = {}
        self._ended = threading.Event()
        self._showing: list[threading.Thread] = []

    def started(self) -> None:
        """The process has the files."""
        for stream in self.streams.values():
            if not isinstance(stream, int):
                stream.close()

    def show(self, path: Path, prefix: str, stream: str) -> None:
        """Show what is written to a file, line by line, on the launcher's stream of that name."""
        thread = threading.Thread(target=self._follow, args=(path, prefix, getattr(sys, stream)), daemon=True)
        self._showing.append(thread)
        thread.start()

    def _follow(self, path: Path, prefix: str, terminal: IO[str]) -> None:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            rest = ""
            while True:
                is_last = self._ended.is_set()  # asked first: what is read then is all that there will be
                *lines, rest = (rest + file.read()).split("\n")
                _write(terminal, (f"{prefix}{line}\n" for line in lines))
                if is_last:
                    _write(terminal, [f"{prefix}{rest}\n"] if rest else [])
                    return
                self._ended.wait(_LOOK)

    def end(self) -> None:
        """The process has ended: show the rest."""
        self._ended.set()
        for thread in self._showing:
            thread.join()


def _write(terminal: IO[str], lines: Iterable[str]) -> None:
    text = "".join(lines)
    if text:
        terminal.write(text)
        terminal.flush()
