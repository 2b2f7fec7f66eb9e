"""Measure all-reduces and data parallel training on several processes, beside PyTorch's Gloo, in turn.

python -m tools.bench distributed                              mindtorch, and PyTorch where this environment has it
BENCH_TORCH_PYTHON=VENV/bin/python python -m tools.bench distributed --processes 2 --rounds 3 --json found.json
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from tools.bench import report
from tools.bench.__main__ import ROOT, environment, has_pytorch

#: Seconds after which a run is given up.
LIMIT = 300


def run(python: str, module: str, processes: int, effort: int) -> report.Seconds:
    """What the first rank measured; any rank that fails, even at its end, fails the benchmark."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    world = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [python, "-m", "tools.bench.distributed_ranks", module, "--effort", str(effort)]
    ranks = [
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**environment(), **world, "OMP_NUM_THREADS": "1", "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    try:
        said = [rank.communicate(timeout=LIMIT)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    states = [rank.returncode for rank in ranks]
    if any(states):
        raise RuntimeError(f"ranks of {module} ended with {states}")
    return json.loads(said[0])


def main(arguments: list[str]) -> None:
    """Measure and print; with ``--check``, fail where a ratio is greater than what is to be reached."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench distributed", description=__doc__.splitlines()[0])
    python = os.environ.get("BENCH_TORCH_PYTHON", sys.executable)
    parser.add_argument("--torch-python", default=python, help="an interpreter that has PyTorch (BENCH_TORCH_PYTHON)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2, help="how often the libraries take turns")
    parser.add_argument("--effort", type=int, default=5, help="how many batches the fastest is taken of")
    parser.add_argument("--json", type=Path, help="write the seconds to a file too: tools.bench.scaling reads it")
    parser.add_argument("--check", action="store_true", help="fail where a ratio is greater than what is to be reached")
    options = parser.parse_args(arguments)
    libraries = {"mindtorch": sys.executable}
    if has_pytorch(options.torch_python):
        libraries["torch"] = options.torch_python
    else:
        print("PyTorch is not installed here: mindtorch's own figures alone", file=sys.stderr)
    runs: dict[str, list[report.Seconds]] = {module: [] for module in libraries}
    for number in range(options.rounds):
        for module, interpreter in libraries.items():
            print(f"round {number + 1} of {options.rounds}: {module}", file=sys.stderr)
            runs[module].append(run(interpreter, module, options.processes, options.effort))
    found = {module: report.fastest(several) for module, several in runs.items()}
    report.conclude(found, options.json, options.check)
