"""Seconds of two libraries as a table of ratios."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["conclude", "fastest", "missed", "table"]

Seconds = dict[str, float]

#: Measurement -> the greatest ratio to PyTorch that is meant to be reached. A bare group stands for its geometric mean.
REACH = {
    "4x4, no gradient": 1.6,
    "4x4, gradient": 1.8,
    **{f"4x4, no gradient/{name}": 1.35 for name in ("add", "mul", "exp", "matmul")},
    "4x4, no gradient/sum": 1.6,
    **{f"4x4, no gradient/{name}": 1.2 for name in ("view", "transpose", "getitem", "slice")},
    "larger/import": 0.2,
    **{f"all_reduce on 2/{size}": 0.5 for size in ("4 B", "256 B", "1 KB", "4 KB", "16 KB")},
    **{f"all_reduce on 2/{size}": 0.9 for size in ("64 KB", "256 KB", "1 MB", "4 MB", "16 MB", "64 MB")},
}


#: Groups whose members are not of a kind, so that they have no mean.
_APART = ("larger/", "training on")


def fastest(runs: Iterable[Seconds]) -> Seconds:
    """The least time of each measurement over several runs: what disturbs a measurement only makes it longer."""
    least: Seconds = {}
    for run in runs:
        for name, seconds in run.items():
            least[name] = min(seconds, least.get(name, math.inf))
    return least


def geometric_mean(values: list[float]) -> float:
    """The geometric mean; NaN of nothing."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan


def _ratios(ours: Seconds, theirs: Seconds) -> dict[str, float]:
    """Ratios by measurement, and the geometric mean of each group of operators."""
    ratios = {name: ours[name] / theirs[name] for name in ours if name in theirs}
    groups = dict.fromkeys(name.partition("/")[0] for name in ratios if not name.startswith(_APART))
    means = {
        group: geometric_mean([r for name, r in ratios.items() if name.startswith(f"{group}/")]) for group in groups
    }
    return {**ratios, **means}


def missed(ours: Seconds, theirs: Seconds) -> list[str]:
    """Measurements whose ratio is greater than what is to be reached, one line each."""
    ratios = _ratios(ours, theirs)
    return [
        f"{name}: {ratios[name]:.2f}, to be reached {reach:g}"
        for name, reach in REACH.items()
        if name in ratios and ratios[name] > reach
    ]


def table(ours: Seconds, theirs: Seconds) -> str:
    """A table per group; without PyTorch's times, our own alone."""
    lines: list[str] = []
    ratios = _ratios(ours, theirs)
    for group in dict.fromkeys(name.partition("/")[0] for name in ours):
        members = [name for name in ours if name.startswith(f"{group}/")]
        show, unit = _scale(group)
        lines += ["", f"{group:<32}{'mindtorch':>12}{'PyTorch':>12}{'ratio':>8}{'reach':>8}   ({unit})"]
        lines += [_row(name, name.partition("/")[2], ours, theirs, ratios, show) for name in members]
        if group in ratios:
            lines.append(f"  {'geometric mean':<54}{ratios[group]:>8.2f}{_reach(group):>8}")
    return "\n".join(lines[1:])


def _scale(group: str) -> tuple[Callable[[float], str], str]:
    if group == "larger":
        return lambda seconds: f"{seconds * 1e3:.2f}", "milliseconds"
    return lambda seconds: f"{seconds * 1e6:.2f}", "microseconds per call"


def _reach(name: str) -> str:
    return f"{REACH[name]:g}" if name in REACH else ""


def _row(
    name: str, label: str, ours: Seconds, theirs: Seconds, ratios: dict[str, float], show: Callable[[float], str]
) -> str:
    other = show(theirs[name]) if name in theirs else "-"
    ratio = f"{ratios[name]:.2f}" if name in ratios else "-"
    return f"  {label:<30}{show(ours[name]):>12}{other:>12}{ratio:>8}{_reach(name):>8}"


def conclude(found: dict[str, dict[str, float]], to: Path | None, check: bool) -> None:
    """Print what was found and what is missed, and keep the seconds in a file.

    Raises
    ------
    SystemExit
        Where something is missed, if that is to be checked.
    """
    ours, theirs = found["mindtorch"], found.get("torch", {})
    print(table(ours, theirs))
    if to is not None:
        to.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    late = missed(ours, theirs)
    if late:
        print("\nNot reached yet:", *late, sep="\n  ")
        if check:
            raise SystemExit(1)
