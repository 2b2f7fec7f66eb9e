"""Running a program in a process of its own, and comparing what two runs of it told."""

from __future__ import annotations

import ast
import json
import math
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["HERE", "PROGRAMS", "QUICK", "SNAPSHOTS", "Told", "differences", "run", "summary_of"]

HERE = Path(__file__).parent
SNAPSHOTS = HERE / "snapshots"
PROGRAMS = tuple(sorted(path.stem for path in (HERE / "programs").glob("*.py")))
#: What runs with every change: programs whose libraries are small.
QUICK = "array_api einops entmax jaxtyping opt_einsum safetensors torchdiffeq torchinfo transformers_trainer".split()
SECONDS = 900


@dataclass(frozen=True)
class Told:
    """What a run of a program gave.

    Attributes
    ----------
    found
        What the program yields, by name.
    tolerance
        How far numbers may be apart, relative to the greatest of their tensor.
    seconds
        How long it ran, the import of its libraries included.
    error
        The last line of its traceback; empty where it came to its end.
    """

    found: dict[str, Any]
    tolerance: float = 0.0
    seconds: float = 0.0
    error: str = ""


def run(name: str, python: list[str]) -> Told:
    """Run a program by a command that takes a script and its arguments."""
    # A program must neither reach for the network nor be scheduled otherwise than it was for its snapshot.
    fixed = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [*python, str(HERE / "one.py"), str(HERE / "programs" / f"{name}.py")],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
                cwd=folder,
                env={**os.environ, **fixed, "CUDA_VISIBLE_DEVICES": ""},
            )
        except subprocess.TimeoutExpired:
            return Told({}, error=f"ran for more than {SECONDS} s")
    lines = [line for line in done.stdout.splitlines() if line.startswith("found ")]
    if done.returncode or len(lines) != 1:
        said = done.stderr.strip().splitlines()
        return Told({}, error=said[-1] if said else f"ended with status {done.returncode}")
    return Told(**json.loads(lines[0].removeprefix("found ")))


def differences(found: dict[str, Any], stored: dict[str, Any], tolerance: float) -> tuple[list[str], int, float]:
    """What is different from what is stored, how many values were compared, and how far apart the farthest are."""
    apart: list[str] = [f"{name}: only one of the two has it" for name in sorted(found.keys() ^ stored.keys())]
    count, farthest = 0, 0.0
    for name in stored.keys() & found.keys():
        compared, distance = 0, 0.0
        for distance_here in _distances(found[name], stored[name]):
            compared, distance = compared + 1, max(distance, distance_here)
        count, farthest = count + compared, max(farthest, distance)
        if distance > tolerance:
            apart.append(f"{name}: {_short(found[name])} instead of {_short(stored[name])}")
    return apart, count, farthest


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _distances(found: Any, stored: Any) -> Iterator[float]:
    """How far apart each number is from the stored one; infinity for what differs otherwise."""
    if isinstance(stored, dict) and isinstance(found, dict):
        if stored.keys() != found.keys():
            yield math.inf
        for name in stored.keys() & found.keys():
            yield from _distances(found[name], stored[name])
    elif isinstance(stored, list) and isinstance(found, list):
        if len(stored) != len(found):
            yield math.inf
        elif stored and all(isinstance(value, float) for value in [*stored, *found]):
            scale = max((abs(value) for value in stored if math.isfinite(value)), default=0.0)
            yield from (_distance(a, b, scale) for a, b in zip(found, stored, strict=True))
        else:
            for a, b in zip(found, stored, strict=True):
                yield from _distances(a, b)
    elif isinstance(stored, float) and isinstance(found, float):
        yield _distance(found, stored, abs(stored))
    else:
        yield 0.0 if type(stored) is type(found) and stored == found else math.inf


def _distance(found: float, stored: float, scale: float) -> float:
    if math.isnan(stored) or math.isinf(stored) or not math.isfinite(found):
        return 0.0 if found == stored or math.isnan(found) and math.isnan(stored) else math.inf
    # Below a thousandth, what is left of numbers that cancel is compared as if it were a thousandth.
    return abs(found - stored) / max(scale, 1e-3)


def summary_of(name: str) -> str:
    """What a program does: the first line of its docstring."""
    text = ast.get_docstring(ast.parse((HERE / "programs" / f"{name}.py").read_text(encoding="utf-8")))
    assert text, f"{name}.py has no docstring"
    return text.splitlines()[0]
