"""The CPU backend takes the exam; its oracle is what PyTorch gave for the same samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mt_core.dispatch.registry import find_overload
from mt_core.testing import BackendExam, StoredReference, declared_operators, read_gaps
from mt_core.testing.arguments import samples_on
from mt_core.testing.gaps import run_unless_known
from mt_core.testing.sample import public_results

FOLDER = Path(__file__).parent


class TestExam(BackendExam):
    device_type = "cpu"
    reference = StoredReference(
        FOLDER / "snapshots" / "samples",
        "run snapshots/make_samples.py with PyTorch 2.13; what PyTorch does not have, gaps.toml says",
    )
    gaps = read_gaps(FOLDER / "gaps.toml")


class TestRecording:
    """What requires grad when all inputs do is what PyTorch says."""

    gaps = TestExam.gaps

    def pytest_generate_tests(self, metafunc: Any) -> None:
        names = [o.name for o in declared_operators() if o.declaration.form == "functional"]
        metafunc.parametrize("operator", names)

    def test_recording(self, operator: str) -> None:
        testing = pytest.importorskip("mt_autograd.testing")
        overload = find_overload(operator)

        def compare() -> None:
            samples = list(samples_on(overload, "cpu", precise=True))
            for sample, flags in zip(samples, TestExam.reference.recorded(overload), strict=False):
                made = testing.Differentiation(overload, sample, "cpu")
                if flags is not None:
                    found = public_results(operator, made.recorded())
                    assert found == flags, f"{made.name}: {found}, where PyTorch has {flags}"

        run_unless_known(self.gaps, "recording", operator, compare)
