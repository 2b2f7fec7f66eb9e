"""The two interpreters that a run drives: one writes programs, the other replays them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "Process"]

ROOT = Path(__file__).parent.parent.parent


class Process:
    """A worker in an interpreter; started again where a program ends it."""

    def __init__(self, python: str, module: str) -> None:
        self.command = [python, "-m", "tools.fuzz.worker", module]
        self.ended: list[Any] = []
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer, or None where the request ended the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        status = self.process.wait()
        self.ended.append({"status": status, "request": request})
        self.start()
        return None

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
