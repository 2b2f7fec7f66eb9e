"""Kernels that third parties register by `torch.library` for their device: under a name of its own, and renamed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mt_core.dispatch.registry import DECLARATIONS
from mt_core.plugins.discovery import register_backend
from mt_core.testing.boxed_backend import BoxedBackend
from mt_library.library import Library

from . import third_party_programs
from .third_party_programs import PROGRAMS

register_backend(BoxedBackend("own"))


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Operators that a program declares are gone after it, so that no other test counts them among PyTorch's."""
    made: list[Library] = []
    begin = Library.__init__

    def record(self: Library, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(Library, "__init__", record)
    yield
    for library in made:
        library._destroy()
    assert not [name for name in DECLARATIONS if name.startswith("party_")]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_device_type_of_its_own(program: Callable[[str], None]) -> None:
    program("own")


def test_the_private_type_renamed() -> None:
    """A process renames it once; its programs run in one of their own."""
    command = [sys.executable, str(Path(third_party_programs.__file__)), "renamed"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [program.__name__ for program in PROGRAMS]
