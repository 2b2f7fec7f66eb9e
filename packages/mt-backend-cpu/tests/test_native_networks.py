"""Native kernels of networks: exact at every level, and the same however the work is divided."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

Array = np.ndarray


@pytest.fixture(autouse=True, scope="module")
def library() -> Iterator[Any]:
    if importlib.util.find_spec("mt_backend_cpu._native") is None:
        pytest.skip("the native library was not built")
    module = importlib.import_module("mt_backend_cpu._native")
    level, threads = module.level(), module.num_threads()
    yield module
    module.use_level(level)
    module.set_num_threads(threads)


def ways(library: Any) -> Iterator[str]:
    """Every level, by one thread and by two."""
    for level, threads in itertools.product(library.levels(), (1, 2)):
        library.use_level(level)
        library.set_num_threads(threads)
        yield f"{level} by {threads}"


def drawn(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def channels_innermost(x: Array) -> Array:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def layouts(x: Array) -> Iterator[Array]:
    """The array row by row, with its channels innermost, and every second element of a larger one."""
    yield x
    yield channels_innermost(x)
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    yield wide[..., ::2]


# Pooling

#: Sizes of the input, and geometry: outputs, kernel, stride, padding, dilation.
POOLS = [
    ((300,), ((149,), (4,), (2,), (1,), (1,))),
    ((6, 7), ((3, 4), (2, 3), (2, 2), (0, 1), (1, 1))),
    ((5, 9), ((3, 3), (3, 2), (1, 3), (1, 1), (2, 2))),
    ((4, 5, 6), ((2, 2, 6), (2, 3, 1), (2, 2, 1), (0, 1, 0), (1, 1, 1))),
]


def windows(sizes: tuple[int, ...], geometry: Any) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Each output's place and the places of its window that lie in the input, row by row."""
    outputs, kernel, stride, padding, dilation = geometry
    for at in itertools.product(*map(range, outputs)):
        along = [
            [i for i in (o * s - p + j * d for j in range(k)) if 0 <= i < n]
            for o, k, s, p, d, n in zip(at, kernel, stride, padding, dilation, sizes, strict=True)
        ]
        yield at, list(itertools.product(*along))


def flat(geometry: Any) -> tuple[int, ...]:
    return tuple(itertools.chain.from_iterable(geometry))


@pytest.mark.parametrize("sizes, geometry", POOLS)
def test_a_window_gives_its_first_largest_element_or_its_last_nan(library: Any, sizes: Any, geometry: Any) -> None:
    x = np.round(drawn(0, 2, 3, *sizes) * 2)
    x[0, 0][np.random.default_rng(1).random(sizes) < 0.1] = np.nan
    x[1, 0] = np.round(x[1, 0])
    values = np.empty((2, 3, *geometry[0]), np.float32)
    places = np.empty(values.shape, np.int64)
    for at, inside in windows(sizes, geometry):
        for n, c in itertools.product(range(2), range(3)):
            found = [float(x[(n, c, *i)]) for i in inside]
            nans = [j for j, v in enumerate(found) if math.isnan(v)]
            best = nans[-1] if nans else max(range(len(found)), key=lambda j: (found[j], -j))
            values[(n, c, *at)], places[(n, c, *at)] = found[best], np.ravel_multi_index(inside[best], sizes)
    for way, given in itertools.product(ways(library), layouts(x)):
        found_values, found_places = library.max_pool(given, flat(geometry), True)
        np.testing.assert_array_equal(found_values, values, way)
        np.testing.assert_array_equal(found_places, places, way)
        np.testing.assert_array_equal(library.max_pool(given, flat(geometry), False), values, way)
    innermost = library.max_pool(channels_innermost(x), flat(geometry), False)
    assert np.moveaxis(innermost, 1, -1).flags.c_contiguous


