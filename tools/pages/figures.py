"""Plots that are drawn from the tables of pages when the site is built."""

from __future__ import annotations

import re
from pathlib import Path

from matplotlib import pyplot as plt

from .plots import savefig, use_style

__all__ = ["draw_figures"]

ROW = re.compile(r"^\| (\w+) \| .*? \| (\d+) \| ([\de+-]+) \| [\d.]+ \| [\d.]+ \| agrees \|$", re.MULTILINE)
PICTURE = "![How far the numbers of each program are from PyTorch's: all below 1e-4, most near 1e-7](programs.svg)"


def draw_figures(folder: Path) -> None:
    """Draw beside the pages in a folder, and show there what was drawn.

    Raises
    ------
    ValueError
        When a page has no table to draw.
    """
    use_style()
    page = folder / "programs.md"
    text = page.read_text(encoding="utf-8")
    programs = [(name, int(values), float(apart)) for name, values, apart in ROW.findall(text)]
    if not programs:
        raise ValueError(f"{page} has no table of programs")
    _distances(programs, folder / "programs.svg")
    before, table = text.split("\n| program |", 1)
    page.write_text(f"{before}\n{PICTURE}\n\n| program |{table}", encoding="utf-8")


def _distances(programs: list[tuple[str, int, float]], path: Path) -> None:
    programs = sorted(programs, key=lambda program: program[2])
    least = 1e-16
    _, axes = plt.subplots(figsize=(7, 0.21 * len(programs) + 0.8))
    rows = range(len(programs))
    axes.hlines(rows, least, [max(apart, least) for _, _, apart in programs], linewidth=1, alpha=0.6)
    axes.plot([max(apart, least) for _, _, apart in programs], rows, "o", markersize=5)
    axes.axvline(2**-23, linewidth=1, linestyle="--", color=plt.rcParams["text.color"], alpha=0.6)
    axes.text(2**-23, len(programs), "one step of float32", ha="center", va="bottom", fontsize=9)
    axes.set(
        xscale="log", xlim=(least, 1e-3), ylim=(-0.7, len(programs)), xlabel="largest distance, relative to the tensor"
    )
    axes.set_yticks(rows, [name for name, _, _ in programs], fontsize=8.5)
    axes.grid(axis="y", visible=False)
    savefig(path)
