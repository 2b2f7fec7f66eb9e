"""Native kernels that mostly move memory: copies, casts, indexing, selection, sums, against NumPy and its kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mt_backend_cpu import native
from mt_core.dispatch.registry import registering_own
from mt_core.dtypes import bfloat16

with registering_own():  # it may be the first to import them
    from mt_backend_cpu.kernels import indexing as on_numpy
    from mt_backend_cpu.kernels import sort as sorted_on_numpy

pytestmark = pytest.mark.skipif(native.library is None, reason="the native library is not used")

library: Any = native.library
HALVES = [np.dtype(np.float16), bfloat16.numpy_dtype]
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, 6e-8, 65504, 65520, 1e-7], np.float32)


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    level, threads = library.level(), library.num_threads()
    library.use_bfloat16(bfloat16.numpy_dtype)
    yield
    library.use_level(level)
    library.set_num_threads(threads)


def strided(generator: np.random.Generator, shape: list[int], kind: Any) -> np.ndarray:
    """An array of the shape, transposed, turned around, with gaps, or repeated."""
    order = generator.permutation(len(shape))
    step = [int(generator.choice([-2, -1, 1, 2])) for _ in shape]
    large = np.empty([abs(s) * shape[i] for i, s in zip(order, step, strict=True)], kind)
    large[...] = generator.integers(-100, 100, large.shape).astype(kind)
    array = large[tuple(slice(None, None, s) for s in step)].transpose(np.argsort(order)) if shape else large
    return array


@given(
    shape=st.lists(st.integers(0, 6), max_size=3), seed=st.integers(0, 1000),
    kind=st.sampled_from(["u1", "i2", "f4", "f8", "c16", "O3"]),
)  # fmt: skip
def test_copies_of_any_layout(shape: list[int], seed: int, kind: str) -> None:
    element = np.dtype("V3" if kind == "O3" else kind)
    generator = np.random.default_rng(seed)
    source = strided(generator, shape, "i8").astype(element) if kind == "O3" else strided(generator, shape, element)
    if shape and generator.random() < 0.3:
        source = np.broadcast_to(source[:1], source.shape)
    target = strided(generator, shape, "u1").astype(element) if kind == "O3" else strided(generator, shape, element)
    expected = source.copy()
    if library.copy(target, source):
        assert target.tobytes() == expected.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0)])
def test_large_copies_in_several_threads(threads: int, order: tuple[int, ...]) -> None:
    library.set_num_threads(threads)
    source = np.arange(70 * 90 * 33, dtype=np.float32).reshape(70, 90, 33).transpose(order)
    target = np.empty(source.shape, np.float32)
    assert library.copy(target, source)
    np.testing.assert_array_equal(target, source)


def test_what_shares_memory_is_not_copied() -> None:
    whole = np.arange(100.0)
    assert library.copy(whole[1:51], whole[:50]) is False
    assert whole[1] == 1
    for wrong in (np.zeros(3), np.zeros(100, np.float32)):
        with pytest.raises(ValueError, match="one shape and one dtype"):
            library.copy(whole, wrong)


@pytest.mark.parametrize("element", HALVES, ids=str)
def test_casts_round_as_numpy_does_and_keep_the_layout(element: np.dtype) -> None:
    generator = np.random.default_rng(1)
    bits = generator.integers(0, 1 << 32, 1 << 16, np.uint64).astype(np.uint32).view(np.float32)
    single = np.concatenate([bits, SPECIAL, generator.standard_normal(1 << 15).astype(np.float32)])
    half = np.arange(1 << 16).astype(np.uint16).view(element)
    with np.errstate(all="ignore"):
        for level in library.levels():
            library.use_level(level)
            for given, wanted in ((single, element), (half, np.dtype(np.float32))):
                found, expected = library.cast(given, wanted), given.astype(wanted)
                assert (np.isnan(found) == np.isnan(expected)).all()
                known = ~np.isnan(expected)
                assert found[known].tobytes() == expected[known].tobytes(), level
    turned = np.ones((3, 4, 5), element).transpose(2, 0, 1)
    assert library.cast(turned, np.dtype(np.float32)).strides == (4, 80, 20)
    assert library.cast(turned[::2], np.dtype(np.float32)) is None
    with pytest.raises(TypeError, match="from float32"):
        library.cast(np.ones(3), element)


#: Name -> (the same on double precision, how many arrays, numbers).
ARITHMETIC: dict[str, tuple[Any, int, tuple[float, ...]]] = {
    "add": (lambda a, b: a + b, 2, ()), "sub": (lambda a, b: a - b, 2, ()), "mul": (lambda a, b: a * b, 2, ()),
    "div": (lambda a, b: a / b, 2, ()), "add_scaled": (lambda a, b, s: a + s * b, 2, (0.3,)),
    "addcmul": (lambda x, a, b, s: x + s * a * b, 3, (-0.7,)),
    "addcdiv": (lambda x, a, b, s: x + s * a / b, 3, (0.2,)),
    "lerp": (lambda a, b, w: a + w * (b - a), 2, (0.7,)),
    "threshold_backward": (lambda g, x, t: np.where(x <= t, 0, g), 2, (0.1,)),
    "hardtanh_backward": (lambda g, x, a, b: np.where((x <= a) | (x >= b), 0, g), 2, (-0.5, 0.75)),
    "leaky_relu_backward": (lambda g, x, s: np.where(x > 0, g, g * s), 2, (0.1,)),
    "hardsigmoid_backward": (lambda g, x: np.where((x > -3) & (x < 3), g / 6, 0), 2, ()),
    "hardswish_backward": (lambda g, x: np.where(x <= -3, 0, np.where(x < 3, g * (x / 3 + 0.5), g)), 2, ()),
}  # fmt: skip


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_in_one_pass(name: str) -> None:
    exact, count, numbers = ARITHMETIC[name]
    generator = np.random.default_rng(3)
    arrays = [(generator.standard_normal((37, 41)) * 2).astype(np.float32) for _ in range(count)]
    singles = [np.float32(n).item() for n in numbers]
    wanted = exact(*[a.astype(np.float64) for a in arrays], *singles)
    scale = np.abs(wanted) + sum(np.abs(a) for a in arrays)
    for level in library.levels():
        library.use_level(level)
        found = getattr(library, name)(*arrays, *numbers)
        assert (np.abs(found - wanted) <= 3e-7 * scale).all(), level
        last = arrays[-1][:1]  # broadcast, and written in place
        out = arrays[0].copy()
        assert getattr(library, name)(out, *arrays[1:-1], last, *numbers, out=out) is out
        repeated = np.ascontiguousarray(np.broadcast_to(last, out.shape))
        np.testing.assert_array_equal(out, getattr(library, name)(*arrays[:-1], repeated, *numbers))
        for element in HALVES:
            halves = [a.astype(element) for a in arrays]
            computed = getattr(library, name)(*[h.astype(np.float32) for h in halves], *numbers)
            np.testing.assert_array_equal(getattr(library, name)(*halves, *numbers), computed.astype(element))


def test_derivatives_pass_nan_where_pytorch_does() -> None:
    nan, one = np.array([np.nan], np.float32), np.ones(1, np.float32)
    assert library.threshold_backward(one, nan, 0.0)[0] == 1  # NaN is not below the threshold
    assert np.isnan(library.threshold_backward(nan, one, 0.0)[0])
    assert library.threshold_backward(nan, -one, 0.0)[0] == 0


@pytest.mark.parametrize("shape", [(1,), (5,), (0, 3), (7, 300), (3, 40, 7), (2, 5, 400), (70_000,)])
def test_cumulative_sums_and_norms_are_those_of_double_precision(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    for level in library.levels():
        library.use_level(level)
        for threads in (1, 3):
            library.set_num_threads(threads)
            for dim in range(len(shape)):
                exact = np.cumsum(x.astype(np.float64), dim)
                np.testing.assert_array_equal(library.cumsum(x, dim), exact.astype(np.float32))
            assert library.norm(x) == pytest.approx(np.sqrt((x.astype(np.float64) ** 2).sum()), rel=3e-7)
    assert library.cumsum(np.full(3, -0.0, np.float32), 0).tobytes() == np.zeros(3, np.float32).tobytes()


@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3), seed=st.integers(0, 1000), threads=st.integers(1, 2),
    data=st.data(),
)  # fmt: skip
def test_elements_and_rows_by_index(shape: list[int], seed: int, threads: int, data: Any) -> None:
    library.set_num_threads(threads)
    generator = np.random.default_rng(seed)
    dim = data.draw(st.integers(0, len(shape) - 1))
    x = generator.standard_normal(shape).astype(np.float32)
    smaller = [int(generator.integers(1, n + 1)) if d != dim else int(generator.integers(1, 9)) for d, n in
               enumerate(shape)]  # fmt: skip
    index = generator.integers(0, shape[dim], smaller)
    src = generator.standard_normal([n + int(generator.integers(0, 2)) for n in smaller]).astype(np.float32)
    np.testing.assert_array_equal(library.gather(x, dim, index), on_numpy.gather(x, dim, index, False))
    for ours, theirs in ((library.scatter, on_numpy.scatter), (library.scatter_add, on_numpy.scatter_add)):
        found = x.copy()
        assert ours(found, dim, index, src)
        np.testing.assert_allclose(found, theirs(x, dim, index, src), rtol=1e-6, atol=1e-6)
    rows = generator.integers(0, shape[dim], 7)
    np.testing.assert_array_equal(library.take_rows(x, dim, rows), x.take(rows, dim))
    source = generator.standard_normal([7 if d == dim else n for d, n in enumerate(shape)]).astype(np.float32)
    found = x.copy()
    assert library.index_add(found, dim, rows, source, 0.5, -1)
    np.testing.assert_allclose(found, on_numpy.index_add(x, dim, rows, source, 0.5), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("wrong", [-1, 4, 1 << 40])
def test_an_index_out_of_range_changes_nothing(wrong: int) -> None:
    x, index = np.zeros((4, 3), np.float32), np.array([[0, 1, 2], [1, wrong, 0]])
    rows = np.array([0, wrong])
    ones = np.ones((2, 3), np.float32)
    assert library.gather(x, 0, index) is None and library.take_rows(x, 0, rows) is None
    assert not library.scatter(x, 0, index, ones) and not library.scatter_add(x, 0, index, ones)
    assert not library.index_add(x, 0, rows, ones, 1.0, -1)
    assert not x.any()


def test_what_cannot_be_indexed_is_refused() -> None:
    x, index = np.zeros((4, 3), np.float32), np.zeros((2, 3), np.int64)
    for name, arguments in {
        "gather": (x, 2, index), "scatter": (x, 0, index, np.zeros((2, 2), np.float32)),
        "scatter_add": (x, 0, index[0], x), "take_rows": (x.T, 0, index), "index_add": (x, 0, index, x[:2], 1.0, -1),
    }.items():  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            getattr(library, name)(*arguments)


@pytest.mark.skipif(not hasattr(native.library, "topk"), reason="the C++ library is not GNU's")
@given(
    size=st.integers(1, 200), seed=st.integers(0, 1000), different=st.integers(1, 40), largest=st.booleans(),
    ordered=st.booleans(), data=st.data(),
)  # fmt: skip
def test_selection_picks_equal_elements_as_pytorch_does(
    size: int, seed: int, different: int, largest: bool, ordered: bool, data: Any
) -> None:
    generator = np.random.default_rng(seed)
    x = generator.integers(0, different, (2, size)).astype(np.float32)
    x[x == different - 2] = np.nan
    k = data.draw(st.integers(1, size))
    expected = sorted_on_numpy.topk(x, k, 1, largest, ordered)
    for found, wanted in zip(library.topk(x, k, largest, ordered), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("name", "exact"), [("add", np.add), ("sub", np.subtract), ("mul", np.multiply),
                                             ("div", np.true_divide)])  # fmt: skip
def test_arithmetic_with_numbers_is_that_of_numpy(name: str, exact: Any) -> None:
    x = np.concatenate([SPECIAL, np.random.default_rng(6).standard_normal(300).astype(np.float32)])
    function = getattr(library, name)
    with np.errstate(all="ignore"):
        for level in library.levels():
            library.use_level(level)
            for number in (0.1, 3, -0.0, float("inf"), np.float32(0.7)):
                assert function(x, number).tobytes() == exact(x, np.float32(number)).tobytes()
                out = x.copy()[::-1]
                np.testing.assert_array_equal(function(out, number, out=out), exact(x, np.float32(number))[::-1])
            assert function(x, x[::-1]).tobytes() == exact(x, x[::-1]).tobytes()
    with pytest.raises(TypeError, match="must be an array"):
        function(x, "1")


def test_limits_keep_the_sign_of_zeros_and_nan() -> None:
    x = SPECIAL
    for level in library.levels():
        library.use_level(level)
        for low, high in ((0.0, 1.0), (-1.0, -0.0), (-0.5, 0.0), (2.0, 1.0)):
            lower = np.where(x < low, np.float32(low), x)
            both = np.where(lower > high, np.float32(high), lower)
            assert library.clamp_min(x, low).tobytes() == lower.tobytes()
            assert library.clamp_max(x, high).tobytes() == np.where(x > high, np.float32(high), x).tobytes()
            assert library.clamp(x, low, high).tobytes() == both.tobytes()
        assert library.relu(x).tobytes() == np.where(x < 0, np.float32(0), x).tobytes()
        assert np.isnan(library.clamp(x, np.nan, 1.0)).all() and np.isnan(library.clamp_max(x, np.nan)).all()
