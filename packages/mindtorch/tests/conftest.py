"""Programs in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., str]:
    """Run a program text in a fresh interpreter and an empty folder; returns what it printed."""

    def run(program: str) -> str:
        command = [sys.executable, "-c", textwrap.dedent(program)]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


@pytest.fixture
def run_mindtorch(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """Run the command ``mindtorch`` in an empty folder."""

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "mindtorch", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run
