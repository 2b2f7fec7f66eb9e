"""Plots for pages: vector graphics whose text and axes take the colour of light and dark pages."""

from __future__ import annotations

import io
import re
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt

__all__ = ["COLOURS", "savefig", "use_style"]

#: What stands for the colour of the text until the file is written.
INK = "#010203"
#: Lines and areas, which are told apart on white and on black, and by people who see fewer colours.
COLOURS = ("#0e8fd1", "#e0761a", "#1fa37a", "#c65aa5", "#b8860b", "#6f7bd6")
#: A page sets `color-scheme`, which pictures in it follow; alone, the system's.
STYLE = "<style>svg{color:#2b2f36}@media (prefers-color-scheme:dark){svg{color:#d6dae0}}</style>"


def use_style() -> None:
    """Figures that are 7 by 3.5 inches, without a ground, with few lines."""
    matplotlib.use("Agg")  # draws without a display
    plt.rcParams.update(
        {
            "figure.figsize": (7, 3.5),
            "figure.constrained_layout.use": True,
            "font.size": 11,
            "font.family": "sans-serif",
            "svg.fonttype": "none",
            "svg.hashsalt": "mindtorch",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.alpha": 0.2,
            "legend.frameon": False,
            "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
            **dict.fromkeys(
                ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), INK
            ),
        }
    )


def savefig(path: Path) -> None:
    """Write the current figure as SVG, the same bytes for the same figure, and close it."""
    buffer = io.StringIO()
    plt.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    plt.close()
    text = buffer.getvalue().replace(INK, "currentColor")
    text = re.sub(r"font-family: [^;\"]*", "font-family: system-ui, sans-serif", text)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px system-ui, sans-serif", text)
    text = re.sub(r"(<svg [^>]*>)", rf"\1\n {STYLE}", text, count=1)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    path.write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()), encoding="utf-8")
