"""Elementwise functions of the native library are as exact as is recorded: within 2 ulp, or PyTorch's own error.

The samples are some of those by which `snapshots/make_native_accuracy.py` measured; ``--check`` of it takes all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mt_backend_cpu import native
from mt_core.dispatch.lookup import kernels_of
from mt_core.dispatch.registry import find_overload
from mt_core.keys import CPU
from mt_core.testing.namespace import namespace

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "snapshots"))

import native_accuracy as accuracy
from native_calls import is_native, native_operators

pytestmark = pytest.mark.skipif(native.library is None, reason="the native library is not used")

torch = namespace()
RECORDED = accuracy.recorded()
#: Every how many of the samples is tried here.
STEP = 64
#: Operators of integers, which are exact.
OF_INTEGERS = {"remainder.Scalar", "remainder.Tensor"}


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    level = native.library.level()
    yield
    native.library.use_level(level)


@pytest.mark.parametrize("name", accuracy.FUNCTIONS)
def test_errors_are_within_what_is_recorded(name: str) -> None:
    for level in native.library.levels():
        native.library.use_level(level)
        found = accuracy.largest(*accuracy.measure(torch, name, STEP))
        allowed = {**RECORDED["pytorch"][name], **RECORDED["ours"].get(name, {}).get(level, {})}
        assert accuracy.worse(found, allowed) == {}, level


def of_numpy(name: str) -> bool:
    """Whether the library divides NumPy's own loop of an operator among threads: what it computes is NumPy's."""
    functions = [k.function for k in kernels_of(find_overload(name), CPU) if is_native(k.function)]
    return all(
        type(f).__name__ == "Loops" or f.__module__.endswith("_power") or name.startswith("fmod") for f in functions
    )


def test_all_elementwise_operators_of_the_library_are_measured() -> None:
    def functional(name: str) -> str:
        return find_overload(name).declaration.functional or name

    elementwise = {n for n in native_operators() if find_overload(functional(n)).declaration.kind == "elementwise"}
    measured = {name.partition(",")[0] for name in accuracy.FUNCTIONS}
    assert measured <= elementwise
    assert {name for name in elementwise - measured - OF_INTEGERS if not of_numpy(name)} == set()


def test_errors_are_counted_in_units_of_the_exact_result() -> None:
    one = np.float32(1)
    exact = np.array([1.0, 1.0, np.inf, 0.0, np.nan, 2.0**-149, 1.0])
    found = np.array([one, np.nextafter(one, 2, dtype=np.float32), np.inf, -0.0, 5, 0, np.nan], np.float32)
    assert accuracy.errors(found, exact).tolist() == [0, 1, 0, np.inf, np.inf, 1, np.inf]
    kinds = np.array([7, 7, 7, 8, 9, 10, 10])
    assert accuracy.largest(accuracy.errors(found, exact) * 2.5, kinds) == {
        "7": 2.5, "8": np.inf, "9": np.inf, "10": np.inf,
    }  # fmt: skip
    assert accuracy.worse({"7": 2.5, "8": 3.0}, {"8": 3.0}) == {"7": 2.5}


def test_a_less_exact_function_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = accuracy.FUNCTIONS["tanh"]
    shifted = exact._replace(call=lambda torch, x: torch.tanh(x) * (1 + 4e-7))
    monkeypatch.setitem(accuracy.FUNCTIONS, "tanh", shifted)
    assert accuracy.worse(accuracy.largest(*accuracy.measure(torch, "tanh", STEP)), RECORDED["pytorch"]["tanh"])