@pytest.mark.parametrize("with_padding, divisor", [(True, None), (False, None), (False, -3)])
@pytest.mark.parametrize("sizes, geometry", [pool for pool in POOLS if set(pool[1][4]) == {1}])
def test_means_of_windows_and_their_gradients(
    library: Any, sizes: Any, geometry: Any, with_padding: bool, divisor: int | None
) -> None:
    x, grad = drawn(2, 2, 3, *sizes), drawn(3, 2, 3, *geometry[0])
    means, gradient = np.empty(grad.shape), np.zeros(x.shape)
    _, kernel, stride, padding, _ = geometry
    for at, inside in windows(sizes, geometry):
        bounds = [(o * s - p, min(o * s - p + k, n + p)) for o, k, s, p, n in
                  zip(at, kernel, stride, padding, sizes, strict=True)]  # fmt: skip
        count = divisor or (math.prod(b - a for a, b in bounds) if with_padding else len(inside))
        picked = (slice(None), slice(None), *np.array(inside).T)
        means[(..., *at)] = x[picked].astype(np.float64).sum(-1) / count
        np.add.at(gradient, picked, (grad[(..., *at)].astype(np.float64) / count)[..., None])
    for way, given in itertools.product(ways(library), layouts(x)):
        found = library.avg_pool(given, flat(geometry), with_padding, divisor)
        np.testing.assert_allclose(found, means, rtol=1e-5, atol=1e-6, err_msg=way)
    for way, given in itertools.product(ways(library), layouts(grad)):
        found = library.avg_pool_backward(given, flat(geometry), sizes, with_padding, divisor)
        np.testing.assert_allclose(found, gradient, rtol=1e-5, atol=1e-6, err_msg=way)


