"""Autocast on devices other than the CPU: the lists of accelerators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mt_core
from mt_core import dtypes
from mt_core.dispatch.registry import find_overload
from mt_core.layers.autocast import is_enabled, set_enabled
from mt_core.layers.autocast_lists import ACCELERATOR, CPU
from mt_core.plugins.discovery import register_backend
from mt_core.tensor import Tensor
from mt_core.testing.boxed_backend import BoxedBackend
from mt_core.testing.sample import declared_operators

register_backend(BoxedBackend("boxed_cast"))


@pytest.fixture
def x() -> Iterator[Tensor]:
    set_enabled("boxed_cast", True)
    yield mt_core.rand(2, 2).to("boxed_cast")
    set_enabled("boxed_cast", False)


@pytest.mark.parametrize(
    ("call", "half", "single"),
    [
        (lambda x: mt_core.mm(x, x), dtypes.float16, dtypes.float16),
        (lambda x: mt_core.exp(x), dtypes.float32, dtypes.float32),
        (lambda x: x.sum(), dtypes.float32, dtypes.float32),
        (lambda x: x.norm(), dtypes.float32, dtypes.float32),
        (lambda x: mt_core.softmax(x, 0), dtypes.float32, dtypes.float32),
        (lambda x: mt_core.sum(x, dtype=dtypes.float16), dtypes.float16, dtypes.float16),
        (lambda x: mt_core.addcmul(x, x.float(), x), dtypes.float32, dtypes.float32),
        (lambda x: x + x, dtypes.float16, dtypes.float32),
        (lambda x: mt_core.relu(x), dtypes.float16, dtypes.float32),
    ],
)
def test_results_on_an_accelerator(call: Callable[[Tensor], Any], half: Any, single: Any, x: Tensor) -> None:
    assert call(x.half()).dtype is half and call(x).dtype is single
    assert call(x.double()).dtype in (dtypes.float64, dtypes.float16)


def test_a_loss_that_is_unsafe_in_half_types_is_refused(x: Tensor) -> None:
    with pytest.raises(RuntimeError, match="unsafe to autocast"):
        find_overload("binary_cross_entropy").call(x, x, None, 1)


def test_other_devices_are_left_alone(x: Tensor) -> None:
    on_cpu = mt_core.ones(2, 2)
    assert mt_core.mm(on_cpu, on_cpu).dtype is dtypes.float32
    assert is_enabled("boxed_cast") and not is_enabled("cpu")


@pytest.mark.parametrize("lists", [CPU, ACCELERATOR])
def test_the_lists_name_operators_that_there_are(lists: Any) -> None:
    known = {name for overload in declared_operators() for name in (overload.schema.name, overload.name)}
    named = lists.lower | lists.full | lists.result | lists.widest | lists.refused.keys()
    assert sorted(named - known) == []
