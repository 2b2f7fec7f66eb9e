"""The loss curve as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt

matplotlib.use("Agg")  # draws without a display


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """The mean of each value and up to `window - 1` values before it."""
    chunks = (values[max(0, end - window) : end] for end in range(1, len(values) + 1))
    return [sum(chunk) / len(chunk) for chunk in chunks]


def save_loss_curve(losses: Sequence[float], path: Path) -> None:
    """Draw the loss of every step and its running mean into a PNG file."""
    steps = range(1, len(losses) + 1)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(steps, losses, color="tab:blue", alpha=0.35, label="loss of a batch")
    axes.plot(steps, running_mean(losses, 10), color="tab:blue", label="mean of the last ten")
    axes.set(xlabel="step", ylabel="cross entropy", title="Which area does a docstring belong to?", ylim=(0, None))
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
