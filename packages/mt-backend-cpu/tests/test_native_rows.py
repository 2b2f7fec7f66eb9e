"""Reductions, joins, copies and choices of the native library, at every level and number of threads."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

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


SHAPES = [(1,), (7,), (33, 5), (5, 33), (3, 300, 4), (2, 3, 4, 5), (1, 1), (4, 0, 3), (0, 4), (600, 70), (2, 40000)]


def runs_of(ndim: int) -> Iterator[tuple[int, ...] | None]:
    """Dimensions that lie side by side."""
    yield None
    for first in range(ndim):
        for last in range(first, ndim):
            yield tuple(range(first, last + 1))


@pytest.mark.parametrize("shape", SHAPES)
def test_reductions(library: Any, shape: tuple[int, ...]) -> None:
    x = GENERATOR.normal(size=shape).astype(np.float32)
    wide = x.astype(np.float64)
    for variant in variants(library):
        for dims, keep in itertools.product(runs_of(len(shape)), (False, True)):
            for name in ("sum", "mean"):
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = getattr(wide, name)(axis=dims, keepdims=keep and dims is not None)
                found = getattr(library, name)(x, dims, keep and dims is not None)
                assert found.shape == np.shape(expected) and found.dtype == np.float32
                bound = np.abs(wide).sum(axis=dims, keepdims=keep and dims is not None) * 1e-6 + 1e-30
                same = np.isnan(found) & np.isnan(expected)
                assert (same | (np.abs(found - expected) <= bound)).all(), (variant, name, dims)
            for name in ("amax", "amin"):
                if x.size:
                    expected = getattr(x, name[1:])(axis=dims, keepdims=keep and dims is not None)
                    found = getattr(library, name)(x, dims, keep and dims is not None)
                    np.testing.assert_array_equal(found, expected, strict=True, err_msg=f"{variant} {name} {dims}")


def test_sums_do_not_depend_on_threads(library: Any) -> None:
    for shape, dims in (((1_000_003,), None), ((300, 3000), (0,)), ((3000, 300), (1,)), ((20, 50, 400), (1,))):
        x = GENERATOR.normal(size=shape).astype(np.float32)
        library.set_num_threads(1)
        alone = library.sum(x, dims, False)
        library.set_num_threads(3)
        assert library.sum(x, dims, False).tobytes() == alone.tobytes()
    ones = np.full(2**24 + 3, 1, np.float32)
    assert library.sum(ones, None, False) == 2**24 + 4  # the nearest float32
    assert library.sum(np.full((2**20, 3), 0.1, np.float32), (0,), False) == pytest.approx(
        2**20 * np.float32(0.1), rel=1e-6
    )


def test_special_numbers(library: Any) -> None:
    for variant in variants(library):
        for n in (1, 5, 32, 33, 100, 5000):
            for at in {0, n // 2, n - 1}:
                x = np.linspace(-3, 3, n, dtype=np.float32)
                x[at] = math.nan
                rows = np.stack([x, x])
                for name in ("sum", "mean", "amax", "amin"):
                    reduce = getattr(library, name)
                    assert np.isnan(reduce(x, None, False)) and np.isnan(reduce(rows, (1,), False)).all(), (
                        variant,
                        name,
                    )
                    assert np.isnan(reduce(np.ascontiguousarray(rows.T), (0,), False)).all(), (variant, name, n)
        infinite = np.array([1, math.inf, -5], np.float32)
        assert library.sum(infinite, None, False) == math.inf and library.amin(infinite, None, False) == -5
        assert library.amax(-infinite, None, False) == 5
        assert np.isnan(library.mean(np.empty((2, 0), np.float32), (1,), False)).all()
        assert (library.sum(np.empty((2, 0), np.float32), (1,), False) == 0).all()
        for n in (1, 4, 100):  # as in PyTorch, a sum begins with 0
            assert not np.signbit(library.sum(np.full((n, 2), -0.0, np.float32), (0,), False)).any()


def bits_of(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array whose bytes are 0 and 1."""
    made = np.empty(shape, dtype)
    made.reshape(-1).view(np.uint8)[:] = GENERATOR.integers(0, 2, made.nbytes, np.uint8)
    return made


