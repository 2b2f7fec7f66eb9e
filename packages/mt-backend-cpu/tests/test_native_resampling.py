"""Convolution and resizing by the native library: what NumPy's kernels give, whatever the geometry and the layout."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_backend_cpu.kernels import conv as in_numpy
from mt_core.dispatch.lookup import kernels_of
from mt_core.dispatch.registry import find_overload
from mt_core.keys import CPU

Array = np.ndarray

if importlib.util.find_spec("mt_backend_cpu._native") is None:
    pytest.skip("the native library was not built", allow_module_level=True)

native = importlib.import_module("mt_backend_cpu.native")
if native.library is None:
    pytest.skip("the native library is not used", allow_module_level=True)

by_library = importlib.import_module("mt_backend_cpu.native.conv")
upsample = importlib.import_module("mt_backend_cpu.native.pool_upsample")


@pytest.fixture(autouse=True)
def library() -> Iterator[Any]:
    module = native.library
    level, threads = module.level(), module.num_threads()
    yield module
    module.use_level(level)
    module.set_num_threads(threads)


def innermost(x: Array) -> Array:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


# Convolution


def drawn_convolution(draw: np.random.Generator, transposed: bool) -> tuple[Any, ...] | None:
    """Arguments of a small convolution in double precision, None where its result would have no place."""
    spatial, groups, inputs, outputs = draw.integers(1, (4, 4, 4, 7)).tolist()
    sizes, kernel = draw.integers(1, 10, spatial), draw.integers(1, 5 if transposed else 8, spatial)
    stride, dilation = draw.integers(1, 4, spatial), draw.integers(1, 4, spatial)
    padding = draw.integers(0, 4, spatial)
    more = draw.integers(0, np.maximum(stride, dilation)) if transposed else np.zeros(spatial, int)
    reach = dilation * (kernel - 1)
    room = (sizes - 1) * stride - 2 * padding + reach + more + 1 if transposed else sizes + 2 * padding - reach
    if room.min() <= 0:
        return None
    ends = (groups * inputs, outputs) if transposed else (groups * outputs, inputs)
    x = draw.standard_normal((int(draw.integers(1, 4)), groups * inputs, *sizes))
    bias = draw.standard_normal(groups * outputs) if draw.random() < 0.5 else None
    numbers = [tuple(each.tolist()) for each in (stride, padding, dilation)]
    return x, draw.standard_normal((*ends, *kernel)), bias, *numbers, transposed, tuple(more.tolist()), groups


@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_of_any_geometry(library: Any, transposed: bool) -> None:
    draw = np.random.default_rng(7)
    compared = 0
    for level in library.levels():
        library.use_level(level)
        for _ in range(150):
            drawn = drawn_convolution(draw, transposed)
            if drawn is None:
                continue
            x, w, bias, *geometry = drawn
            expected = in_numpy.convolution(x, w, bias, *geometry)
            single = None if bias is None else bias.astype(np.float32)
            made = []
            for given, threads in itertools.product((x.astype(np.float32), innermost(x.astype(np.float32))), (1, 2)):
                library.set_num_threads(threads)
                made.append(by_library.convolution(given, w.astype(np.float32), single, *geometry))
                np.testing.assert_allclose(made[-1], expected, atol=1e-4, err_msg=f"{level} {w.shape} {geometry}")
            np.testing.assert_array_equal(made[0], made[1])
            np.testing.assert_array_equal(made[2], made[3])
            compared += 1
    assert compared > 40 * len(library.levels())


def test_the_gradient_of_weights_is_a_sum_over_all_places(library: Any) -> None:
    """Long windows: sums of thousands of terms, for more outputs than are taken at once."""
    draw = np.random.default_rng(8)
    grad, x = draw.standard_normal((3, 70, 24, 30)), draw.standard_normal((3, 5, 26, 32))
    view = np.lib.stride_tricks.sliding_window_view(x, (24, 30), (2, 3))
    expected = np.einsum("ncijhw,nohw->coij", view, grad)
    narrow = (x.swapaxes(0, 1).astype(np.float32), np.ascontiguousarray(grad.swapaxes(0, 1), np.float32))
    for level in library.levels():
        library.use_level(level)
        found = library.correlate(*narrow, None, (1, 1), (0, 0), (1, 1), 1, False)
        np.testing.assert_allclose(found, expected, atol=3e-6 * math.sqrt(3 * 24 * 30), err_msg=level)


def test_sizes_may_be_given_and_padding_may_cut(library: Any) -> None:
    x, w = np.arange(8, dtype=np.float32).reshape(1, 1, 8), np.ones((1, 1, 2), np.float32)
    found = library.correlate(x, w, None, (1,), (-6,), (1,), 1, False, (4,))
    assert found.ravel().tolist() == [13.0, 7.0, 0.0, 0.0]
    assert library.correlate(x, w, None, (1,), (0,), (1,), 1, False, (0,)).shape == (1, 1, 0)


# Resizing

KINDS = ("nearest", "nearest exact", "linear", "cubic", "bilinear aa", "bicubic aa", "lanczos aa")


def maps_of(kind: str, sizes: list[int], results: list[int], adjoint: bool, align_corners: bool = False) -> Any:
    make = upsample._adjoint_line if adjoint else upsample._line
    return tuple(make(kind, n, size, align_corners, None) for n, size in zip(sizes, results, strict=True))


def matrix(line: Any, n: int, size: int) -> Array:
    """(size, n): what a map does to a line."""
    if line is None:
        return np.eye(n)
    places, weights, _ = line
    made = np.zeros((size, n))
    for t, j in itertools.product(range(len(places)), range(size)):
        if places[t, j] >= 0:
            made[j, places[t, j]] += 1 if weights is None else weights[t, j]
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes, results", [([7], [11]), ([5, 90], [9, 40]), ([6, 4], [6, 9]), ([3, 4, 5], [4, 2, 9])])
def test_each_dimension_is_mapped(library: Any, kind: str, sizes: list[int], results: list[int]) -> None:
    x = np.random.default_rng(9).standard_normal((2, 3, *sizes))
    maps = maps_of(kind, sizes, results, False)
    expected = x
    for d, (line, n, size) in enumerate(zip(maps, sizes, results, strict=True)):
        expected = np.moveaxis(np.tensordot(expected, matrix(line, n, size), (d + 2, 1)), -1, d + 2)
    for level in library.levels():
        library.use_level(level)
        for given, threads in itertools.product((x.astype(np.float32), innermost(x.astype(np.float32))), (1, 2)):
            library.set_num_threads(threads)
            found = library.resize(given, maps, False)
            np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=level)
            assert found.flags.c_contiguous == given.flags.c_contiguous


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_is_the_adjoint(library: Any, kind: str, align_corners: bool) -> None:
    draw = np.random.default_rng(10)
    for sizes, results in (([1, 8], [4, 3]), ([9, 5], [2, 17]), ([6, 6], [6, 13])):
        x, grad = draw.standard_normal((2, 2, *sizes)), draw.standard_normal((2, 2, *results))
        forward = library.resize(x.astype(np.float32), maps_of(kind, sizes, results, False, align_corners), False)
        backward = library.resize(grad.astype(np.float32), maps_of(kind, sizes, results, True, align_corners), True)
        assert backward.shape == x.shape
        assert float((forward * grad).sum()) == pytest.approx(float((backward * x).sum()), abs=1e-4)


def test_no_tap_is_no_product(library: Any) -> None:
    """What an output has fewer taps for takes nothing from elsewhere, be it no number; a weight of zero does."""
    maps = (upsample._adjoint_line("linear", 5, 3, False, None),)
    grad = np.full((1, 1, 3), np.nan, np.float32)
    grad[..., 0] = 1.0
    assert np.isnan(library.resize(grad, maps, True)).tolist() == [[[False, False, True, True, True]]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((np.zeros((1, 2), np.int64), None, False),), "of int32"),
        (((np.zeros((2, 2), np.int32), None, False),), "a weight for each place"),
        (((np.zeros((1, 2), np.int32), np.ones((1, 3), np.float32), False),), "a weight for each place"),
        (((np.full((1, 2), 4, np.int32), None, False),), "place 4 of a line of 4"),
        (((np.full((1, 2), -1, np.int32), None, True),), "place -1"),
        (((np.full((1, 2), -1, np.int32), np.ones((1, 2), np.float32), False),), "place -1"),
        ((7,), "a map must be"),
        ((), "1 to 3 dimensions"),
    ],
)
def test_maps_that_do_not_fit_are_refused(library: Any, arguments: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        library.resize(np.zeros((2, 4), np.float32), arguments, False)


# Which kernel is asked


@pytest.mark.parametrize("name", ["add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor"])
def test_half_types_of_two_tensors_are_not_widened(name: str) -> None:
    x = mt_core.ones(4, dtype=mt_core.bfloat16)
    overload = find_overload(name)
    arguments = (x, x, 1) if name in ("add.Tensor", "sub.Tensor") else (x, x)
    overload.call(*arguments)  # its family is loaded
    taking = [k for k in kernels_of(overload, CPU) if k.accepts.also is None or k.accepts.also(*arguments)]
    assert taking[0].half == "native"
