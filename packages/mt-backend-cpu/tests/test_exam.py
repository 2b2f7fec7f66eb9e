"""The CPU backend takes the exam; its oracle is what PyTorch gave for the same samples."""

from __future__ import annotations

from pathlib import Path

from mt_core.testing import BackendExam, StoredReference, read_gaps

FOLDER = Path(__file__).parent


class TestExam(BackendExam):
    device_type = "cpu"
    reference = StoredReference(
        FOLDER / "snapshots" / "samples", "make them with PyTorch 2.13: snapshots/make_samples.py"
    )
    gaps = read_gaps(FOLDER / "gaps.toml")
