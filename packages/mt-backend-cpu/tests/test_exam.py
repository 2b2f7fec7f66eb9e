"""The CPU backend takes the exam."""

from __future__ import annotations

from pathlib import Path

from mt_core.testing import BackendExam, read_gaps


class TestExam(BackendExam):
    device_type = "cpu"
    gaps = read_gaps(Path(__file__).with_name("gaps.toml"))
