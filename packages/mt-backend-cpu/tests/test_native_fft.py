"""Fourier transforms by the native library: as NumPy's in double precision, whatever the size, dimension and layout."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_backend_cpu.kernels import fft as in_numpy

Array = np.ndarray

if importlib.util.find_spec("mt_backend_cpu._native") is None:
    pytest.skip("the native library was not built", allow_module_level=True)

native = importlib.import_module("mt_backend_cpu.native")
if native.library is None:
    pytest.skip("the native library is not used", allow_module_level=True)

by_library = importlib.import_module("mt_backend_cpu.native.fft")

SIZES = (1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 20, 25, 30, 36, 64)


@pytest.fixture(autouse=True)
def library() -> Iterator[Any]:
    module = native.library
    level, threads = module.level(), module.num_threads()
    yield module
    module.use_level(level)
    module.set_num_threads(threads)


def agree(found: Array, expected: Array, single: Any, told: object) -> None:
    assert (found.shape, found.dtype) == (expected.shape, single)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()), err_msg=str(told))


def drawn(draw: np.random.Generator, shape: list[int]) -> Array:
    parts = draw.standard_normal((2, *shape)).astype(np.float32)
    return parts[0] + 1j * parts[1]


@pytest.mark.parametrize("normalization", [0, 1, 2])
def test_transforms_of_any_sizes_and_dimensions(library: Any, normalization: int) -> None:
    draw = np.random.default_rng(12)
    for level in library.levels():
        library.use_level(level)
        for number in range(40):
            library.set_num_threads(1 + number % 2)
            shape = draw.choice(SIZES, int(draw.integers(1, 4))).tolist()
            dim = draw.permutation(len(shape))[: draw.integers(1, len(shape) + 1)].tolist()
            told = (level, shape, dim)
            x = drawn(draw, shape)
            moved = np.swapaxes(np.ascontiguousarray(np.swapaxes(x, 0, -1)), 0, -1)
            for forward in (True, False):
                expected = in_numpy.c2c(x.astype(np.complex128), dim, normalization, forward)
                agree(by_library.c2c(moved, dim, normalization, forward), expected, np.complex64, told)
            n = shape[dim[-1]]
            if n % 2:
                continue
            real = draw.standard_normal(shape).astype(np.float32)
            expected = in_numpy.r2c(real.astype(np.float64), dim, normalization, True)
            agree(by_library.r2c(real, dim, normalization, True), expected, np.complex64, told)
            half = drawn(draw, [n // 2 + 1 if d == dim[-1] else size for d, size in enumerate(shape)])
            expected = in_numpy.c2r(half.astype(np.complex128), dim, normalization, n)
            agree(by_library.c2r(half, dim, normalization, n), expected, np.float32, told)


def test_sequences_stay_apart(library: Any) -> None:
    """Neighbours in a vector have nothing of one another: neither what is no number, nor the rounding of large ones."""
    rows = np.random.default_rng(13).standard_normal((40, 48)).astype(np.float32)
    alone = by_library.r2c(rows, [1], 0, True)
    rows[7] = np.nan
    rows[9] *= 1e12
    found = by_library.r2c(rows, [1], 0, True)
    kept = [i for i in range(40) if i not in (7, 9)]
    np.testing.assert_array_equal(found[kept], alone[kept])
    assert np.isnan(found[7]).all()


@pytest.mark.parametrize("size, by_native", [(48, True), (7, False), (44, False), (1 << 15, False)])
def test_sizes_with_other_factors_go_to_numpy(size: int, by_native: bool) -> None:
    x = mt_core.ones(8, size, dtype=mt_core.complex64)
    assert by_library._takes_complex(x, [1], 0, True) is by_native
    expected = np.zeros((8, size), np.complex64)
    expected[:, 0] = size
    np.testing.assert_allclose(mt_core._fft_c2c(x, [1], 0, True).numpy(), expected, atol=1e-3)


def test_plans_that_do_not_fit_are_refused(library: Any) -> None:
    x, plan = np.ones((4, 12), np.complex64), by_library._plan(12)
    for wrong in (by_library._plan(6), (plan[0][:1], plan[1], plan[2]), (plan[0], plan[1][1:], plan[2])):
        with pytest.raises(ValueError, match="not of sequences of this size"):
            library.fft_complex(x, 1, wrong, True, 1.0)
    with pytest.raises(ValueError, match="not of sequences of this size"):
        library.fft_complex(x[:, :7], 1, (np.array([7], np.int32), plan[1], plan[2]), True, 1.0)
    with pytest.raises(ValueError, match="an even number"):
        library.fft_from_real(np.ones((4, 7), np.float32), 1, plan, True, 1.0)
    for given in (np.ones((4, 12)), x[:0]):
        with pytest.raises(TypeError, match="complex64 with elements"):
            library.fft_complex(given, 1, plan, True, 1.0)
    with pytest.raises(TypeError, match="one of its dimensions"):
        library.fft_complex(x, 2, plan, True, 1.0)
