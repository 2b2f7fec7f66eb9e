"""Kernels that third parties register by `torch.library` for their device: under a name of its own, and renamed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mt_core.plugins.discovery import register_backend
from mt_core.testing.boxed_backend import BoxedBackend

from . import third_party_programs
from .third_party_programs import PROGRAMS

register_backend(BoxedBackend("own"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_device_type_of_its_own(program: Callable[[str], None]) -> None:
    program("own")


def test_the_private_type_renamed() -> None:
    """A process renames it once; its programs run in one of their own."""
    command = [sys.executable, str(Path(third_party_programs.__file__)), "renamed"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [program.__name__ for program in PROGRAMS]
