"""What holds for every kernel of the native library, whichever they are: operators are found from the registry."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mt_backend_cpu import native
from mt_core.tensor import Tensor
from mt_core.testing.sample import TensorMaker

sys.path.insert(0, str(Path(__file__).parent))

from native_calls import Call, large_calls, native_operators, run

pytestmark = pytest.mark.skipif(native.library is None, reason="the native library is not used")


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    library: Any = native.library
    threads = library.num_threads()
    yield
    library.set_num_threads(threads)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "operator" in metafunc.fixturenames:
        metafunc.parametrize("operator", native_operators())


def same(found: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    return [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def test_results_depend_neither_on_threads_nor_on_alignment_nor_on_place(operator: str) -> None:
    call = next(large_calls(operator), None)
    assert call is not None, f"no large call of {operator} is known: make one in native_calls._MADE"
    check(call)


def check(call: Call) -> None:
    library: Any = native.library
    library.set_num_threads(1)
    expected = run(call)
    for shift in (1, 3):
        assert same(run(call, shift), expected), f"{call.origin}: other bits where memory begins elsewhere"
    for threads in (2, 3):
        library.set_num_threads(threads)
        assert same(run(call), expected), f"{call.origin}: other bits by {threads} threads"
    library.set_num_threads(1)
    if call.overload.declaration.kind == "elementwise":
        check_places(call, expected[0])


def check_places(call: Call, expected: np.ndarray) -> None:
    """Elements of the middle, computed alone, are what they are in the whole."""
    tensors = [a for a in call.args if isinstance(a, Tensor)]
    if any(t.shape != expected.shape for t in tensors):
        return  # broadcast: places are others
    for start, count in ((1, 1), (5, 30), (17, 100), (63, 1000)):
        part = tuple(
            TensorMaker().of(a._array.reshape(-1)[start : start + count], a.dtype) if isinstance(a, Tensor) else a
            for a in call.args
        )
        found = run(Call(call.overload, part, call.origin))[0]
        wanted = expected.reshape(-1)[start : start + count]
        assert found.tobytes() == wanted.tobytes(), f"{call.origin}: other bits at place {start} of a row"


def test_the_library_has_operators() -> None:
    assert len(native_operators()) > 100


class Faulty:
    """In an operator's place: elementwise, and wrong by something that no result may depend on."""

    class declaration:
        kind = "elementwise"

    def __init__(self, wrong: Any) -> None:
        self.wrong = wrong

    def call(self, x: Tensor) -> Tensor:
        return x + self.wrong(x._array)


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("by 2 threads", lambda array: native.library.num_threads() - 1),
        ("memory begins elsewhere", lambda array: array.ctypes.data % 64),
        ("at place 1 of a row", lambda array: 1 if array.size == 1 else 0),
    ],
)
def test_a_fault_is_caught(words: str, wrong: Any) -> None:
    call: Any = Call(Faulty(wrong), (TensorMaker()(200, 100),), "faulty")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=words):
        check(call)
    check(call._replace(overload=Faulty(lambda array: 1)))
