"""Samples of dtypes that a device does not hold are left out of its exam, and are no failures of it."""

from __future__ import annotations

from typing import Any

import pytest

from mt_core import bool as boolean
from mt_core import dtype, float32, float64
from mt_core.dispatch.registry import find_overload
from mt_core.plugins.discovery import register_backend
from mt_core.testing import BackendExam, DeviceReference
from mt_core.testing.arguments import HOLDS_NONE, REFUSALS, Arguments, call_with, samples_on
from mt_core.testing.null_backend import NullBackend
from mt_core.testing.sample import TensorMaker, holds


class Single(NullBackend):
    """Holds no numbers of 64 bits of floating point, and no complex ones, as Ascend does not."""

    def from_host(self, array: Any, dtype: dtype, index: int | None) -> Any:
        if dtype.is_complex or dtype is float64:
            raise NotImplementedError(f"device 'singleprecision' holds no tensors of {dtype}")
        return super().from_host(array, dtype, index)


@pytest.fixture(scope="module")
def exam() -> BackendExam:
    register_backend(Single("singleprecision"))
    facts = {"device_type": "singleprecision", "calculates": False, "reference": DeviceReference("meta")}
    return type("Exam", (BackendExam,), facts)()


def test_a_device_is_asked_what_it_holds(exam: BackendExam) -> None:
    assert holds("singleprecision", float32) and holds("singleprecision", boolean)
    assert not holds("singleprecision", float64) and holds("cpu", float64)
    made = TensorMaker("singleprecision", strided=True)(2, 3, dtype=float64)
    assert made.device.type == "meta" and made.stride() == (6, 2) and made.dtype is float64


@pytest.mark.parametrize("name", ["add.Tensor", "cat", "mm", "abs", "where.self", "sort"])
def test_its_exam_leaves_the_others_out(name: str, exam: BackendExam) -> None:
    overload = find_overload(name)
    refused = taken = 0
    for sample in samples_on(overload, "singleprecision"):
        bound = Arguments(overload, sample).bound
        try:
            call_with(overload, bound, "singleprecision")
        except REFUSALS as error:  # the operator refuses some itself
            refused += HOLDS_NONE in str(error)
        else:
            taken += 1
    assert taken and refused
    exam.test_agrees_with_meta(name)
    exam.test_stays_on_its_device(name)
