"""The page of measurements and its pictures."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.bench.groups import GROUPS
from tools.bench.report import geometric_mean

if TYPE_CHECKING:
    from tools.bench.in_turn import Measured

__all__ = ["about", "page", "write"]

ROOT = Path(__file__).parents[2]
_SIDES = (("mindtorch", "mindtorch"), ("torch", "PyTorch"))


def about(rounds: int) -> dict[str, Any]:
    """When, of what and on what is measured."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "commit": _commit(),
        "processor": _processor(), "processors": os.cpu_count(), "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"), "rounds": rounds,
    }  # fmt: skip


def _commit() -> str:
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return told.stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _ratios(found: Measured, threads: str) -> dict[str, float]:
    ours, theirs = found.seconds["mindtorch"][threads], found.seconds["torch"][threads]
    return {name: ours[name] / theirs[name] for name in ours if not name.startswith("growth/")}


def _members(ratios: dict[str, float], group: str) -> dict[str, float]:
    return {name.partition("/")[2]: ratio for name, ratio in ratios.items() if name.startswith(f"{group}/")}


def page(found: Measured, about: dict[str, Any]) -> str:
    """Means by group beside what is to be reached, then each ratio, then what failed."""
    tables = {threads: _ratios(found, threads) for threads in found.seconds["mindtorch"]}
    lines = [
        "# Speed beside PyTorch", "",
        f"{about['date']}, commit {about['commit']}, {about['processor']}, {about['processors']} processors,",
        f"Python {about['python']}, NumPy {about['numpy']}. Both sides live at once and take {about['rounds']} turns",
        "of milliseconds at each call; the least time counts.",
        "", "Ratios of time, ours to PyTorch's: below 1 we are faster.", "",
        "| group | threads | calls | geometric mean | reach | largest | reach | above it |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for group, of_group in GROUPS.items():
        for threads, ratios in tables.items():
            members = _members(ratios, group)
            if members and of_group.reach is not None:
                mean, largest = of_group.reach
                worst = max(members, key=lambda name: members[name])
                middle = geometric_mean(list(members.values()))
                lines.append(
                    f"| {group} | {threads} | {len(members)} | {middle:.2f} | {mean:g} | "
                    f"{members[worst]:.2f} ({worst}) | {largest:g} | {sum(r > largest for r in members.values())} |"
                )
    for name, words in found.errors.items():
        lines += ["", f"Not measured: {name}: {words}"]
    lines += ["", "![Ratios by call](performance-ratios.svg)"]
    for group in GROUPS:
        by_threads = {threads: _members(ratios, group) for threads, ratios in tables.items()}
        lines += _table(group, {threads: members for threads, members in by_threads.items() if members}, found)
    return "\n".join([*lines, ""])


def _table(group: str, by_threads: dict[str, dict[str, float]], found: Measured) -> list[str]:
    """The ratios of a group, the largest first, with our microseconds."""
    if not by_threads:
        return []
    head = "".join(f" {threads} thread{'s' * (threads != '1')} | ours, µs |" for threads in by_threads)
    lines = ["", f"## {group[0].upper()}{group[1:]}", "", f"| call |{head}", "|---|" + "---:|---:|" * len(by_threads)]
    first = next(iter(by_threads.values()))
    for name in sorted(first, key=lambda name: -first[name]):
        cells = [
            f" {members[name]:.2f} | {found.seconds['mindtorch'][threads][f'{group}/{name}'] * 1e6:.4g} |"
            if name in members else " | |"
            for threads, members in by_threads.items()
        ]  # fmt: skip
        lines.append(f"| {name} |{''.join(cells)}")
    return lines


def _growth(found: Measured) -> str:
    bandwidth, peak = found.machine["bytes per second"], found.machine["operations per second"]
    return "\n".join([
        "", "## Growth with size", "",
        f"By one thread this machine copies {bandwidth / 1e9:.1f} GB/s, read and written bytes counted, and multiplies",
        f"matrices with {peak / 1e9:.0f} GFLOP/s. The dashed lines are what these two allow.", "",
        "![Time over the number of elements](performance-growth.svg)", "",
    ])  # fmt: skip


def write(found: Measured, about: dict[str, Any], folder: Path) -> None:
    """Write performance.md, performance-ratios.svg and performance-growth.svg."""
    (folder / "performance.md").write_text(page(found, about) + _growth(found), encoding="utf-8")
    from tools.pages.plots import savefig, use_style  # optional: only who draws needs matplotlib

    use_style()
    _draw_ratios(found)
    savefig(folder / "performance-ratios.svg")
    _draw_growth(found)
    savefig(folder / "performance-growth.svg")


def _draw_ratios(found: Measured) -> None:
    """A line of points for each group, one for each call."""
    from matplotlib import pyplot as plt  # optional: as above

    tables = {threads: _ratios(found, threads) for threads in found.seconds["mindtorch"]}
    rows = [
        (f"{group}, {threads} thread{'s' * (threads != '1')}" if len(GROUPS[group].threads) > 1 else group, members)
        for group in GROUPS for threads, ratios in tables.items() if (members := _members(ratios, group))
    ]  # fmt: skip
    _, axis = plt.subplots(figsize=(7, 0.3 * len(rows) + 1))
    for row, (_, members) in enumerate(rows):
        axis.plot(list(members.values()), [-row] * len(members), "o", markersize=3.5, alpha=0.5, color="C0")
        axis.plot([geometric_mean(list(members.values()))], [-row], "D", markersize=6, color="C1")
    axis.plot([], [], "o", markersize=3.5, alpha=0.5, color="C0", label="a call")
    axis.plot([], [], "D", markersize=6, color="C1", label="geometric mean")
    axis.axvline(1.0, linewidth=1, color="C2")
    axis.set_yticks([-row for row in range(len(rows))], [name for name, _ in rows])
    axis.set_xscale("log")
    axis.set_xlabel("time, ours to PyTorch's")
    axis.legend(loc="lower right")


def _draw_growth(found: Measured) -> None:
    from matplotlib import pyplot as plt  # optional: as above

    bandwidth, peak = found.machine["bytes per second"], found.machine["operations per second"]
    moved = {"add": 12, "exp": 8, "sum": 4}  # bytes an element, at least
    _, axes = plt.subplots(1, 4, figsize=(10, 3))
    for name, axis in zip((*moved, "matmul"), axes, strict=True):
        sizes: list[int] = []
        for side, label in _SIDES:
            seconds = found.seconds[side]["1"]
            sizes = sorted(int(key.rpartition("/")[2]) for key in seconds if key.startswith(f"growth/{name}/"))
            times = [seconds[f"growth/{name}/{size}"] for size in sizes]
            axis.loglog(sizes, times, "o-", label=label, markersize=3)
        allowed = [2 * n**1.5 / peak if name == "matmul" else moved[name] * n / bandwidth for n in sizes]
        axis.loglog(sizes, allowed, "--", linewidth=0.9, color="C2", label="the machine's bound")
        axis.set_title(name)
        axis.set_xlabel("elements")
    axes[0].set_ylabel("seconds")
    axes[0].legend(fontsize=8)
