"""How long an all-reduce would take on more processes, simulated message by message from what was measured on two.

python -m tools.bench distributed --json found.json
python -m tools.bench.scaling found.json docs/scaling.svg

A message of b bytes takes ALPHA + b * BETA; both come from the times of two processes, which exchange n bytes once in
the tree and n/2 bytes twice in the ring. A rank sends one message and receives one at a time; to add up what came is
part of BETA. docs/distributed.md has the formulas, which the simulation gives where all ranks begin together.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from pathlib import Path

__all__ = ["fitted", "formula", "ring", "tree"]

UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20}
PROCESSES = (2, 4, 8, 16, 32, 64, 128, 256)
SIZES = (1 << 10, 1 << 20, 100 << 20)


def fitted(seconds: dict[str, float]) -> tuple[float, float]:
    """ALPHA and BETA from the times of all-reduces of two processes: the smallest, and the slope above 256 KB.

    Raises
    ------
    ValueError
        Where there is no measurement of two processes.
    """
    found = {}
    for name, value in seconds.items():
        match = re.fullmatch(r"all_reduce on 2/(\d+) (B|KB|MB)", name)
        if match:
            found[int(match[1]) * UNITS[match[2]]] = value
    if not found:
        raise ValueError("no all-reduce on 2 processes was measured")
    large = [value / size for size, value in found.items() if (256 << 10) <= size <= (16 << 20)]
    return min(found.values()), sorted(large)[len(large) // 2]


def ring(starts: list[float], size: float, alpha: float, beta: float) -> float:
    """When the last rank is done in a ring: each part goes round once to be added up, and once to be handed out.

    Parameters
    ----------
    starts
        When each rank begins.
    size
        Bytes.
    """
    count, clocks = len(starts), list(starts)
    for _ in range(2 * (count - 1)):
        clocks = [max(clocks[rank], clocks[rank - 1]) + alpha + size / count * beta for rank in range(count)]
    return max(clocks)


def tree(starts: list[float], size: float, alpha: float, beta: float) -> float:
    """When the last rank is done where ranks a power of two apart exchange all (recursive doubling).

    Raises
    ------
    ValueError
        Where the number of ranks is no power of two.
    """
    count, clocks = len(starts), list(starts)
    if count & (count - 1):
        raise ValueError(f"{count} ranks are no power of two")
    distance = 1
    while distance < count:
        clocks = [max(clocks[rank], clocks[rank ^ distance]) + alpha + size * beta for rank in range(count)]
        distance *= 2
    return max(clocks)


def formula(kind: str, count: int, size: float, alpha: float, beta: float) -> float:
    """The same in closed form, for ranks that begin together."""
    if kind == "ring":
        return 2 * (count - 1) * (alpha + size / count * beta)
    return math.log2(count) * (alpha + size * beta)


def plot(path: Path, alpha: float, beta: float) -> None:
    """Draw the time of an all-reduce over the number of processes, for ring and tree."""
    import matplotlib.pyplot as plt  # optional: only who draws needs it

    from tools.pages.plots import savefig, use_style  # needs matplotlib as well

    use_style()
    _, axes = plt.subplots(1, len(SIZES), figsize=(8, 3))
    for size, axis in zip(SIZES, axes, strict=True):
        for kind, simulate, style in (("ring", ring, "o-"), ("tree", tree, "s--")):
            times = [1e3 * simulate([0.0] * count, size, alpha, beta) for count in PROCESSES]
            axis.loglog(PROCESSES, times, style, label=kind, markersize=4)
        axis.set_title(f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB")
        axis.set_xlabel("processes")
        axis.set_xticks(PROCESSES[::2], [str(count) for count in PROCESSES[::2]], minor=False)
    axes[0].set_ylabel("all-reduce (ms)")
    axes[0].legend()
    savefig(path)


def main() -> None:
    """Print the figures as a table, and draw them."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path, help="what tools.bench distributed --json wrote")
    parser.add_argument("picture", type=Path, nargs="?", help="a file to draw to")
    options = parser.parse_args()
    alpha, beta = fitted(json.loads(options.measured.read_text(encoding="utf-8"))["mindtorch"])
    print(f"alpha {alpha * 1e6:.1f} us, beta {beta * 1e9:.3f} ns per byte ({1e-9 / beta:.2f} GB/s)")
    print("| processes |" + "".join(f" ring, {size >> 10} KB | tree, {size >> 10} KB |" for size in SIZES))
    print("|---" * (1 + 2 * len(SIZES)) + "|")
    for count in PROCESSES:
        both = [simulate([0.0] * count, size, alpha, beta) for size in SIZES for simulate in (ring, tree)]
        print(f"| {count} |" + "".join(f" {1e3 * value:.2f} ms |" for value in both))
    if options.picture is not None:
        plot(options.picture, alpha, beta)


if __name__ == "__main__":
    main()
