"""Large kernels, models and growing kernels beside PyTorch's, in turn, by one and by two threads.

python -m tools.bench performance --torch-python VENV/bin/python --page      docs/performance.md and its pictures
python -m tools.bench performance --only conv --seconds 0.1                  a first look
python -m tools.bench performance --compare HEAD~3                           what got slower since a commit
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import json
import os
import platform
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tools.bench import report

__all__ = ["main", "page", "slower"]

ROOT = Path(__file__).parents[2]
THREADS = (1, 2)
#: Group -> the greatest geometric mean, and the greatest single ratio, that are meant to be reached.
REACH = {"forward": (0.9, 1.3), "backward": (0.9, 1.3), "training step": (0.7, 1.0), "forward pass": (0.7, 1.0)}
#: Settings that keep OpenBLAS from looking at the processor.
_UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

Found = dict[str, dict[str, report.Seconds]]


def _environment(more: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _UNSET} | more


def _run(python: str, module: str, threads: int, options: argparse.Namespace, more: dict[str, str]) -> report.Seconds:
    command = [python, "-m", "tools.bench.measure_large", module, f"--threads={threads}", f"--only={options.only}"]
    command += [f"--seconds={options.seconds}"] + ["--machine"] * options.page
    environment = _environment({"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), **more})
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout)


def measure(sides: dict[str, tuple[str, str, dict[str, str]]], options: argparse.Namespace) -> Found:
    """Name of a side -> threads -> seconds. Sides take turns, so that a machine that grows slower slows them all.

    Parameters
    ----------
    sides
        Name -> interpreter, module, environment.
    """
    runs: dict[str, dict[str, list[report.Seconds]]] = {name: {str(t): [] for t in THREADS} for name in sides}
    for number in range(options.rounds):
        for threads in THREADS:
            for name, (python, module, more) in sides.items():
                print(f"round {number + 1} of {options.rounds}, threads {threads}: {name}", file=sys.stderr)
                runs[name][str(threads)].append(_run(python, module, threads, options, more))
    return {name: {t: report.fastest(found) for t, found in of.items()} for name, of in runs.items()}


# What got slower


@contextlib.contextmanager
def _sources_of(revision: str) -> Iterator[dict[str, str]]:
    """The environment in which a commit's packages are imported, its native library built."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), revision], cwd=ROOT, check=True)
        try:
            _build(tree / "packages" / "mt-backend-cpu")
            paths = [str(path) for path in sorted(tree.glob("packages/*/src"))]
            yield {"PYTHONPATH": os.pathsep.join(paths)}
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def _build(package: Path) -> None:
    """Build a checkout's native library beside its package, as its own build hook does."""
    spec = importlib.util.spec_from_file_location("hatch_build", package / "hatch_build.py")
    if spec is None or spec.loader is None or not (package / "native").is_dir():
        return
    hook: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    suffix = importlib.import_module("sysconfig").get_config_var("EXT_SUFFIX")
    sources = package / "src" / "mt_backend_cpu" / "native_sources.py"
    names = runpy.run_path(str(sources)) if sources.is_file() else vars(hook)  # where earlier commits have it
    wanted = f"{names['source_hash'](package / 'native')}-{hook.numpy_series()}"
    hook.build(package / "native", wanted, package / "src" / "mt_backend_cpu" / f"_native{suffix}")


def slower(ours: report.Seconds, before: report.Seconds, bound: float = 1.1) -> list[str]:
    """Measurements that take more than `bound` times what they took before, the worst first."""
    ratios = {name: ours[name] / before[name] for name in ours if name in before and not name.startswith("machine/")}
    worst = sorted((name for name, ratio in ratios.items() if ratio > bound), key=lambda name: -ratios[name])
    return [f"{name}: {ratios[name]:.2f}" for name in worst]


# The page


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


def _ratios(found: Found, threads: str) -> dict[str, float]:
    ours, theirs = found["mindtorch"][threads], found["torch"][threads]
    return {
        name: ours[name] / theirs[name]
        for name in ours
        if name in theirs and not name.startswith(("machine/", "growth/"))
    }


def page(found: Found, heading: str) -> str:
    """The page of measurements: geometric means by group, then each ratio."""
    lines = ["# Speed beside PyTorch", "", heading, ""]
    lines += ["Ratios of time, ours to PyTorch's: below 1 we are faster.", ""]
    lines += ["| group | threads | geometric mean | reach | largest | reach |", "|---|---|---|---|---|---|"]
    tables = {threads: _ratios(found, threads) for threads in found["mindtorch"]}
    for group, (mean, largest) in REACH.items():
        for threads, ratios in tables.items():
            members = {name: ratio for name, ratio in ratios.items() if name.startswith(f"{group}/")}
            if members:
                worst = max(members, key=lambda name: members[name])
                lines.append(
                    f"| {group} | {threads} | {report.geometric_mean(list(members.values())):.2f} | {mean:g} | "
                    f"{members[worst]:.2f} ({worst.partition('/')[2]}) | {largest:g} |"
                )
    lines += ["", "![Ratios by kernel](performance-ratios.svg)", ""]
    lines += ["| measured | " + " | ".join(f"{threads} thread{'s' * (threads != '1')}" for threads in tables) + " |"]
    lines += ["|---" * (1 + len(tables)) + "|"]
    for name in next(iter(tables.values())):
        cells = [f"{ratios[name]:.2f}" if name in ratios else "" for ratios in tables.values()]
        lines.append(f"| {name.replace('/', ': ')} | " + " | ".join(cells) + " |")
    return "\n".join(lines + [""])


