"""Running programs under mindtorch in fresh interpreters."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="session")
def run_mindtorch(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run `mindtorch run SCRIPT ARGUMENT...` in an empty folder, without network; fail with its output if it fails."""
    folder = tmp_path_factory.mktemp("run")

    def run(script: Path, *arguments: object, timeout: float = 300) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "mindtorch", "run", str(script), *map(str, arguments)]
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "MPLCONFIGDIR": str(folder)}
        result = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert result.returncode == 0, f"{' '.join(command)}\n{result.stdout}\n{result.stderr}"
        return result

    return run


@pytest.fixture(scope="session")
def needs() -> Callable[..., None]:
    """Skip a test unless the packages it uses are installed."""

    def check(*packages: str) -> None:
        missing = [package for package in packages if importlib.util.find_spec(package) is None]
        if missing:
            pytest.skip(f"not installed: {', '.join(missing)}")

    return check
