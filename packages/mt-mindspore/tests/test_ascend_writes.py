"""What Ascend's primitives are asked to write, by a stand-in: numbers, and results in their first operand."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_mindspore.array import MindSporeArray
from mt_mindspore.backend import TARGETS, MindSporeBackend
from mt_mindspore.dtypes import DtypeMap
from mt_mindspore.memory import Memory
from mt_mindspore.registry import filling


class Names:
    """Stands in for a module: each name is itself."""

    def __getattr__(self, name: str) -> str:
        return name


@pytest.fixture
def asked() -> list[tuple[Any, ...]]:
    return []


@pytest.fixture
def backend(asked: list[tuple[Any, ...]]) -> MindSporeBackend:
    def primitive(name: str) -> Callable[[], Callable[..., None]]:
        return lambda: lambda *given: asked.append((name, *given))

    generated = SimpleNamespace(as_strided=None, copy_op=None)
    for name in ("InplaceCopy", "InplaceFillScalar", "InplaceZero"):
        setattr(generated, name, primitive(name))
    module = SimpleNamespace(
        ops=SimpleNamespace(auto_generate=generated), mint=Names(), bfloat16="bfloat16", int16="int16",
        Tensor=SimpleNamespace(from_numpy=None),
    )  # fmt: skip
    made = MindSporeBackend("npu", "Ascend")
    vars(made)["memory"] = Memory(module, DtypeMap(Names(), "npu", TARGETS["Ascend"]), writes_views=True)
    return made


def array_of(tensor: str, dtype: Any, strides: tuple[int, ...] = (4,)) -> MindSporeArray:
    return MindSporeArray(tensor, "storage", (3,), strides, 0, dtype.numpy_dtype)


@pytest.mark.parametrize(
    ("number", "dtype", "wanted"),
    [
        (0, mt_core.float32, ("InplaceZero", "view")),
        (False, mt_core.bool, ("InplaceZero", "view")),
        (2.5, mt_core.float32, ("InplaceFillScalar", "view", 2.5)),
        (np.float64(0.1), mt_core.float32, ("InplaceFillScalar", "view", float(np.float32(0.1)))),
        (300, mt_core.uint8, ("InplaceFillScalar", "view", 44)),  # as PyTorch wraps around
        (1 / 3, mt_core.bfloat16, ("InplaceFillScalar", "view", 0.333984375)),
    ],
)
def test_numbers_are_written_into_views(
    number: Any, dtype: Any, wanted: tuple[Any, ...], backend: MindSporeBackend, asked: list[tuple[Any, ...]]
) -> None:
    backend.fill(array_of("view", dtype), number, dtype)
    assert asked == [wanted]


def test_the_negative_zero_is_a_number_of_its_own(backend: MindSporeBackend, asked: list[tuple[Any, ...]]) -> None:
    backend.fill(array_of("view", mt_core.float32), -0.0, mt_core.float32)
    ((name, _, value),) = asked
    assert name == "InplaceFillScalar" and np.signbit(value)


def test_elements_that_share_memory_are_left_to_copies(backend: MindSporeBackend, asked: list[tuple[Any, ...]]) -> None:
    assert not backend.memory.filled(array_of("view", mt_core.float32, strides=(0,)), 1.0)
    assert not asked


def test_results_are_written_where_they_are_asked_for(
    backend: MindSporeBackend, asked: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into the first operand by the primitive, into another array by a copy; what declines is not believed."""
    monkeypatch.setattr(backend, "copy", lambda target, made: asked.append(("copy", target, made)))
    first, other = array_of("first", mt_core.float32), array_of("other", mt_core.float32)

    def run(*args: Any) -> str:
        asked.append(("run", *args))
        return "made"

    def write(*args: Any) -> bool:
        asked.append(("write", *args))
        return args[-1] != 7

    fill = filling(backend, run, write)
    assert fill(first, other, out=first) is first
    assert asked == [("write", "first", "other")]
    asked.clear()
    assert fill(first, other, out=other) is other
    assert asked == [("run", first, other), ("copy", other, "made")]
    asked.clear()
    assert fill(first, 7, out=first) is first
    assert asked == [("write", "first", 7), ("run", first, 7), ("copy", first, "made")]
    asked.clear()
    assert fill(first, other) == "made" and asked == [("run", first, other)]
