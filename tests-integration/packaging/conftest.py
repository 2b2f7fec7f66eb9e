"""Fresh environments that hold the built wheels; run by `./dev packaging`, which builds them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--distributions", type=Path, required=True, help="the folder of the built wheels and sdists")


@dataclass(frozen=True)
class Environment:
    """A virtual environment of its own, filled from outside (it holds no pip)."""

    root: Path

    @property
    def scripts(self) -> Path:
        return self.root / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> Path:
        return self.scripts / "python"

    def pip(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", *arguments]
        return _run(command)

    def broken_requirements(self) -> list[str]:
        """What `pip check` finds missing."""
        command = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check", "check"]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        return process.stdout.splitlines() if process.returncode else []

    def run(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run a program in a fresh interpreter that sees this environment and nothing of the repository."""
        return _run([self.python, "-I", "-c", textwrap.dedent(code)], cwd=self.root)

    def command(self, name: str, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        return _run([self.scripts / name, *arguments], cwd=self.root, status=status)


def _run(command: list[object], cwd: Path | None = None, status: int = 0) -> subprocess.CompletedProcess[str]:
    process = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert process.returncode == status, f"{command}\n{process.stdout}\n{process.stderr}"
    return process


@pytest.fixture(scope="session")
def distributions(request: pytest.FixtureRequest) -> Path:
    return request.config.getoption("--distributions").resolve()


@pytest.fixture(scope="session")
def wheels(distributions: Path) -> dict[str, Path]:
    """Distribution name to built wheel."""
    return {path.name.split("-")[0].replace("_", "-"): path for path in sorted(distributions.glob("*.whl"))}


@pytest.fixture(scope="session")
def build_wheel(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Build a project of this folder, as its author outside of this repository would."""

    def build(project: str) -> Path:
        target = tmp_path_factory.mktemp(project)
        _run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", target, HERE / project])
        return next(target.glob("*.whl"))

    return build


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path]) -> Callable[..., Environment]:
    """Make an environment of exactly these wheels and what they need from outside of this repository."""

    def make(*names: str | Path, check: bool = True) -> Environment:
        root = tmp_path_factory.mktemp("environment")
        venv.create(root, with_pip=False)
        made = Environment(root)
        made.pip("install", "--quiet", "numpy", "ml-dtypes")
        made.pip(
            "install", "--quiet", "--no-deps", *(wheels[name] if isinstance(name, str) else name for name in names)
        )
        assert not check or made.broken_requirements() == []
        return made

    return make
