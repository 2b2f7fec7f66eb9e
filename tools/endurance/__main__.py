"""Long runs, each in a process of its own: ``./dev endurance [NAME ...] [--share 1.0] [--minutes 30]``.

The exit status says whether all came through clean, with the memory at the end within 5 % of that after a tenth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from . import chains, loading, saving, training

ROOT = Path(__file__).parent.parent.parent

RUNS: dict[str, Callable[[float], list[str]]] = {
    "chains": chains.run,
    "training": training.run,
    "threads": training.run_threads,
    "loading": loading.run,
    "saving": saving.run,
}


def result_of(name: str, share: float, seconds: float) -> list[str]:
    """What a run complains of; that it ended badly is a complaint."""
    command = [sys.executable, "-m", "tools.endurance", "--inside", name, "--share", str(share)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=max(seconds, 1), check=False)
    except subprocess.TimeoutExpired:
        return [f"not done in {seconds:.0f} s"]
    if done.returncode:
        return [f"ended with status {done.returncode}: {done.stderr[-2000:]}"]
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev endurance", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *RUNS], default=[], help="these runs alone")
    parser.add_argument("--share", type=float, default=1.0, help="this part of each run's length")
    parser.add_argument("--minutes", type=float, default=30.0, help="for all of them")
    parser.add_argument("--inside", choices=RUNS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(RUNS[options.inside](options.share)))
        return 0
    end, status = time.monotonic() + 60 * options.minutes, 0
    for name in options.names or RUNS:
        start = time.monotonic()
        complaints = result_of(name, options.share, end - start)
        print(f"{name}: {'clean' if not complaints else 'FAILED'} in {time.monotonic() - start:.0f} s", flush=True)
        for complaint in complaints:
            print(f"    {complaint}", flush=True)
            status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
