"""Measure mindtorch and, where there is one, PyTorch, in turn, and print both side by side.

python -m tools.bench                                  PyTorch of this environment, if it is installed
python -m tools.bench --torch-python VENV/bin/python   PyTorch of another one
python -m tools.bench --only softmax --rounds 4
python -m tools.bench distributed                      collectives and data parallel training on several processes
python -m tools.bench performance --page               large kernels and models, and the page that shows them
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.bench import report

ROOT = Path(__file__).parents[2]
#: Prints where a package called torch is, without importing it.
FIND_TORCH = "import importlib.util as u; spec = u.find_spec('torch'); print(spec.origin if spec else '')"


def has_pytorch(python: str) -> bool:
    """Whether an interpreter has PyTorch, told from a stand-in of that name by its compiled part."""
    found = subprocess.run([python, "-c", FIND_TORCH], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return any(Path(found.stdout.strip()).parent.glob("_C.*")) if found.stdout.strip() else False


def environment() -> dict[str, str]:
    """This environment, with bytecode kept, so that a checkout's imports are timed like an installed library's."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / f"bench-bytecode-{os.getuid()}")}


def run(python: str, module: str, *arguments: str) -> report.Seconds:
    """The measurements of one library, made in a process of their own."""
    command = [python, "-m", "tools.bench.measure", module, *arguments]
    finished = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=environment())
    return json.loads(finished.stdout)


def measure(libraries: dict[str, str], only: str, rounds: int, effort: int) -> dict[str, report.Seconds]:
    """Measure libraries in turn, A B A B, so that a machine that grows slower slows them all.

    Parameters
    ----------
    libraries
        Module -> the interpreter that has it.
    """
    runs: dict[str, list[report.Seconds]] = {module: [] for module in libraries}
    for number in range(rounds):
        for module, python in libraries.items():
            print(f"round {number + 1} of {rounds}: {module}", file=sys.stderr)
            runs[module].append(run(python, module, "--only", only, "--effort", str(effort)))
            if only in "larger/import":
                runs[module] += [run(python, module, "--import-time") for _ in range(effort)]
    return {module: report.fastest(found) for module, found in runs.items()}


def main() -> None:
    """Measure and print; with ``--check``, fail where a ratio is greater than what is to be reached."""
    if sys.argv[1:2] == ["distributed"]:
        from tools.bench import distributed  # lazy: it takes what is here

        return distributed.main(sys.argv[2:])
    if sys.argv[1:2] == ["performance"]:
        from tools.bench import performance  # lazy: it takes what is here

        return performance.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--torch-python", default=os.environ.get("BENCH_TORCH_PYTHON", sys.executable),
        help="an interpreter that has PyTorch; BENCH_TORCH_PYTHON where none is given",
    )  # fmt: skip
    parser.add_argument(
        "--only", default="", help="a part of the names of what is measured: 'softmax', '4x4, gradient'"
    )
    parser.add_argument("--rounds", type=int, default=2, help="how often the libraries take turns")
    parser.add_argument("--effort", type=int, default=7, help="how many batches the fastest is taken of")
    parser.add_argument("--quick", action="store_true", help="one round with little effort, for a first look")
    parser.add_argument("--json", type=Path, help="write the seconds to a file too")
    parser.add_argument("--check", action="store_true", help="fail where a ratio is greater than what is to be reached")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.effort = 1, 2
    libraries = {"mindtorch": sys.executable}
    if has_pytorch(options.torch_python):
        libraries["torch"] = options.torch_python
    else:
        print("PyTorch is not installed here: mindtorch's own figures alone", file=sys.stderr)
    found = measure(libraries, options.only, options.rounds, options.effort)
    report.conclude(found, options.json, options.check)
    return None


if __name__ == "__main__":
    main()
