"""Order, remainders, transposition, sums by index, expanded gradients: at every level and number of threads."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_backend_cpu import native
from mt_core.testing.namespace import namespace

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mt_backend_cpu._native") is None, reason="the native library was not built"
)

GENERATOR = np.random.default_rng(0)


@pytest.fixture(scope="module")
def library() -> Any:
    return importlib.import_module("mt_backend_cpu._native")


@pytest.fixture(autouse=True)
def settings(library: Any) -> Iterator[None]:
    level, threads = library.level(), library.num_threads()
    yield
    library.use_level(level)
    library.set_num_threads(threads)


def variants(library: Any) -> Iterator[str]:
    """Each level of instructions, with one thread and with three."""
    for level, threads in itertools.product(library.levels(), (1, 3)):
        library.use_level(level)
        library.set_num_threads(threads)
        yield f"{level}, {threads} threads"


def _rows(element: str, shape: tuple[int, ...]) -> np.ndarray:
    """Rows with many equal elements, and what is special of their type."""
    x = GENERATOR.integers(-40, 40, shape).astype(element)
    special = [np.nan, -0.0, 0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, -np.nan]
    if element == "int32":
        special = [-(2**31), 2**31 - 1]
    flat = x.reshape(-1)
    flat[: len(special)] = special[: flat.size]
    return x


@pytest.mark.parametrize("element", ["float32", "int32"])
@pytest.mark.parametrize("shape", [(1,), (9,), (3, 300), (2, 3, 150), (5000,), (0, 4), (4, 0)])
def test_order_is_stable_and_puts_nan_last(library: Any, element: str, shape: tuple[int, ...]) -> None:
    x = _rows(element, shape)
    backwards = (shape[-1] - 1 - np.argsort(x[..., ::-1], -1, "stable"))[..., ::-1]
    for variant in variants(library):
        for descending, wanted in ((False, np.argsort(x, -1, "stable")), (True, backwards)):
            values, places = library.order(x, descending)
            assert np.array_equal(places, wanted), variant
            assert values.tobytes() == np.take_along_axis(x, wanted, -1).tobytes(), variant


@pytest.mark.parametrize("bits", [32, 64])
def test_remainders_have_the_sign_of_the_divisor(library: Any, bits: int) -> None:
    most = 1 << (bits - 1)
    element = np.dtype(f"int{bits}")
    x = np.concatenate([
        GENERATOR.integers(-most, most - 1, 500), GENERATOR.integers(-300, 300, 700),
        GENERATOR.integers(-(1 << (bits // 2)), 1 << (bits // 2), 300),
        [-most, most - 1, 0, -1, 1],
        [s * ((1 << k) % most) + d for s in (1, -1) for k in range(49, 54) for d in (-1, 0, 1)],
    ]).astype(element)  # fmt: skip
    divisors = [1, 2, 3, 7, 1000, 1024, most - 1, (1 << (bits // 2)) + 1, (1 << 30) - 1, (1 << (bits - 12)) + 1]
    for variant in variants(library):
        for number in (sign * d for sign in (1, -1) for d in divisors):
            for part in (x, x[:33]):
                assert np.array_equal(library.remainder(part, number), np.remainder(part, element.type(number))), (
                    variant
                )


def test_remainders_refuse_what_they_do_not_divide(library: Any) -> None:
    for x, number in (
        (np.arange(3), 0),
        (np.arange(3.0), 2),
        (np.arange(3, dtype="i4"), 1 << 31),
        (np.arange(6)[::2], 2),
    ):
        with pytest.raises(TypeError, match="remainder takes"):
            library.remainder(x, number)
    assert mt_core.tensor([5, -5]).remainder(-3).tolist() == [-1, -2]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        mt_core.tensor([5, -5]).remainder(0)


@pytest.mark.parametrize("element", ["uint8", "int16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("shape", [(16, 16), (64, 64), (100, 37), (1, 90), (3, 65, 129), (200, 5), (2, 70, 3, 40)])
def test_transposition(library: Any, element: str, shape: tuple[int, ...]) -> None:
    x = GENERATOR.integers(-100, 100, shape).astype(element)
    for variant in variants(library):
        for order in ((*range(len(shape) - 2), -1, -2), tuple(reversed(range(len(shape))))):
            turned = x.transpose(order)
            for source in (turned, turned[..., ::2]):
                target = np.zeros(source.shape, element)
                assert library.copy(target, source) in (True, False)
                if library.copy(target, source):
                    assert np.array_equal(target, source), variant


def test_where_rows_are_added_by_index(library: Any) -> None:
    for shape, dim, of_index in (((50, 7), 0, (4, 60)), ((3, 20, 5), 1, (400,)), ((6, 9), 1, ()), ((5,), 0, (3, 4))):
        size = shape[dim]
        index = GENERATOR.integers(-size, size, of_index)
        values = GENERATOR.integers(-9, 9, shape[:dim] + of_index + shape[dim + 1 :]).astype(np.float32)
        wanted = np.zeros(shape, np.float32)
        np.add.at(wanted, (slice(None),) * dim + (index,), values)
        before = [None] * dim
        for variant in variants(library):
            made = mt_core.zeros(shape).index_put([*before, mt_core.tensor(index)], mt_core.tensor(values), True)
            assert np.array_equal(made.numpy(), wanted), variant
    with pytest.raises(IndexError, match="out of bounds"):
        mt_core.zeros(4).index_put([mt_core.tensor([4])], mt_core.tensor([1.0]), True)


def _gradients(grad: Any, x: Any, weight: Any) -> list[Any]:
    calls = namespace()
    _result, mean, rstd = calls.native_layer_norm(x, [60], weight, weight, 1e-5)
    y = x.softmax(1)
    return [
        *calls.native_layer_norm_backward(grad, x, [60], mean, rstd, weight, weight, [True, True, True]),
        calls._softmax_backward_data(grad, y, 1, x.dtype), calls._log_softmax_backward_data(grad, y.log(), 1, x.dtype),
        grad + x, x * grad, grad - weight, calls.threshold_backward(grad, x, 0.1),
    ]  # fmt: skip


@pytest.mark.parametrize("layout", ["expanded", "transposed", "every other"])
def test_gradients_of_any_layout_give_what_their_copies_give(library: Any, layout: str) -> None:
    base = mt_core.tensor(GENERATOR.normal(size=(40, 60, 2)).astype(np.float32))
    if layout == "expanded":
        grad = base[:1, :1, 0].expand(40, 60)
    else:
        grad = base.reshape(60, 80).t()[:40] if layout == "transposed" else base[..., 0]
    x, weight = (mt_core.tensor(GENERATOR.normal(size=size).astype(np.float32)) for size in ((40, 60), (60,)))
    for variant in variants(library):
        wanted = _gradients(grad.clone(memory_format=mt_core.contiguous_format), x, weight)
        for found, copied in zip(_gradients(grad, x, weight), wanted, strict=True):
            if native.library is None:  # NumPy adds up in the order of memory
                np.testing.assert_allclose(found.numpy(), copied.numpy(), rtol=1e-4, atol=1e-5)
            else:
                assert found.numpy().tobytes() == copied.numpy().tobytes(), variant