@pytest.mark.parametrize("sizes, outputs", [((7,), (3,)), ((5, 8), (5, 3)), ((4, 5, 6), (3, 7, 2))])
def test_adaptive_windows(library: Any, sizes: tuple[int, ...], outputs: tuple[int, ...]) -> None:
    x, grad = drawn(4, 2, 3, *sizes), drawn(5, 2, 3, *outputs)
    x[0, 0].reshape(-1)[[1, 2]] = np.nan
    flat_places = np.arange(math.prod(sizes)).reshape(sizes)
    expected = np.empty((2, 3, *outputs)), np.empty((2, 3, *outputs), np.int64), np.empty((2, 3, *outputs))
    gradient = np.zeros(x.shape)
    for at in itertools.product(*map(range, outputs)):
        part = tuple(slice(o * n // m, -(-(o + 1) * n // m)) for o, n, m in zip(at, sizes, outputs, strict=True))
        rows = x[(..., *part)].reshape(2, 3, -1)
        nans = np.isnan(rows)
        last = rows.shape[-1] - 1 - nans[..., ::-1].argmax(-1)
        chosen = np.where(nans.any(-1), last, rows.argmax(-1))
        expected[0][(..., *at)] = np.take_along_axis(rows, chosen[..., None], -1)[..., 0]
        expected[1][(..., *at)] = flat_places[part].reshape(-1)[chosen]
        expected[2][(..., *at)] = rows.astype(np.float64).mean(-1)
        gradient[(..., *part)] += (grad[(..., *at)] / rows.shape[-1]).reshape(2, 3, *[1] * len(sizes))
    for way, given in itertools.product(ways(library), layouts(x)):
        values, places = library.adaptive_max_pool(given, outputs)
        np.testing.assert_array_equal(values, expected[0], way)
        np.testing.assert_array_equal(places, expected[1], way)
        found = library.adaptive_avg_pool(given, outputs)
        np.testing.assert_allclose(found, expected[2], rtol=1e-5, atol=1e-6, err_msg=way)
        np.testing.assert_allclose(
            library.adaptive_avg_pool_backward(grad, sizes), gradient, rtol=1e-5, atol=1e-6, err_msg=way
        )


# Losses


def test_losses_of_classes(library: Any) -> None:
    x = drawn(6, 70, 301) * 4
    labels = np.random.default_rng(7).integers(0, 301, 70)
    weight = np.abs(drawn(8, 301))
    weight[labels[3]] = 0
    log = x - x.max(1, keepdims=True).astype(np.float64)
    log -= np.log(np.exp(log).sum(1, keepdims=True))
    for ignored in (-100, int(labels[0])):
        kept = labels != ignored
        plain = np.where(kept, -log[np.arange(70), labels], 0)
        weights = np.where(kept, weight[labels], 0)
        for way in ways(library):
            found = [library.cross_entropy(x, labels, reduction, ignored) for reduction in range(3)]
            for value, exact in zip(found, (plain, plain.sum() / kept.sum(), plain.sum()), strict=True):
                np.testing.assert_allclose(value, exact, rtol=2e-6, atol=1e-6, err_msg=way)
            scores = log.astype(np.float32)
            loss, total = library.nll_loss(scores, labels, weight, 1, ignored)
            np.testing.assert_allclose(total, weights.sum(), rtol=1e-6)
            np.testing.assert_allclose(loss, (plain * weights).sum() / weights.sum(), rtol=1e-6)
            gradient = library.nll_loss_backward(np.float32([2]), scores, labels, weight, 1, ignored, total)
            expected = np.zeros(x.shape)
            expected[np.arange(70), labels] = -2 * weights / weights.sum()
            np.testing.assert_allclose(gradient, expected, rtol=1e-5)


def test_what_counts_for_nothing_has_no_infinity_but_what_weighs_nothing_has(library: Any) -> None:
    scores, labels = np.float32([[-np.inf, 0], [0, -1]]), np.array([0, 1])
    assert library.nll_loss(scores, labels, None, 2, 0)[0] == 1
    assert np.isnan(library.nll_loss(scores, labels, np.float32([0, 1]), 2, -100)[0])
    assert np.isnan(library.cross_entropy(scores, np.array([0, 0]), 1, 0))  # the mean of nothing
    assert library.cross_entropy(scores, np.array([0, 2]), 1, -100) is None
    assert library.nll_loss(scores, np.array([0, -1]), None, 1, -100) is None


@pytest.mark.parametrize("shape, dim", [((3, 5), 0), ((2, 300, 70), 1), ((4, 1, 3), 1), ((2, 3, 4), -1)])
def test_softmax_along_any_dimension(library: Any, shape: tuple[int, ...], dim: int) -> None:
    x, grad = drawn(9, *shape) * 5, drawn(10, *shape)
    log = x - x.max(dim, keepdims=True).astype(np.float64)
    log -= np.log(np.exp(log).sum(dim, keepdims=True))
    y = np.exp(log)
    for way in ways(library):
        np.testing.assert_allclose(library.softmax(x, dim), y, rtol=3e-6, atol=1e-12, err_msg=way)
        np.testing.assert_allclose(library.log_softmax(x, dim), log, rtol=1e-6, atol=2e-6, err_msg=way)
        slope = y * (grad - (grad * y).sum(dim, keepdims=True))
        found = library.softmax_backward(grad, y.astype(np.float32), dim)
        np.testing.assert_allclose(found, slope, atol=2e-6, err_msg=way)
        slope = grad - y * grad.sum(dim, keepdims=True, dtype=np.float64)
        found = library.log_softmax_backward(grad, log.astype(np.float32), dim)
        np.testing.assert_allclose(found, slope, atol=1e-5, err_msg=way)


# Norms


def gradient_of_norm(grad: Array, normal: Array, rstd: Array, axes: tuple[int, ...]) -> Array:
    """Of elements that were normalized over the axes."""
    level, slope = grad.mean(axes, keepdims=True), (grad * normal).mean(axes, keepdims=True)
    return (grad - level - normal * slope) * rstd


@pytest.mark.parametrize("shape", [(1, 3), (5, 768), (200, 33), (3, 9000)])
def test_gradients_of_layer_norm_and_rms_norm(library: Any, shape: tuple[int, int]) -> None:
    x, grad, weight = drawn(11, *shape) * 2 + 1, drawn(12, *shape), drawn(13, shape[1])
    wide, width = x.astype(np.float64), shape[1]
    mean, rstd = wide.mean(1, keepdims=True), 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    normal = (wide - mean) * rstd
    given = (mean.astype(np.float32).reshape(-1), rstd.astype(np.float32).reshape(-1))
    rms = 1 / np.sqrt((wide * wide).mean(1, keepdims=True) + 1e-6)
    for way in ways(library):
        for scale in (weight, None):
            of_x, of_weight, of_bias = library.layer_norm_backward(grad, x, width, *given, scale, True, True)
            expected = gradient_of_norm(grad * (1.0 if scale is None else scale), normal, rstd, (1,))
            np.testing.assert_allclose(of_x, expected, atol=1e-5, err_msg=way)
            np.testing.assert_allclose(of_weight, (grad * normal).sum(0), rtol=1e-5, atol=2e-5, err_msg=way)
            np.testing.assert_allclose(of_bias, grad.sum(0, dtype=np.float64), rtol=1e-5, atol=1e-5, err_msg=way)
            result, found = library.rms_norm(x, width, scale, 1e-6)
            np.testing.assert_allclose(found, rms.reshape(-1), rtol=1e-6)
            np.testing.assert_allclose(result, wide * rms * (1.0 if scale is None else scale), rtol=2e-6, atol=1e-6)
    assert library.layer_norm_backward(grad, x, width, *given, None, False, False) == (None, None, None)


@pytest.mark.parametrize("groups", [1, 3, 6])
def test_group_norm_and_its_gradients(library: Any, groups: int) -> None:
    x, grad = drawn(14, 4, 6, 5, 7) + 3, drawn(15, 4, 6, 5, 7)
    weight, bias = drawn(16, 2, 6)
    wide = x.astype(np.float64).reshape(4, groups, -1)
    mean, rstd = wide.mean(2), 1 / np.sqrt(wide.var(2) + 1e-5)
    normal = (wide - mean[..., None]) * rstd[..., None]
    scale, shift = weight.reshape(6, 1, 1), bias.reshape(6, 1, 1)
    given = mean.astype(np.float32), rstd.astype(np.float32)
    of_normal = (grad * scale).astype(np.float64).reshape(wide.shape)
    expected = gradient_of_norm(of_normal, normal, rstd[..., None], (2,)).reshape(x.shape)
    for way in ways(library):
        result, means, rstds = library.group_norm(x, groups, weight, bias, 1e-5)
        np.testing.assert_allclose(result, normal.reshape(x.shape) * scale + shift, atol=1e-5, err_msg=way)
        np.testing.assert_allclose((means, rstds), (mean, rstd), rtol=1e-5)
        of_x, of_weight, of_bias = library.group_norm_backward(grad, x, groups, *given, weight, True)
        np.testing.assert_allclose(of_x, expected, atol=1e-5, err_msg=way)
        np.testing.assert_allclose(of_weight, (grad * normal.reshape(x.shape)).sum((0, 2, 3)), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(of_bias, grad.sum((0, 2, 3)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(130, 5), (3, 4, 6, 7), (2, 65, 3, 4, 5)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_and_its_gradients(library: Any, shape: tuple[int, ...], training: bool) -> None:
    x, grad, channels = drawn(17, *shape) * 2 + 5, drawn(18, *shape), shape[1]
    weight, bias, kept = drawn(19, 3, channels)
    axes = (0, *range(2, len(shape)))
    along = (1, channels, *[1] * (len(shape) - 2))
    wide = x.astype(np.float64)
    mean, variance = (wide.mean(axes), wide.var(axes)) if training else (kept, np.abs(bias))
    rstd = 1 / np.sqrt(variance + 1e-5)
    normal = (wide - mean.reshape(along)) * rstd.reshape(along)
    of_normal = grad * weight.astype(np.float64).reshape(along)
    inner = gradient_of_norm(of_normal, normal, rstd.reshape(along), axes)
    expected = inner if training else of_normal * rstd.reshape(along)
    statistics = (None, None) if training else (mean, variance)
    for way, given in itertools.product(ways(library), layouts(x) if len(shape) > 2 else (x,)):
        result, means, variances, rstds = library.batch_norm(given, weight, bias, *statistics, 1e-5)
        exact = normal * weight.reshape(along) + bias.reshape(along)
        np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-5, err_msg=way)
        np.testing.assert_allclose(means, mean, rtol=1e-5)
        np.testing.assert_allclose(variances, variance, rtol=1e-5)
        np.testing.assert_allclose(rstds, rstd, rtol=1e-5)
        numbers = np.float32(mean), np.float32(rstd)
        of_x, of_weight, of_bias = library.batch_norm_backward(grad, given, weight, *numbers, training, True)
        np.testing.assert_allclose(of_x, expected, rtol=1e-5, atol=1e-5, err_msg=way)
        np.testing.assert_allclose(of_weight, (grad * normal).sum(axes), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(of_bias, grad.sum(axes), rtol=1e-4, atol=1e-4)


def test_given_statistics_keep_infinite_elements_out_of_gradients(library: Any) -> None:
    x, ones = np.full((2, 3, 4), np.inf, np.float32), np.ones(3, np.float32)
    of_x, _, _ = library.batch_norm_backward(np.ones_like(x), x, None, ones, ones, False, True)
    np.testing.assert_array_equal(of_x, 1)


def test_sums_do_not_depend_on_the_number_of_threads(library: Any) -> None:
    image = drawn(20, 16, 64, 15, 17)
    grad, rows, labels = drawn(21, *image.shape), drawn(22, 3000, 40), np.arange(3000) % 40
    numbers, row_numbers = drawn(23, 2, 64), drawn(24, 2, 3000)
    pool = (7, 8, 3, 3, 2, 2, 0, 0, 1, 1)
    results: list[list[Array]] = []
    for threads in (1, 2, 3):
        library.set_num_threads(threads)
        found = [library.softmax(image, 1), library.cross_entropy(rows, labels, 1, -100)]
        found += library.layer_norm_backward(rows, rows, 40, *row_numbers, None, True, True)
        found += library.group_norm_backward(grad, image, 4, *numbers, None, True)
        for given in (image, channels_innermost(image)):
            found += [library.avg_pool(given, pool, True, None), library.max_pool(given, pool, False)]
            found += library.batch_norm(given, None, None, None, None, 1e-5)
            found += library.batch_norm_backward(grad, given, None, *numbers, True, True)
        results.append(found)
    for other in results[1:]:
        for found, expected in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(found, expected)


# Convolution

#: Sizes of the input, outputs and channels of a group, groups; kernel, stride, padding, dilation.
CORRELATIONS = [
    ((150,), (13, 7, 1), ((3,), (1,), (2,), (1,))),
    ((290,), (1, 1, 3), ((4,), (2,), (1,), (2,))),
    ((9, 11), (30, 50, 1), ((3, 3), (1, 1), (1, 1), (1, 1))),
    ((12, 13), (5, 2, 3), ((2, 3), (2, 3), (0, 2), (1, 2))),
    ((8, 9), (1, 2, 4), ((3, 2), (1, 3), (1, 0), (2, 1))),
    ((10, 40), (2, 3, 2), ((9, 37), (1, 1), (0, 1), (1, 1))),
    ((4, 40), (1, 2, 2), ((4, 18), (1, 1), (0, 1), (1, 2))),
    ((3, 4, 5), (4, 3, 2), ((2, 1, 3), (1, 2, 2), (1, 0, 1), (2, 1, 1))),
]


def correlated(x: Array, w: Array, bias: Array, window: Any, groups: int) -> Array:
    """The definition, in double precision."""
    _, stride, padding, dilation = window
    spatial = len(stride)
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((p, p) for p in padding)])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(wide, reach, tuple(range(2, 2 + spatial)))
    steps = (*(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))
    view = view[(slice(None), slice(None), *steps)]
    places, kernel = "xyz"[:spatial], "ijk"[:spatial]
    parts = [
        np.einsum(f"nc{places}{kernel},oc{kernel}->no{places}", *part)
        for part in zip(np.split(view, groups, 1), np.split(w.astype(np.float64), groups, 0), strict=True)
    ]
    return np.concatenate(parts, 1) + bias.reshape(1, -1, *[1] * spatial)


@pytest.mark.parametrize("sizes, channels, window", CORRELATIONS)
def test_correlation_with_windows(library: Any, sizes: Any, channels: Any, window: Any) -> None:
    outputs, of_group, groups = channels
    x, bias = drawn(25, 2, of_group * groups, *sizes), drawn(26, outputs * groups)
    w = drawn(27, outputs * groups, of_group, *window[0])
    expected = correlated(x, w, bias, window, groups)
    scale = np.sqrt(of_group * math.prod(window[0]))
    for innermost in (False, True):
        made = []
        for way, given in itertools.product(ways(library), layouts(x)):
            found = library.correlate(given, w, bias, *window[1:], groups, innermost)
            np.testing.assert_allclose(found, expected, atol=2e-6 * scale, err_msg=way)
            made.append((way.split()[0], found))
        for level, several in itertools.groupby(made, lambda pair: pair[0]):
            first, *others = [found for _, found in several]
            for other in others:  # neither threads nor the layout show
                np.testing.assert_array_equal(other, first, level)
    plain = library.correlate(x, w, None, *window[1:], groups, False)
    np.testing.assert_allclose(plain + bias.reshape(1, -1, *[1] * len(sizes)), expected, atol=4e-6 * scale)


def test_a_window_wider_than_its_input_has_no_place(library: Any) -> None:
    assert library.correlate(drawn(28, 2, 3, 4), drawn(29, 5, 3, 6), None, (1,), (0,), (1,), 1, False).shape == (
        2,
        5,
        0,
    )


def test_what_is_no_number_spreads_as_far_as_its_windows(library: Any) -> None:
    x = np.zeros((1, 4, 40), np.float32)
    x[0, 2, 20] = np.nan
    for groups, outputs in ((1, 6), (4, 4)):
        w = np.ones((outputs, 4 // groups, 3), np.float32)
        found = np.isnan(library.correlate(x, w, None, (1,), (1,), (1,), groups, False)[0])
        expected = np.zeros(found.shape, np.bool_)
        expected[2 if groups == 4 else slice(None), 19:22] = True
        np.testing.assert_array_equal(found, expected)


# Refusals

F32 = np.ones((2, 4, 6), np.float32)
FOUR = np.ones(4, np.float32)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("max_pool", (F32, (1, 2, 0, 0, 1), True), "0 is no size"),
        ("max_pool", (F32, (1, 2, 1, -1, 1), True), "-1 is no size"),
        ("max_pool", (F32, (1, 2), True), "5 numbers for each"),
        ("max_pool", (F32, [1, 2, 1, 0, 1], True), "5 numbers for each"),
        ("max_pool", (F32.astype(np.float64), (1, 2, 1, 0, 1), True), "array of float32"),
        ("max_pool", (np.float32(1), (1, 2, 1, 0, 1), True), "must be an array"),
        ("avg_pool", (F32, (1, 2, 1, 0, 2), True, None), "no dilation"),
        ("avg_pool_backward", (F32, (5, 2, 1, 0, 1), (6,), True, None), "sizes of the geometry"),
        ("avg_pool_backward", (F32, (6, 2, 1, 0, 1), (6, 1), True, None), "of 1 dimensions"),
        ("adaptive_max_pool", (F32, ()), "1 numbers for each"),
        ("cross_entropy", (F32[0], np.zeros(3, np.int64), 1, -100), "N classes"),
        ("cross_entropy", (F32[0], np.zeros(4, np.int32), 1, -100), "row-major array of int64"),
        ("cross_entropy", (F32[0], np.zeros(4, np.int64), 3, -100), "reduction of 0 to 2"),
        ("nll_loss", (F32[0], np.zeros(4, np.int64), FOUR, 1, -100), "a weight for each class"),
        ("nll_loss_backward", (FOUR, F32[0], np.zeros(4, np.int64), None, 1, 9, FOUR[:1]), "shape of the loss"),
        ("layer_norm_backward", (F32, F32, 6, FOUR, FOUR, None, True, True), "argument 4 must have 8 elements"),
        ("layer_norm_backward", (F32, F32, 6, None, FOUR, None, True, True), "must be an array"),
        ("rms_norm", (F32, 5, None, 1e-5), "no rows of 5"),
        ("group_norm", (F32, 3, None, None, 1e-5), "divide the channels"),
        ("group_norm_backward", (F32, F32, 2, FOUR, FOUR[:3], None, True), "argument 5 must have 4 elements"),
        ("batch_norm", (F32, FOUR[:3], None, None, None, 1e-5), "a number for each channel"),
        ("batch_norm", (F32, None, None, FOUR, None, 1e-5), "a mean and a variance"),
        ("batch_norm_backward", (F32[:1], F32, None, FOUR, FOUR, True, True), "shape of the input"),
        ("batch_norm_backward", (F32, F32, None, None, FOUR, True, True), "a mean and a deviation"),
        ("correlate", (F32, F32, None, (1,), (0,), (1,), 2, False), "groups do not divide"),
        ("correlate", (F32, F32, None, (0,), (0,), (1,), 1, False), "0 is no stride"),
        ("correlate", (F32, F32, None, (1,), (-1,), (1,), 1, False), "-1 is no padding"),
        ("correlate", (F32, F32, None, (1, 1), (0,), (1,), 1, False), "a tuple of 1 numbers"),
        ("correlate", (F32, F32, FOUR, (1,), (0,), (1,), 1, False), "a bias for each output"),
        ("correlate", (F32, F32[..., :0], None, (1,), (0,), (1,), 1, False), "takes elements"),
    ],
)
def test_what_does_not_fit_is_refused(library: Any, name: str, arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        getattr(library, name)(*arguments)
    with pytest.raises(TypeError, match="keywords|takes"):
        getattr(library, name)(*arguments, out=F32)
