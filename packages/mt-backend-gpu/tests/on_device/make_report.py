"""Take the whole exam on a real device and write ``exam_report.json`` into the package: ``make_report.py COMMIT``.

A second argument is another file to write.

Processes share the work. With PyTorch's CUDA build beside, its figures are measured in the same run.
"""

from __future__ import annotations

import collections
import datetime
import importlib.util
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from mt_backend_gpu.report import PATH

HERE = Path(__file__).parent
PROCESSES = max(1, (os.cpu_count() or 2) - 2)


def exam(folder: Path) -> tuple[int, int, list[Any]]:
    """How many checks were taken, how many of them are known gaps, and which failed."""
    parts = [folder / f"part{i}.json" for i in range(1, PROCESSES + 1)]
    command = [sys.executable, str(HERE.parent / "take_exam.py"), "--derivatives", "0.1"]
    running = [
        subprocess.Popen([*command, "--part", f"{i}/{PROCESSES}", "--report", str(path)], stdout=subprocess.DEVNULL)
        for i, path in enumerate(parts, 1)
    ]
    for process in running:
        process.wait()
    found = [json.loads(path.read_text(encoding="utf-8")) for path in parts]
    taken = sum((collections.Counter(part["taken"]) for part in found), collections.Counter[str]())
    return sum(taken.values()), sum(part["known"] for part in found), [f for part in found for f in part["failed"]]


def figures(folder: Path) -> dict[str, Any]:
    """What `measure` says of mindtorch, and of PyTorch where it is installed."""
    found = {}
    for module in ("mindtorch", "torch"):
        if importlib.util.find_spec(module) is not None:
            path = folder / f"{module}.json"
            subprocess.run([sys.executable, str(HERE / "measure.py"), module, str(path)], check=True)
            found[module] = json.loads(path.read_text(encoding="utf-8"))
    return found


def main() -> None:
    commit, path = sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else PATH
    folder = path.parent
    taken, known, failed = exam(folder)
    api = cupy.cuda.runtime
    device, driver = api.getDeviceProperties(0), api.driverGetVersion()
    report = {
        "commit": commit, "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "device": device["name"].decode(), "capability": f"{device['major']}.{device['minor']}",
        "driver": f"{driver // 1000}.{driver % 1000 // 10}", "cupy": cupy.__version__, "numpy": np.__version__,
        "python": platform.python_version(), "passed": taken - known - len(failed), "known": known,
        "failed": len(failed), "failures": failed, "figures": figures(folder),
    }  # fmt: skip
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
