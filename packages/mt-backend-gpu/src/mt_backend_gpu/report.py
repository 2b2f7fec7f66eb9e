"""The last run of the exam on a device: ``exam_report.json``, which that run wrote, beside this file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["PATH", "last_run", "read_report"]

PATH = Path(__file__).with_name("exam_report.json")


def read_report() -> dict[str, Any] | None:
    """What was found; None where nothing was run yet."""
    if not PATH.is_file():
        return None
    found: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def last_run() -> str:
    """In one line: where, when and of which commit the exam was taken, and how it ended."""
    found = read_report()
    if found is None:
        return "not yet run on a GPU"
    return (
        f"exam last taken at commit {found['commit']} on {found['device']} (CuPy {found['cupy']}, driver CUDA "
        f"{found['driver']}): {found['passed']} checks passed, {found['known']} known gaps, {found['failed']} failed"
    )
