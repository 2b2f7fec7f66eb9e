"""Products of bfloat16, and convolutions of single channels: at every level and number of threads."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mt_backend_cpu._native") is None, reason="the native library was not built"
)

GENERATOR = np.random.default_rng(0)
BRAIN = mt_core.bfloat16.numpy_dtype


@pytest.fixture(scope="module")
def library() -> Any:
    library = importlib.import_module("mt_backend_cpu._native")
    library.use_bfloat16(BRAIN)
    return library


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


def numbers(*shape: int) -> np.ndarray:
    return GENERATOR.normal(size=shape).astype(BRAIN)


#: Rows, depth, columns: of one tile and of less, and beyond the blocks that are kept together.
SIZES = [(1, 1, 1), (5, 7, 3), (12, 384, 32), (97, 385, 33), (13, 801, 530), (200, 31, 65)]


@pytest.mark.parametrize("sizes", SIZES)
def test_products_are_rounded_once(library: Any, sizes: tuple[int, int, int]) -> None:
    rows, depth, columns = sizes
    lefts = numbers(rows, depth), numbers(depth, rows).T, numbers(rows, 2 * depth)[:, ::2]
    rights = numbers(depth, columns), numbers(columns, depth).T
    for (a, b), bias in itertools.product(zip(lefts, itertools.cycle(rights)), (None, numbers(columns))):
        wide = a.astype(np.float64) @ b.astype(np.float64)
        exact = wide if bias is None else wide + bias.astype(np.float64)
        seen = set()
        for variant in variants(library):
            if not library.has_bfloat16_products():
                with pytest.raises(RuntimeError, match="no instructions"):
                    library.multiply_bfloat16(a, b, bias)
                continue
            made = library.multiply_bfloat16(a, b, bias)
            error = np.abs(made.astype(np.float64) - exact)
            assert (error <= np.abs(exact) * 2.0**-8 + 4e-6 * np.sqrt(depth)).all(), variant
            seen.add(made.tobytes())
        assert len(seen) <= 1


def test_products_keep_what_is_no_number(library: Any) -> None:
    a, b = np.ones((14, 40), BRAIN), np.ones((40, 40), BRAIN)
    a[0, 3], a[1, 5], a[13, 39], b[0, 2] = np.nan, np.inf, -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        wanted = a.astype(np.float32) @ b.astype(np.float32)
    for variant in variants(library):
        if library.has_bfloat16_products():
            assert np.array_equal(library.multiply_bfloat16(a, b, None).astype(np.float32), wanted, True), variant


def test_products_that_do_not_fit_are_refused(library: Any) -> None:
    for name in library.levels():
        library.use_level(name)
        if not library.has_bfloat16_products():
            continue
        for a, b, bias in (
            (numbers(2, 3), numbers(2, 3), None), (numbers(0, 3), numbers(3, 2), None),
            (numbers(2, 3), numbers(3, 2), numbers(3)), (numbers(2, 3), np.ones((3, 2), np.float32), None),
            (numbers(6), numbers(3, 2), None), (numbers(2, 3), numbers(3, 2), numbers(4)[::2]),
        ):  # fmt: skip
            with pytest.raises((TypeError, ValueError), match="multiply_bfloat16"):
                library.multiply_bfloat16(a, b, bias)


@pytest.mark.parametrize("bias", [False, True])
def test_operators_take_them(bias: bool) -> None:
    x, weight, added = (mt_core.tensor(GENERATOR.normal(size=size)).bfloat16() for size in ((60, 70), (50, 70), (50,)))
    made = mt_core.linear(x, weight, added if bias else None)
    wanted = mt_core.linear(x.double(), weight.double(), added.double() if bias else None)
    assert made.dtype is mt_core.bfloat16
    assert ((made.double() - wanted).abs() <= wanted.abs() * 2.0**-8 + 1e-4).all()
    assert (x.mm(weight.t()).double() - x.double().mm(weight.double().t())).abs().max() < 0.1


#: Sizes of an image and of a kernel, strides, paddings and spreads of a convolution of single channels.
PLANES = [
    ((9, 64), (3, 3), (1, 1), (1, 1), (1, 1)), ((12, 65), (3, 5), (2, 2), (0, 4), (1, 1)),
    ((7, 3), (2, 3), (1, 3), (3, 2), (2, 1)), ((20, 130), (4, 4), (3, 4), (2, 0), (1, 3)),
    ((5, 300), (1, 7), (1, 1), (0, 3), (1, 2)), ((130, 130), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((9, 40), (3, 3), (1, 5), (1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("size", "kernel", "stride", "padding", "dilation"), PLANES)
def test_channels_by_themselves(library: Any, size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> None:
    x = GENERATOR.integers(-4, 5, (2, 3, *size)).astype(np.float32)
    weight = GENERATOR.integers(-4, 5, (6, 1, *kernel)).astype(np.float32)
    bias = np.arange(6, dtype=np.float32)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    counts = [
        (n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(padded.shape[2:], dilation, kernel, stride, strict=True)
    ]
    wanted = np.zeros((2, 6, *counts), np.float32) + bias[:, None, None]
    for i, j in np.ndindex(*kernel):
        rows = slice(i * dilation[0], i * dilation[0] + stride[0] * (counts[0] - 1) + 1, stride[0])
        columns = slice(j * dilation[1], j * dilation[1] + stride[1] * (counts[1] - 1) + 1, stride[1])
        wanted += padded[:, :, rows, columns].repeat(2, 1) * weight[:, 0, i, j, None, None]
    for variant in variants(library):
        for given in (x, np.asfortranarray(x)):
            made = library.correlate(given, weight, bias, stride, padding, dilation, 3, False)
            assert np.array_equal(made, wanted), variant


#: Matrices, rows, depth, columns: of one tile and of less, of several blocks, and of as many as operators hand over.
BATCHES = [(1, 1, 1, 1), (3, 5, 200, 17), (2, 12, 192, 32), (2, 205, 193, 131), (5, 64, 64, 65)]


@pytest.mark.parametrize("sizes", BATCHES)
def test_products_of_batches(library: Any, sizes: tuple[int, int, int, int]) -> None:
    """Of small integers, to the last bit, whatever the layout; what is no number stays in its row and column."""
    n, rows, depth, columns = sizes
    a = GENERATOR.integers(-4, 5, (n, rows, depth)).astype(np.float32)
    b = GENERATOR.integers(-4, 5, (n, depth, columns)).astype(np.float32)
    a[-1, -1, 0] = b[0, -1, -1] = np.nan
    wanted = np.matmul(a.astype(np.float64), b)
    for variant in variants(library):
        for one, other in itertools.product(map(turned, (a,) * 4, range(4)), map(turned, (b,) * 4, range(4))):
            assert np.array_equal(library.multiply_batches(one, other), wanted, equal_nan=True), variant
    shared = np.broadcast_to(a[:1], a.shape)
    assert np.array_equal(library.multiply_batches(shared, b), np.matmul(shared.astype(np.float64), b), equal_nan=True)


def turned(x: np.ndarray, way: int) -> np.ndarray:
    """The same numbers: row by row, column by column, with gaps, and backwards."""
    if way == 0:
        return x
    if way == 1:
        return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
    if way == 2:
        wide = np.full((*x.shape[:2], 3 * x.shape[2]), np.nan, np.float32)
        wide[..., ::3] = x
        return wide[..., ::3]
    return np.ascontiguousarray(x[:, ::-1, ::-1])[:, ::-1, ::-1]


def test_batches_that_do_not_go_together_are_refused(library: Any) -> None:
    ones = np.ones((2, 3, 4), np.float32)
    for other in (ones, ones[:1].swapaxes(1, 2), ones[:, :, :0]):
        with pytest.raises(ValueError, match="do not go together, or are empty"):
            library.multiply_batches(ones, other)
    for other in (ones[0], ones.astype(np.float64)):
        with pytest.raises(TypeError, match="argument 2 must be a batch of matrices of float32"):
            library.multiply_batches(ones, other)


def test_operators_take_batches() -> None:
    x, y = (mt_core.tensor(GENERATOR.normal(size=size)).float() for size in ((3, 64, 70), (3, 70, 65)))
    for made in (x.bmm(y), x @ y, mt_core.einsum("bij,bjk->bik", x, y)):
        assert (made.double() - x.double().bmm(y.double())).abs().max() < 1e-4
