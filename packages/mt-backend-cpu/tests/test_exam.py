"""The CPU backend takes the exam; its oracle is what PyTorch gave for the same samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from mt_core.testing import BackendExam, StoredReference, examined_operators, read_gaps

FOLDER = Path(__file__).parent


class TestExam(BackendExam):
    device_type = "cpu"
    reference = StoredReference(
        FOLDER / "snapshots" / "samples",
        "run snapshots/make_samples.py with PyTorch 2.13; what PyTorch does not have, gaps.toml says",
    )
    gaps = read_gaps(FOLDER / "gaps.toml")


def test_recording(recording_operator: str) -> None:
    """What requires grad when all inputs do is what PyTorch says."""
    testing = pytest.importorskip("mt_autograd.testing")
    testing.check_recording(recording_operator, TestExam.reference, TestExam.gaps)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recording_operator" in metafunc.fixturenames:
        names = [o.name for o in examined_operators() if o.declaration.form == "functional"]
        metafunc.parametrize("recording_operator", names)
