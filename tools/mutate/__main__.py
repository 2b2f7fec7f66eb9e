"""Plant faults and count which are caught: ``./dev mutate [--count 300] [--seed 0] [--jobs 2]``.

What is known of a fault is kept in ``.mutate/COMMIT`` as it becomes known: a run that was broken off goes on.
Survivors are to be explained in ``tools/mutate/survivors.toml``, or better, caught by a new sample or test.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .plan import ROOT, area_of, choose
from .sites import Fault

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STATE = ROOT / ".mutate"
SURVIVORS = Path(__file__).with_name("survivors.toml")
#: Caught of all, in a hundred.
WANTED = 95


def key_of(fault: Fault) -> str:
    """A name that stays when lines move."""
    return f"{Path(fault.path).name}: {fault.before[:80]} -> {fault.after[:80]}"


def verdict(fault: Fault, limit: float) -> str:
    """How the fault was caught, or "survived"; remembered with the text of the module."""
    digest = zlib.crc32((ROOT / fault.path).read_bytes() + repr(fault).encode())
    memory = STATE / revision() / f"{digest:08x}.txt"
    if memory.is_file():
        return memory.read_text(encoding="utf-8")
    command = [sys.executable, "-m", "tools.mutate.trial", json.dumps(fault)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("caught by")]
        found = "survived" if done.returncode == 0 else (lines or [f"caught by exit status {done.returncode}"])[-1]
    except subprocess.TimeoutExpired:
        found = f"caught by the clock, after {limit:.0f} s"
    memory.write_text(found, encoding="utf-8")
    return found


@functools.cache
def revision() -> str:
    """The commit: other samples and tests may catch what survived."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600, help="seconds for one fault")
    options = parser.parse_args()
    (STATE / revision()).mkdir(parents=True, exist_ok=True)
    faults = choose(options.count, options.seed)
    reasons = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))["survivors"]
    with ThreadPoolExecutor(options.jobs) as pool:
        found = []
        for fault, said in zip(faults, pool.map(lambda f: verdict(f, options.limit), faults), strict=True):
            found.append(said)
            print(f"{area_of(fault)} {fault.path}:{fault.line} {fault.kind}: {said}", flush=True)
    return summarize(faults, found, reasons)


def summarize(faults: list[Fault], found: list[str], reasons: dict[str, str]) -> int:
    """Print the survivors, with the reasons known for them; 1 when too many survive."""
    survivors = [fault for fault, said in zip(faults, found, strict=True) if said == "survived"]
    for fault in survivors:
        reason = reasons.get(key_of(fault), "UNEXPLAINED")
        print(f'\n{fault.path}:{fault.line}\n"{key_of(fault)}" = "{reason}"')
    caught = len(faults) - len(survivors)
    print(f"\n{caught} of {len(faults)} caught ({100 * caught / len(faults):.1f} %, {WANTED} wanted)")
    return 0 if 100 * caught >= WANTED * len(faults) else 1


if __name__ == "__main__":
    raise SystemExit(main())
