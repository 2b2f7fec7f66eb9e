"""Plant faults and count which are caught: ``./dev mutate [--count 300] [--seed 0] [--jobs 2]``.

What is known of a fault is kept in ``.mutate`` as it becomes known: a run that was broken off goes on. A fault that
was caught stays so while its module does, unless ``--fresh`` is given; one that survived is planted again when samples
or tests have changed. Survivors are to be explained in ``tools/mutate/survivors.toml``, or better, caught by a new
sample or test.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import time
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
    return f"{Path(fault.path).name} {fault.function}: {fault.before[:80]} -> {fault.after[:80]}"


def outcome(fault: Fault, reasons: dict[str, str], limit: float, fresh: bool) -> str:
    """As `verdict`, but a fault whose survival is explained is not planted."""
    return "survived" if key_of(fault) in reasons and not fresh else verdict(fault, limit, fresh)


def verdict(fault: Fault, limit: float, fresh: bool) -> str:
    """How the fault was caught, or "survived"; remembered with the text of the module."""
    digest = zlib.crc32((ROOT / fault.path).read_bytes() + repr(fault).encode())
    memory = STATE / f"{digest:08x}.json"
    if memory.is_file() and not fresh:
        known = json.loads(memory.read_text(encoding="utf-8"))
        if known["said"] != "survived" or known["tree"] == tree_digest():
            return known["said"]
    start = time.monotonic()
    found = attempt(fault, limit)
    took = round(time.monotonic() - start, 1)
    memory.write_text(json.dumps({"said": found, "tree": tree_digest(), "seconds": took}), encoding="utf-8")
    return found


def attempt(fault: Fault, limit: float) -> str:
    """Plant a fault in a process of its own."""
    command = [sys.executable, "-m", "tools.mutate.trial", json.dumps(fault)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"caught by the clock, after {limit:.0f} s"
    if done.returncode == 0:
        return "survived"
    lines = [line for line in done.stdout.splitlines() if line.startswith("caught by")]
    return (lines or [f"caught by exit status {done.returncode}"])[-1]


@functools.cache
def tree_digest() -> str:
    """What faults, samples and tests are like: a number of every file under `packages`, and of how faults are tried."""
    kinds = ("*.py", "*.toml", "*.npz", "*.json", "*.gz")
    files = [path for kind in kinds for path in (ROOT / "packages").rglob(kind)]
    number = 0
    for path in sorted([*files, Path(__file__).with_name("plan.py"), Path(__file__).with_name("trial.py")]):
        number = zlib.crc32(path.read_bytes(), zlib.crc32(str(path.relative_to(ROOT)).encode(), number))
    return f"{number:08x}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    # A fault that survives takes some 60 s on one core: who needs this long is caught in a loop.
    parser.add_argument("--limit", type=float, default=1200, help="seconds for one fault")
    parser.add_argument("--fresh", action="store_true", help="plant again what was caught before")
    options = parser.parse_args()
    STATE.mkdir(exist_ok=True)
    faults = choose(options.count, options.seed)
    reasons = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))["survivors"]
    with ThreadPoolExecutor(options.jobs) as pool:
        found = []
        for fault, said in zip(
            faults, pool.map(lambda f: outcome(f, reasons, options.limit, options.fresh), faults), strict=True
        ):
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