def test_joins_and_copies(library: Any) -> None:
    """All elements are moved as they are, whatever their type."""
    library.set_num_threads(3)
    for dtype in (np.float32, np.int8, np.complex128, np.bool_, np.dtype([("a", np.float16), ("b", np.float16)])):
        for shapes, dim in (
            ([(2, 3), (2, 5)], 1), ([(2, 3), (4, 3), (0, 3)], 0), ([(2, 3, 4), (2, 1, 4)], 1), ([(5,)], 0),
            ([(600, 30), (600, 970)], 1), ([(9000, 70), (1000, 70)], 0), ([(2, 0), (2, 0)], 1),
        ):  # fmt: skip
            arrays = [bits_of(shape, np.dtype(dtype)) for shape in shapes]
            found, expected = library.cat(arrays, dim), np.concatenate(arrays, dim)
            assert found.shape == expected.shape and found.tobytes() == expected.tobytes()
            copied = library.clone(arrays[0])
            assert copied.tobytes() == arrays[0].tobytes() and not np.may_share_memory(copied, arrays[0])
            for at in range(arrays[0].ndim + 1):
                stacked, expected = library.stack([arrays[0]] * 3, at), np.stack([arrays[0]] * 3, at)
                assert stacked.shape == expected.shape and stacked.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.bool_, np.float16, np.int16, np.float32, np.int64, np.complex64])
def test_choices(library: Any, dtype: Any) -> None:
    for variant in variants(library):
        for shape in ((), (1,), (5,), (0, 3), (7, 13), (300, 301)):
            condition = GENERATOR.random(shape) < 0.5
            condition = np.asarray(condition)
            a, b = (np.asarray(GENERATOR.integers(0, 2, shape), dtype) for _ in range(2))
            for one, other in ((a, b), (a, np.array(1, dtype)), (np.array(1, dtype), b), (np.array(0, dtype),) * 2):
                found = library.where(condition, one, other)
                np.testing.assert_array_equal(
                    found, np.where(condition, one, other), strict=bool(shape), err_msg=variant
                )
    x = np.array([math.nan, -0.0, math.inf], np.float32)
    chosen = library.where(np.array([False, False, True]), -math.inf, x)
    assert chosen.tobytes() == np.array([math.nan, -0.0, -math.inf], np.float32).tobytes()


def test_what_is_not_taken(library: Any) -> None:
    x, flags = np.ones((2, 3), np.float32), np.ones((2, 3), bool)
    for given in (
        (flags, x, x.astype(np.float64)),
        (flags, x, x[0]),
        (flags[0], x, x),
        (flags, x.T, x.T),
        (x, x, x),
        (flags, 1.0, 2.0),
    ):
        assert library.where(*given) is None
    for name, given, words in (
        ("sum", (x, (0, 2), False), "side by side"), ("sum", (x, (1, 0), False), "side by side"),
        ("amax", (x, (5,), False), "side by side"), ("mean", (x.T, (0,), False), "row-major"),
        ("sum", (x.astype(np.float64), None, False), "float32"), ("sum", (x, 0, False), "tuple"),
        ("amin", (x[:, :0], (1,), False), "no elements"), ("cat", ([x, x.T], 0), "row-major"),
        ("cat", ([x, x[:, :2].copy()], 0), "fit together"), ("cat", ([], 0), "a list"),
        ("cat", ([x], 2), "no dimension"),
        ("cat", ([x, x.astype(np.int32)], 0), "one element type"), ("stack", ([x], 3), "no dimension"),
        ("clone", (x.T,), "row-major"), ("clone", (np.array([None]),), "row-major"),
        ("cat", ([np.array(1.0)], 0), "no dimension"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=words):
            getattr(library, name)(*given)
