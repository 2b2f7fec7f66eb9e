"""Instructions of calls, counted by callgrind: steadier than time on any machine.

``python -m tools.bench.instructions MODULE ONLY`` runs within valgrind: it calls ``getpgrp`` before and after what is
counted, at which callgrind writes down what it has counted since the last time. The program itself prints, as JSON, the
names in the order of its calls and how often each was called; `count` runs it and puts both together.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.bench import groups
from tools.bench.in_turn import Library, environment

__all__ = ["available", "count"]

ROOT = Path(__file__).parents[2]
#: Calls before those that are counted, which fill caches.
_WARM = 2


def available() -> bool:
    """Whether instructions can be counted here."""
    return shutil.which("valgrind") is not None and hasattr(os, "getpgrp")


def count(library: Library, only: str) -> dict[str, float]:
    """Instructions of one call by one thread, for each "group/name".

    Valgrind's processor has no AVX-512: the library's level is v3 there.

    Raises
    ------
    RuntimeError
        Where what callgrind wrote is not what the program called.
    subprocess.CalledProcessError
        Where the program failed.
    """
    with tempfile.TemporaryDirectory(prefix="bench-instructions-") as folder:
        command = [
            "valgrind", "--tool=callgrind", "--dump-before=getpgrp", f"--callgrind-out-file={folder}/counted",
            library.interpreter, "-m", "tools.bench.instructions", library.module, only,
        ]  # fmt: skip
        # Hashes and threads are the same each time.
        settings = environment(1, {**library.environment, "PYTHONHASHSEED": "0"})
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=settings)
        called = json.loads(done.stdout.splitlines()[-1])
        return _put_together(called, Path(folder))


def _put_together(called: list[tuple[str, int]], folder: Path) -> dict[str, float]:
    """What was counted between the two marks of each call."""
    written = len(list(folder.glob("counted.*")))
    if written != 2 * len(called):
        raise RuntimeError(f"callgrind wrote {written} counts of {len(called)} calls")
    found = {}
    for number, (name, times) in enumerate(called):
        text = (folder / f"counted.{2 * number + 2}").read_text(encoding="utf-8", errors="replace")
        told = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if told is None:
            raise RuntimeError(f"callgrind counted nothing for {name}")
        found[name] = int(told[1]) / times
    return found


def main() -> None:
    """Make the calls that are asked for, each between two marks."""
    module, only = sys.argv[1:]
    torch = importlib.import_module(module)
    torch.set_num_threads(1)
    called: list[tuple[str, int]] = []
    for group, about in groups.GROUPS.items():
        if not about.repeated or not groups.may_hold(only, group):
            continue
        for name, call in about.make(torch).items():
            if not groups.chosen(only, group, name):
                continue
            for _ in range(_WARM):
                call()
            gc.collect()
            gc.disable()  # when it would run depends on all that ran before
            os.getpgrp()
            for _ in range(about.repeated):
                call()
            os.getpgrp()
            gc.enable()
            called.append((f"{group}/{name}", about.repeated))
    print(json.dumps(called))


if __name__ == "__main__":
    main()
