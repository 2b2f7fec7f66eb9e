"""What is chosen by what it is, conversions, and reductions along columns, by the native library: as NumPy has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mt_backend_cpu import native
from mt_core.testing.namespace import namespace

pytestmark = pytest.mark.skipif(native.library is None, reason="the native library is not used")

library: Any = native.library
torch: Any = namespace()

SHAPES = [(5,), (40_000,), (60, 700), (7, 3, 2000), (20_000, 3), (0, 5), (3, 0), (1,), (), (40_000, 1)]
TYPES = [np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]


#: Levels of instructions, the last of them with two threads too.
LEVELS = native.library.levels() if native.library is not None else []


@pytest.fixture(
    autouse=True, params=[*((level, 1) for level in LEVELS), *((level, 2) for level in LEVELS[-1:])], ids=str
)
def settings(request: pytest.FixtureRequest) -> Iterator[None]:
    level, threads = library.level(), library.num_threads()
    library.use_level(request.param[0])
    library.set_num_threads(request.param[1])
    yield
    library.use_level(level)
    library.set_num_threads(threads)


@pytest.mark.parametrize("element", [np.bool_, np.int32, np.int64, np.float32, np.float64])
def test_places_of_what_is_not_zero(element: Any) -> None:
    random = np.random.default_rng(0)
    for shape in SHAPES:
        x = np.asarray(random.integers(-1, 2, shape)).astype(element)
        if x.size and x.dtype.kind == "f":
            x.flat[-1] = np.nan
        wanted = np.argwhere(x)
        if not wanted.size:  # NumPy forgets the strides of nothing, so that is left to the kernel beside
            assert library.nonzero(x) is None
            continue
        np.testing.assert_array_equal(library.nonzero(x), wanted, strict=True)


@pytest.mark.parametrize("element", [np.bool_, np.float16, np.float32, np.complex64, np.complex128])
def test_elements_and_rows_that_a_mask_chooses(element: Any) -> None:
    random = np.random.default_rng(1)
    for shape in SHAPES[:-2]:
        x = random.integers(0, 9, shape).astype(element)
        for ndim in range(1, len(shape) + 1):
            mask = random.random(shape[:ndim]) > 0.5
            np.testing.assert_array_equal(library.choose(x, mask), x[mask], strict=True)
            np.testing.assert_array_equal(torch.from_numpy(x)[torch.from_numpy(mask)].numpy(), x[mask], strict=True)
        assert library.choose(x, np.ones(shape)) is None


@pytest.mark.parametrize("element", [np.int32, np.int64])
@pytest.mark.parametrize(("n", "reach"), [(10, 3), (1000, 200), (40_000, 1000), (300_000, 30_000), (9, 10**9)])
def test_different_integers(element: Any, n: int, reach: int) -> None:
    x = np.random.default_rng(2).integers(-reach, reach, n).astype(element)
    wanted = np.unique(x, return_inverse=True, return_counts=True)
    made = library.distinct(x, True, True)
    assert (made is None) == (int(x.max()) - int(x.min()) >= n / 4 + 1024)
    for one, other in zip(
        torch.unique(torch.from_numpy(x), return_inverse=True, return_counts=True), wanted, strict=True
    ):
        np.testing.assert_array_equal(one.numpy(), other, strict=True)


def test_the_whole_range_of_integers_is_far_apart() -> None:
    x = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    assert library.distinct(x, False, False) is None


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_conversions(source: Any, target: Any) -> None:
    random = np.random.default_rng(3)
    x = random.integers(-(1 << 40), 1 << 40, 40_001)
    x = x.astype(source) if np.dtype(source).kind in "biu" else (x / 3.7).astype(source)
    if x.dtype.kind == "f":
        x[:6] = [np.nan, np.inf, -np.inf, -0.0, np.finfo(source).max, np.finfo(source).tiny]
    for array in (x, x[:40_000].reshape(8, 5000).T, x[::2]):
        made = library.cast_rows(array, np.dtype(target))
        with np.errstate(all="ignore"):
            wanted = array.astype(target)
        if made is None:
            whole = np.dtype(source).kind == "f" and np.dtype(target).kind in "iu"  # small ones, and not on x86
            assert whole or array.strides == (2 * x.itemsize,)
        else:
            np.testing.assert_array_equal(made, wanted, strict=True)
            assert made.strides == wanted.strides


TABLES = [
    ((600, 1024), (0,)), ((80_000, 7), (0,)), ((3, 500, 1100), (1,)), ((20, 100, 300), (1,)), ((100, 33, 4), (0, 1)),
    ((1, 150_000), (0,)), ((9, 40_000), (1,)), ((2, 40_000, 3), (1,)), ((5, 3), (1,)), ((4, 65), (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "dims"), TABLES)
def test_reductions_along_columns_and_rows(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    random = np.random.default_rng(4)
    x = random.standard_normal(shape, dtype=np.float32)
    exact = x.astype(np.float64)
    for keep in (False, True):
        sums = exact.sum(dims, keepdims=keep)
        length = x.size // sums.size
        np.testing.assert_allclose(library.sum(x, dims, keep), sums, rtol=1e-6, atol=1e-6 * length**0.5)
        np.testing.assert_allclose(library.mean(x, dims, keep), sums / length, rtol=1e-6, atol=1e-6)
    holed = x.copy()
    holed.flat[random.integers(0, x.size, 5)] = np.nan
    for array in (x, holed):
        np.testing.assert_array_equal(library.amax(array, dims, False), array.max(dims))
        np.testing.assert_array_equal(library.amin(array, dims, False), array.min(dims))


def test_a_nan_is_found_wherever_it_stands() -> None:
    for n in (3, 64, 65):
        for at in range(n):
            x = np.zeros((1, n), np.float32)
            x[0, at] = np.nan
            assert np.isnan(library.amax(x, (1,), False)[0])
            assert np.isnan(library.amin(x, (1,), False)[0])


def test_brain_floats_as_they_are_stored() -> None:
    brain = np.dtype(torch.bfloat16.numpy_dtype)
    library.use_bfloat16(brain)
    bits = np.random.default_rng(5).integers(0, 1 << 16, (2, 70_001)).astype(np.uint16)
    a, b = bits.view(brain)
    wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(all="ignore"):
        for name, ufunc in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.true_divide)):
            wanted = ufunc(wide_a, wide_b).astype(brain)
            np.testing.assert_array_equal(getattr(library, name)(a, b).astype(np.float32), wanted.astype(np.float32))
