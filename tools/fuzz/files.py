"""Load damaged and hostile files: ``./dev files [--seeds 0:10000] [--minutes 60]``.

Each file follows from its seed. It loads, or is refused by a RuntimeError, UnpicklingError or EOFError that says where;
none runs code, takes more than 5 seconds, or more memory than 10 times its size and 100 MB. The exit status says
whether all do, but for one odd error in 10,000.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import sys
import tempfile
import time
from pathlib import Path

from .damage import file_of, valid_files
from .guard import GOOD, File, Outcome, loaded_by_mindtorch, outcomes

__all__ = ["MODES", "Findings", "main", "made"]

#: Ways to load a file.
MODES = ("path", "path", "path", "buffer", "mmap", "meta")
#: Kinds of files whose pickle, if it is reached, is what a pickler wrote: those may be trusted.
_HARMLESS = ("cut", "small records", "damaged directory")
#: Odd errors that are borne with, of all files.
ODD = 1e-4
#: Files that one child loads.
_BATCH = 250


def made(seed: int) -> tuple[str, File]:
    """(kind, (mode, content)) of the file with this seed."""
    kind, content = file_of(seed)
    modes = (*MODES, "trusted", "trusted") if kind in _HARMLESS else MODES
    return kind, (random.Random(f"mode {seed}").choice(modes), content)


class Findings:
    """Counts of how files came out, with seeds of those that came out badly."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.kinds: collections.Counter[tuple[str, str]] = collections.Counter()
        self.seeds: dict[tuple[str, str], list[int]] = collections.defaultdict(list)

    def enter(self, seed: int, kind: str, outcome: Outcome) -> None:
        how, text = outcome
        self.counts[how] += 1
        self.kinds[kind, how] += 1
        if how not in GOOD:
            self.seeds[how, _class(text)].append(seed)

    def failures(self) -> list[str]:
        """What is not as it is wanted."""
        total, odd = sum(self.counts.values()), self.counts["odd"] + self.counts["vague"]
        found = [
            f"{how}: {count} of {total} files"
            for how, count in self.counts.items()
            if how not in (*GOOD, "odd", "vague")
        ]
        return found + ([f"odd or vague errors: {odd} of {total} files"] if odd > ODD * total else [])

    def text(self) -> str:
        lines = [f"{sum(self.counts.values())} files: {dict(self.counts.most_common())}"]
        for (how, words), seeds in sorted(self.seeds.items(), key=lambda item: (item[0][0], -len(item[1]))):
            lines.append(f"{len(seeds)} x {how}: {words} (seeds {', '.join(map(str, seeds[:4]))})")
        return "\n".join(lines) + "\n"


def _class(text: str) -> str:
    """An error's text without what belongs to one file."""
    return re.sub(r"'[^']*'|\d+|[^ -~]+", "#", text)[:160]


def run(seeds: range, until: float = float("inf")) -> Findings:
    """Load the files with these seeds, a batch at a time."""
    findings = Findings()
    with tempfile.TemporaryDirectory() as folder:
        for first in range(seeds.start, seeds.stop, _BATCH):
            if time.monotonic() > until:
                break
            batch = range(first, min(first + _BATCH, seeds.stop))
            files = [made(seed) for seed in batch]
            found = outcomes([file for _, file in files], Path(folder))
            for seed, (kind, _), outcome in zip(batch, files, found, strict=True):
                findings.enter(seed, kind, outcome)
    return findings


def prepare() -> None:
    """Load whatever is valid, so that children have imported what is imported late."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "valid.pt"
        for content in valid_files():
            path.write_bytes(content)
            loaded_by_mindtorch(path, "path")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./dev files", description=__doc__)
    parser.add_argument("--seeds", default="0:10000", help="FIRST:LAST")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument(
        "--write", type=int, metavar="SEED", help="write the file with this seed to file-SEED.pt, no more"
    )
    options = parser.parse_args(arguments)
    if options.write is not None:
        kind, (mode, content) = made(options.write)
        Path(f"file-{options.write}.pt").write_bytes(content)
        print(kind, mode, len(content), "bytes")
        return 0
    prepare()
    first, last = map(int, options.seeds.split(":"))
    findings = run(range(first, last), time.monotonic() + 60 * options.minutes)
    print(findings.text())
    for failure in (failures := findings.failures()):
        print("MISSED", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
