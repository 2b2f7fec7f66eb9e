"""Convolution by the native library, on small integers, whose sums are exact: what the definition gives, bit for bit.

Whatever the layout of input and weights, the level of instructions and the number of threads.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_core.decomp.conv_gradients import convolution_gradients

Array = np.ndarray

if importlib.util.find_spec("mt_backend_cpu._native") is None:
    pytest.skip("the native library was not built", allow_module_level=True)

native = importlib.import_module("mt_backend_cpu.native")
if native.library is None:
    pytest.skip("the native library is not used", allow_module_level=True)


@pytest.fixture(autouse=True)
def library() -> Iterator[Any]:
    module = native.library
    level, threads = module.level(), module.num_threads()
    yield module
    module.use_level(level)
    module.set_num_threads(threads)


def drawn(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def correlated(x: Array, w: Array, bias: Array, stride: Any, padding: Any, dilation: Any, groups: int) -> Array:
    """The definition: for each element of the kernel, the places that it meets."""
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((p, p) for p in padding)])
    counts = [
        (n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(wide.shape[2:], dilation, w.shape[2:], stride, strict=True)
    ]
    n, channels = x.shape[0], x.shape[1] // groups
    result = np.zeros((n, groups, w.shape[0] // groups, *counts)) + bias.reshape(groups, -1, *[1] * len(counts))
    weights = w.astype(np.float64).reshape(groups, -1, *w.shape[1:])
    for at in np.ndindex(*w.shape[2:]):
        met = [
            slice(i * d, i * d + s * (count - 1) + 1, s)
            for i, d, s, count in zip(at, dilation, stride, counts, strict=True)
        ]
        seen = wide[(slice(None), slice(None), *met)].reshape(n, groups, channels, -1)
        part = np.einsum("ngcp,goc->ngop", seen, weights[(..., *at)])
        result += part.reshape(n, groups, -1, *counts)
    return result.reshape(n, w.shape[0], *counts)


def framed(x: Array) -> Array:
    """The same among elements that are no numbers."""
    whole = np.full([n + 2 for n in x.shape], np.nan, np.float32)
    inner = whole[tuple(slice(1, -1) for _ in x.shape)]
    inner[...] = x
    return inner


def in_order(x: Array, *order: int) -> Array:
    """The same with other dimensions innermost."""
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


def layouts(x: Array) -> list[Array]:
    rest = tuple(range(2, x.ndim))
    backwards = tuple(slice(None, None, -1) for _ in rest)
    flipped = np.ascontiguousarray(x[(..., *backwards)])[(..., *backwards)]
    orders = [(0, *rest, 1), (1, *rest, 0), (*rest, 1, 0), (1, 0, *rest), (0, 1, *rest[::-1])]
    return [x, framed(x), flipped, *(in_order(x, *order) for order in orders)]


#: Sizes of input and weights, stride, padding, dilation, groups.
CASES = [
    ((2, 20, 9, 37), (30, 20, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((3, 16, 7, 7), (13, 16, 3, 2), (2, 1), (1, 0), (1, 2), 1),
    ((2, 34, 6, 8), (26, 17, 1, 1), (1, 1), (0, 0), (1, 1), 2),
    ((2, 3, 20, 21), (5, 3, 7, 6), (2, 3), (3, 2), (1, 1), 1),
    # Windows with more elements than places; several samples, many of them, and with steps of 2 and 3.
    ((5, 3, 12, 19), (26, 3, 10, 17), (1, 1), (1, 1), (1, 1), 1),
    ((17, 2, 9, 20), (4, 2, 8, 18), (1, 1), (0, 0), (1, 1), 1),
    ((3, 2, 17, 41), (13, 2, 8, 20), (1, 1), (0, 1), (2, 2), 1),
    ((2, 2, 16, 50), (4, 1, 5, 17), (1, 1), (1, 1), (3, 3), 2),
    # Sums that are divided: few columns and thousands of terms.
    ((3, 25, 13, 14), (14, 25, 13, 14), (1, 1), (0, 0), (1, 1), 1),
    ((2, 40, 90), (12, 40, 89), (1,), (0,), (1,), 1),
    ((2, 500, 4, 5), (13, 500, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((1, 4, 5, 6, 7), (5, 4, 2, 3, 2), (1, 2, 1), (1, 0, 1), (2, 1, 1), 1),
    # Channels by themselves: in bands of rows, in rows of remainders, side by side; and their gradients of weights.
    ((2, 5, 40, 300), (5, 1, 3, 3), (1, 1), (1, 1), (1, 1), 5),
    ((2, 21, 11, 14), (21, 1, 5, 4), (2, 3), (2, 1), (1, 2), 21),
    ((1, 18, 3, 9, 10), (18, 1, 2, 3, 3), (1, 1, 2), (1, 0, 1), (1, 2, 1), 18),
    ((2, 7, 19, 31), (7, 1, 18, 31), (1, 1), (1, 2), (1, 1), 7),
    ((1, 9, 16, 41), (9, 1, 8, 20), (1, 1), (1, 1), (2, 2), 9),
    ((2, 4, 70), (4, 1, 23), (1,), (2,), (3,), 4),
    # So many outputs of so few places that threads share them.
    ((2, 12, 3, 3), (150, 12, 3, 3), (1, 1), (1, 1), (1, 1), 1),
]


@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding", "dilation", "groups"), CASES)
def test_any_layout(
    library: Any, sizes: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    x, w, bias = drawn(1, *sizes), drawn(2, *kernel), np.arange(kernel[0], dtype=np.float32)
    expected = correlated(x, w, bias, stride, padding, dilation, groups)
    both = list(itertools.zip_longest(layouts(x), layouts(w), fillvalue=None))
    pairs = [*both, *((x, other) for _, other in both), *((other, w) for other, _ in both)]
    for level, threads in itertools.product(library.levels(), (1, 3)):
        library.use_level(level)
        library.set_num_threads(threads)
        for (number, (one, other)), innermost in itertools.product(enumerate(pairs), (False, True)):
            found = library.correlate(one, other, bias, stride, padding, dilation, groups, innermost)
            np.testing.assert_array_equal(found, expected, f"{level}, {threads} threads, {number}")


#: Sizes of input and weights, stride, padding, dilation, transposed: windows that leave a rest, of more than a step.
GRADIENTS = [
    ((2, 6, 12, 11), (8, 3, 3, 3), 3, 1, 1, False), ((2, 6, 12, 13), (8, 3, 1, 1), 4, 0, 1, False),
    ((3, 4, 9, 15), (6, 2, 2, 3), 4, 2, 2, False), ((2, 6, 5, 4), (6, 4, 3, 2), 3, 1, 1, True),
    ((3, 2, 12, 11), (2, 1, 3, 3), 1, 1, 1, False), ((3, 2, 12, 11), (2, 1, 5, 3), 2, 2, 1, False),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding", "dilation", "transposed"), GRADIENTS)
def test_gradients_are_adjoint(
    sizes: Any, kernel: Any, stride: int, padding: int, dilation: int, transposed: bool
) -> None:
    """<grad, f(x, w)> is <gradient, x> and <gradient, w>: of integers to the last bit."""
    x, w = mt_core.tensor(drawn(3, *sizes)), mt_core.tensor(drawn(4, *kernel))
    more = (stride - 1,) * 2 if transposed else (0, 0)
    geometry = (stride,) * 2, (padding,) * 2, (dilation,) * 2, transposed
    for one, other in ((x, w), (x.double(), w.double())):
        made = mt_core.convolution(one, other, None, *geometry, more, 2)
        grad = mt_core.tensor(drawn(5, *made.shape)).to(one.dtype)
        of_x, of_w, of_bias = convolution_gradients((True, True, True), grad, one, other, (*geometry, 2))
        assert (of_x.shape, of_w.shape) == (one.shape, other.shape)
        assert of_w.is_contiguous()
        wanted = (grad * made).sum()
        assert (of_x * one).sum() == wanted
        assert (of_w * other).sum() == wanted
        assert (of_bias == grad.sum((0, 2, 3))).all()
