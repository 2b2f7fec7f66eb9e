"""``python -m tools.clients_tests [SUITE ...]``: run other libraries' tests, compared with PyTorch.

What differs is listed, with the reason, in ``expected.toml``; anything else that differs is an error, and so is what
is listed and does not differ. Writes the table in ``docs/programs.md`` when all suites run.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from pathlib import Path

from ..clients.page import PAGE, SUITES
from .running import Outcome, describe, expectations, run, stored, unexpected

HEAD = """
## Test suites

The tests of other libraries, as they come, run by `./dev clients_tests` in an environment that PyTorch is not in, and
compared, test by test, with what became of them on PyTorch {pytorch} on the CPU, without network. `passed` and
`skipped` count tests here; what differs from PyTorch is listed, with the reason, in
`tools/clients_tests/expected.toml`. Seconds are those of one processor, imports included.

| suite | passed | skipped | differ, listed | differ | s | PyTorch, s |
|---|---|---|---|---|---|---|
"""


def row(name: str, outcome: Outcome, listed: int, apart: int, pytorch: float) -> str:
    counts = (outcome.count("passed"), outcome.count("skipped"), listed, apart, round(outcome.seconds), round(pytorch))
    return f"| {name} | " + " | ".join(map(str, counts)) + " |"


def main() -> int:
    suites = describe()["suites"]
    parser = argparse.ArgumentParser(prog="./dev clients_tests", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SUITE", help=f"of {' '.join(suites)}; all unless given")
    parser.add_argument("--sources", type=Path, default=Path(".cache/clients_tests"), help="where sources are kept")
    parser.add_argument(
        "--archive", nargs=2, action="append", default=[], metavar=("SOURCE", "FILE"), help="fetched by other means"
    )
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(suites)):
        parser.error(f"no such suites: {' '.join(unknown)}; there are {' '.join(suites)}")
    archives = {name: Path(file) for name, file in options.archive}
    known, rows, failed = expectations(), [], []
    for name in options.names or suites:
        told, expected = stored(name), known.get(name, {})
        outcome = run(suites[name], [sys.executable, "-m", "mindtorch", "run"], options.sources, archives)
        apart = unexpected(outcome, told["tests"], expected)
        if apart or outcome.trouble:
            failed.append(name)
        rows.append(row(name, outcome, len(expected), len(apart), told["seconds"]))
        print(rows[-1], *(f"    {line}" for line in apart), *outcome.trouble.splitlines(), sep="\n", flush=True)
    print(f"{len(rows) - len(failed)} of {len(rows)} suites are as they are listed")
    if not options.names:
        page = PAGE.read_text(encoding="utf-8").partition(SUITES)[0]
        table = HEAD.format(pytorch=told["pytorch"]) + "\n".join(rows) + "\n"
        PAGE.write_text(page + SUITES + table, encoding="utf-8")
    return bool(failed)


if __name__ == "__main__":
    importlib.metadata.version("mindtorch")  # the environment of the session, not any
    raise SystemExit(main())
