"""Small and large calls, models and growing kernels beside PyTorch's, in turn, by one and by two threads.

python -m tools.bench performance --torch-python VENV/bin/python --page      docs/performance.md and its pictures
python -m tools.bench performance --only conv --rounds 2                     a first look
python -m tools.bench performance --compare HEAD~3                           what got slower since a commit
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tools.bench import in_turn, instructions, performance_page
from tools.bench.in_turn import Library

__all__ = ["main", "slower"]

ROOT = Path(__file__).parents[2]
#: What takes more than this much of what it took before got slower: by instructions, and by time.
MORE_INSTRUCTIONS, MORE_TIME = 1.03, 1.1


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
    """Build a checkout's native library beside its package, as its own build hook does, or take ours of its sources."""
    spec = importlib.util.spec_from_file_location("hatch_build", package / "hatch_build.py")
    if spec is None or spec.loader is None or not (package / "native").is_dir():
        return
    hook: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    name = f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = package / "src" / "mt_backend_cpu" / "native_sources.py"
    names = runpy.run_path(str(sources)) if sources.is_file() else vars(hook)  # where earlier commits have it
    wanted = f"{names['source_hash'](package / 'native')}-{hook.numpy_series()}"
    target = package / "src" / "mt_backend_cpu" / name
    ours = ROOT / "packages" / "mt-backend-cpu" / "src" / "mt_backend_cpu" / name
    if ours.is_file() and wanted.encode() in ours.read_bytes():
        shutil.copyfile(ours, target)
    else:
        hook.build(package / "native", wanted, target)


def slower(ours: dict[str, float], before: dict[str, float], bound: float) -> list[str]:
    """Measurements that take more than `bound` times what they took before, the worst first."""
    ratios = {name: ours[name] / before[name] for name in ours if name in before}
    worst = sorted((name for name, ratio in ratios.items() if ratio > bound), key=lambda name: -ratios[name])
    return [f"{name}: {ratios[name]:.3f}" for name in worst]


def compare(revision: str, options: argparse.Namespace) -> dict[str, dict[str, dict[str, float]]]:
    """Measure beside a commit, and print what got slower: by instructions where they can be counted, else by time."""
    ours = Library(sys.executable, "mindtorch")
    with _sources_of(revision) as environment:
        before = Library(sys.executable, "mindtorch", environment)
        if options.by == "instructions":
            sides = {"mindtorch": ours, "before": before}
            found = {name: {"1": instructions.count(side, options.only)} for name, side in sides.items()}
        else:
            # The interpreter of an editable install finds our packages by itself; the commit's stand before them.
            measured = in_turn.measure(
                {"mindtorch": ours, "before": before}, options.only, options.rounds, options.pace
            )
            found = measured.seconds
            for name, words in measured.errors.items():
                print(f"{name} failed: {words}")
    bound = MORE_INSTRUCTIONS if options.by == "instructions" else MORE_TIME
    for threads, figures in found["mindtorch"].items():
        late = slower(figures, found["before"][threads], bound)
        title = f"threads {threads}, by {options.by}, more than {bound:g} times what {revision} takes:"
        print(title, *(late or ["nothing"]), sep="\n  ")
    return found


def main(arguments: list[str]) -> None:
    """Measure, and print, write or compare."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench performance", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--torch-python", default=os.environ.get("BENCH_TORCH_PYTHON", sys.executable),
        help="an interpreter that has PyTorch; BENCH_TORCH_PYTHON where none is given",
    )  # fmt: skip
    parser.add_argument("--only", default="", help="a part of the names of what is measured: 'conv', 'backward/'")
    parser.add_argument("--rounds", type=int, default=6, help="how many turns each side has at a call")
    parser.add_argument("--pace", type=float, default=1.0, help="what the length of turns is multiplied by")
    parser.add_argument("--json", type=Path, help="write what was measured to a file")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md and its pictures")
    parser.add_argument("--compare", metavar="REV", help="measure beside a commit in PyTorch's place")
    parser.add_argument(
        "--by", choices=("instructions", "time"), default="instructions" if instructions.available() else "time",
        help="what is compared with a commit: by default instructions, where there is valgrind",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    if options.compare:
        kept: dict[str, object] = {"measured": compare(options.compare, options), "by": options.by}
    else:
        libraries = {"mindtorch": Library(sys.executable, "mindtorch"), "torch": Library(options.torch_python, "torch")}
        found = in_turn.measure(libraries, options.only, options.rounds, options.pace, machine=options.page)
        about = performance_page.about(options.rounds)
        print(performance_page.page(found, about))
        if options.page:
            performance_page.write(found, about, ROOT / "docs")
        kept = {**about, "seconds": found.seconds, "errors": found.errors, "machine": found.machine}
    if options.json is not None:
        options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
