"""Record in `altered/` what PyTorch says to altered calls of every operator: its refusal, or the shapes that it gives.

``make_altered.py [FAMILY ...]`` writes the files, one per operator family; with ``--check`` it compares what they hold.
`mt_core.testing.altered` says which calls these are. A call that ends PyTorch's process is left out.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import torch
from make_samples import find_operator, run

from mt_core.dispatch.registry import Overload
from mt_core.testing.altered import altered_calls, has_altered_calls, outcome_in_words
from mt_core.testing.sample import declared_operators

FOLDER = Path(__file__).with_name("altered")


def record(overload: Overload) -> dict[str, Any]:
    """Words of a call -> its outcome, for all that PyTorch survives."""
    found: dict[str, Any] = {}
    asked = 0
    total = sum(1 for _ in altered_calls(overload, "cpu"))
    while asked < total:
        said, asked = record_from(overload, asked)
        found.update(said)
    return found


def record_from(overload: Overload, start: int) -> tuple[dict[str, Any], int]:
    """The outcomes of the calls from one on, in a fork that may die, and the number of the call to go on with."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "w") as pipe:
                answer(overload, start, pipe)
        except BaseException:  # noqa: BLE001 - said, and told to the parent by the exit status
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = [json.loads(line) for line in pipe if line.endswith("\n")]
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) > 0:
        raise SystemExit(f"{overload.name}: no call could be made")
    # A call that was begun and has no answer has ended the process.
    return dict(line for line in lines if len(line) == 2), start + sum(len(line) == 1 for line in lines)


def answer(overload: Overload, start: int, pipe: Any) -> None:
    operator = find_operator(overload)
    for number, (words, sample) in enumerate(altered_calls(overload, "cpu")):
        if number >= start:
            print(json.dumps([words]), file=pipe, flush=True)
            print(json.dumps([words, outcome_in_words(run(operator, overload, sample))]), file=pipe, flush=True)


def main() -> int:
    warnings.simplefilter("ignore")
    torch.set_num_threads(2)  # with a single one, PyTorch chooses other kernels, which call themselves otherwise
    FOLDER.mkdir(exist_ok=True)
    status = 0
    families = [a for a in sys.argv[1:] if not a.startswith("-")]
    chosen = [o for o in declared_operators() if has_altered_calls(o) and find_operator(o) is not None]
    for family in families or sorted({overload.family for overload in chosen}):
        found = {overload.name: record(overload) for overload in chosen if overload.family == family}
        found = {name: said for name, said in found.items() if said}
        path = FOLDER / f"{family}.json.gz"
        if "--check" not in sys.argv:
            path.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))
            print(f"{path.name}: {sum(map(len, found.values()))} calls, {path.stat().st_size >> 10} KiB", flush=True)
            continue
        stored = json.loads(gzip.decompress(path.read_bytes()))
        for name in sorted({*stored, *found}):
            now, before = found.get(name, {}), stored.get(name, {})
            for words in sorted(w for w in {*now, *before} if now.get(w) != before.get(w)):
                print(f"{name}, {words}: {now.get(words)}, where {before.get(words)} is stored")
                status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