def _growth_lines(found: Found) -> list[str]:
    of_machine = found["mindtorch"]["1"]
    bandwidth, peak = of_machine["machine/bytes per second"], of_machine["machine/operations per second"]
    return [
        "## Growth with size", "",
        f"By one thread this machine copies {bandwidth / 1e9:.1f} GB/s, read and written bytes counted, and multiplies",
        f"matrices with {peak / 1e9:.0f} GFLOP/s. The dashed lines are what these two allow.", "",
        "![Time over the number of elements](performance-growth.svg)", "",
    ]  # fmt: skip


def _draw(found: Found, folder: Path) -> None:
    import matplotlib  # optional: only who draws needs it

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # optional: as above

    ratios = sorted(_ratios(found, "1").items(), key=lambda pair: pair[1])
    figure, axis = plt.subplots(figsize=(9, 0.16 * len(ratios) + 1), layout="constrained")
    axis.barh([name.replace("/", ": ") for name, _ in ratios], [ratio for _, ratio in ratios])
    axis.axvline(1.0, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_xlabel("time, ours to PyTorch's, one thread")
    axis.tick_params(axis="y", labelsize=6)
    axis.margins(y=0.005)
    figure.savefig(folder / "performance-ratios.svg")
    of_machine = found["mindtorch"]["1"]
    bandwidth, peak = of_machine["machine/bytes per second"], of_machine["machine/operations per second"]
    least = {"add": 12 / bandwidth, "exp": 8 / bandwidth, "sum": 4 / bandwidth}
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
    for name, axis in zip(("add", "exp", "sum", "matmul"), axes, strict=True):
        for side, label in (("mindtorch", "mindtorch"), ("torch", "PyTorch")):
            seconds = found[side]["1"]
            sizes = sorted(int(key.rpartition("/")[2]) for key in seconds if key.startswith(f"growth/{name}/"))
            axis.loglog(sizes, [seconds[f"growth/{name}/{size}"] for size in sizes], "o-", label=label, markersize=3)
        bound = [2 * size**1.5 / peak if name == "matmul" else least[name] * size for size in sizes]
        axis.loglog(sizes, bound, "k--", linewidth=0.8)
        axis.set_title(name)
        axis.set_xlabel("elements")
    axes[0].set_ylabel("seconds")
    axes[0].legend()
    figure.savefig(folder / "performance-growth.svg")


def main(arguments: list[str]) -> None:
    """Measure, and print, write or compare."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench performance", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--torch-python", default=os.environ.get("BENCH_TORCH_PYTHON", sys.executable),
        help="an interpreter that has PyTorch; BENCH_TORCH_PYTHON where none is given",
    )  # fmt: skip
    parser.add_argument("--only", default="", help="a part of the names of what is measured: 'conv', 'backward/'")
    parser.add_argument("--rounds", type=int, default=2, help="how often the sides take turns")
    parser.add_argument("--seconds", type=float, default=0.25, help="about how long each case is measured")
    parser.add_argument("--json", type=Path, help="write the seconds to a file")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md and its pictures")
    parser.add_argument("--compare", metavar="REV", help="measure beside a commit in PyTorch's place")
    options = parser.parse_args(arguments)
    ours = (sys.executable, "mindtorch", {})
    if options.compare:
        with _sources_of(options.compare) as environment:
            found = measure({"mindtorch": ours, "before": (sys.executable, "mindtorch", environment)}, options)
        for threads, seconds in found["mindtorch"].items():
            late = slower(seconds, found["before"][threads])
            print(f"threads {threads}, slower than {options.compare}:", *(late or ["nothing"]), sep="\n  ")
    else:
        found = measure({"mindtorch": ours, "torch": (options.torch_python, "torch", {})}, options)
        heading = (
            f"{datetime.date.today().isoformat()}, commit {_commit()}, {_processor()}, {os.cpu_count()} processors, "
            f"Python {platform.python_version()}. Sides took turns {options.rounds} times; the least time counts."
        )
        written = page(found, heading)
        print(written)
        if options.page:
            growth = "\n".join(_growth_lines(found))
            (ROOT / "docs" / "performance.md").write_text(f"{written}\n{growth}", encoding="utf-8")
            _draw(found, ROOT / "docs")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
