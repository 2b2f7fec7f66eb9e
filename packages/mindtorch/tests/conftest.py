"""Programs in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

#: The session ``tensorboard`` has that package, which brings many others.
collect_ignore = [] if find_spec("tensorboard") else ["test_tensorboard.py"]


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


@pytest.fixture
def make_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install a distribution with entry points and the module ``<name>_plugin`` for the interpreters of this test."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(site))

    def make(name: str, groups: dict[str, dict[str, str]], module: str) -> None:
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = []
        for group, points in groups.items():
            lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items())]
        (info / "entry_points.txt").write_text("\n".join(lines))
        (site / f"{name}_plugin.py").write_text(textwrap.dedent(module))

    return make
