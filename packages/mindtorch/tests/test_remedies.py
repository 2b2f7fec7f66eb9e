"""What remedies and extras name can be installed today: nothing is on an index, so they name paths of a clone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mt_core.plugins.discovery import entry_points_of
from mt_core.plugins.unavailable import UnavailableBackend

PACKAGES = Path(__file__).parents[2]
if not (PACKAGES / "mt-core" / "pyproject.toml").is_file():
    pytest.skip("the other distributions are part of the repository", allow_module_level=True)

OWN = {path.parent.name for path in PACKAGES.glob("*/pyproject.toml")}
SOURCES = [*PACKAGES.glob("*/src/**/*.py"), *PACKAGES.glob("*/README.md"), *PACKAGES.parent.glob("*.md")]
SOURCES += PACKAGES.parent.glob("docs/**/*.md")
#: What an own or a foreign distribution is called in a command; options, quotes and version bounds left out.
COMMAND = re.compile(r"pip install ((?:(?:-e |-q |--[\w-]+ )?['\"]?[\w./<>=\[\]-]+['\"]?,?[ \n]?)+)")
ON_AN_INDEX = {"mindspore", "numpy", "pytest", "hypothesis", "ruff", "mypy"}


def named(text: str) -> list[str]:
    """The first word of every ``pip install``, and what follows as far as it looks like a distribution or path."""
    words = [word for command in COMMAND.findall(text) for word in command.split()]
    return [re.split(r"[<>=\[]", word.strip("'\",."))[0] for word in words if not word.startswith("-")]


def commands() -> list[tuple[str, str]]:
    return [
        (str(path.relative_to(PACKAGES.parent)), line)
        for path in SOURCES
        for line in path.read_text(encoding="utf-8").splitlines()
        if "pip install" in line
    ]


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 5
    assert named("pip install packages/mt-core 'numpy<2'") == ["packages/mt-core", "numpy"]


@pytest.mark.parametrize(("path", "line"), commands())
def test_every_command_names_what_can_be_installed(path: str, line: str) -> None:
    for word in named(line):
        if word.startswith("packages/"):
            assert word.removeprefix("packages/") in OWN, f"{path} names {word}"
        else:
            assert word not in OWN, f"{path}: {word} is on no package index; name its path in a clone"


def test_extras_install_what_has_kernels_and_no_more() -> None:
    tomllib = pytest.importorskip("tomllib")
    extras = tomllib.loads((PACKAGES / "mindtorch" / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    places = {point.distribution for point in entry_points_of("mindtorch.backends") if _is_a_place(point)}
    # What compiles programs of the CPU is of use where its device is not there.
    places -= {point.distribution for point in entry_points_of("mindtorch.compilers")}
    for extra, requirements in extras.items():
        for requirement in requirements:
            assert re.split(r"[<>=;\[ ]", requirement)[0] not in places, f"mindtorch[{extra}] installs {requirement}"
    assert "all" in extras


def _is_a_place(point) -> bool:
    return point.is_own and isinstance(point.load(), UnavailableBackend)


def test_what_needs_mindspore_bounds_numpy() -> None:
    tomllib = pytest.importorskip("tomllib")
    for path in PACKAGES.glob("*/pyproject.toml"):
        wanted = tomllib.loads(path.read_text())["project"]["dependencies"]
        if any(requirement.startswith("mindspore") for requirement in wanted):
            assert any(requirement.startswith("numpy") and "<2" in requirement for requirement in wanted), path
