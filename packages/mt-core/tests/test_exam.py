"""The exam itself: the null backend takes it, and it finds what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mt_core
from mt_core.dispatch.registry import KERNELS, find_overload, register_kernel
from mt_core.keys import CPU
from mt_core.testing import BackendExam, TensorMaker, read_gaps
from mt_core.testing.gaps import merge_gaps, run_unless_known
from mt_core.testing.proofs import registered_proof

NULL = registered_proof("null").backend


class TestNullBackend(BackendExam):
    device_type = "null"
    calculates = False
    gaps = merge_gaps(*(read_gaps(Path(__file__).with_name(f"{which}_gaps.toml")) for which in ("proof", "null")))


def test_null_backend_records_its_kernels() -> None:
    NULL.calls.clear()
    x = mt_core.empty(2, 3, device="null")
    y = (x + x).t().relu()
    assert y.device.type == "null" and tuple(y.shape) == (3, 2) and y.stride() == (1, 3)
    assert [name for name in NULL.calls if name in ("add.Tensor", "relu")] == ["add.Tensor", "relu"]


def test_null_backend_has_no_elements() -> None:
    with pytest.raises(NotImplementedError, match="device 'null' has no elements"):
        mt_core.empty(1, device="null").item()


def test_null_backend_records_gradients() -> None:
    pytest.importorskip("mt_autograd")
    x = mt_core.empty(2, 3, device="null").requires_grad_()
    y = (x * x).sum()
    assert y.requires_grad and type(y.grad_fn).__name__ == "SumBackward0"
    y.backward()
    assert x.grad.shape == x.shape and x.grad.device.type == "null"


def test_same_seed_same_elements_on_any_layout() -> None:
    plain, strided = TensorMaker("cpu")(3, 4), TensorMaker("cpu", strided=True)(3, 4)
    assert not strided.is_contiguous() and bool((plain == strided).all())


@pytest.fixture
def exchange_kernel():
    """Put another CPU kernel in an operator's place for one test."""
    saved = {}

    def exchange(name: str, function, **options: object) -> None:
        find_overload(name).cache.clear()
        mt_core.neg(mt_core.ones(1))  # the family's kernels are loaded
        saved[name] = KERNELS[CPU][name]
        register_kernel(CPU, (name,), function, **options)

    yield exchange
    for name, kernel in saved.items():
        KERNELS[CPU][name] = kernel
        find_overload(name).cache.clear()


@pytest.mark.parametrize(
    ("kernel", "check", "words"),
    [
        (lambda x: np.negative(x)[:1], "test_agrees_with_meta", "the shape rule"),
        (lambda x: np.negative(x, out=x), "test_agrees_with_meta", "was changed"),
        (lambda x: -x * (1 if x.flags.c_contiguous else 2), "test_strided_inputs", "neg"),
    ],
)
def test_exam_finds_a_wrong_kernel(exchange_kernel, kernel, check: str, words: str) -> None:
    exchange_kernel("neg", kernel)
    with pytest.raises((AssertionError, RuntimeError, ValueError), match=words):
        getattr(BackendExam(), check)("neg")


STRAY_SAMPLES = """
import importlib, pkgutil
from mt_core.testing import sample
families = {o.name: o.family for o in sample.declared_operators()}
rooms = importlib.import_module("mt_core.testing.samples.view").__package__
for module in pkgutil.iter_modules(importlib.import_module(rooms).__path__):
    before = {name: len(functions) for name, functions in sample._GENERATORS.items()}
    importlib.import_module(f"{rooms}.{module.name}")
    for name, functions in sample._GENERATORS.items():
        family = families.get(name)
        at_home = family is not None and (module.name == family or module.name.startswith(f"{family}_"))
        if len(functions) > before.get(name, 0) and not at_home:
            print(name, "of", family, "in", module.name)
"""


def test_samples_stand_in_the_room_of_their_operator() -> None:
    """Else which samples an operator has would depend on which rooms have been opened before."""
    command = [sys.executable, "-c", STRAY_SAMPLES]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert not found


def test_a_gap_that_passes_fails() -> None:
    with pytest.raises(AssertionError, match="remove it from gaps.toml"):
        run_unless_known({"check": {"add.Tensor": "not yet"}}, "check", "add.Tensor", lambda: None)


def test_a_known_gap_may_fail() -> None:
    def refuse() -> None:
        raise NotImplementedError

    run_unless_known({"check": {"add.Tensor": "not yet"}}, "check", "add.Tensor", refuse)
