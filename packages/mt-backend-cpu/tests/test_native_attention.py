"""Attention by the native library: as exact as its definition, whatever the sizes, and without the matrix of scores."""

from __future__ import annotations

import importlib
import importlib.util
import math
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core

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


def defined(query: Array, key: Array, value: Array, causal: bool, scale: float) -> Array:
    query, key, value = (x.astype(np.float64) for x in (query, key, value))
    scores = query @ key.swapaxes(-2, -1) * scale
    if causal:
        scores = np.where(np.arange(scores.shape[-2])[:, None] >= np.arange(scores.shape[-1]), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ value


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "shape", [((), 1, 1, 1, 1), ((2,), 33, 70, 5, 13), ((2, 3), 70, 33, 64, 12), ((1, 2), 40, 300, 200, 25)]
)
def test_attention_of_any_sizes(library: Any, shape: Any, causal: bool) -> None:
    lead, queries, keys, width, values = shape
    draw = np.random.default_rng(11)
    q, k, v = (
        draw.standard_normal((*lead, *sizes)).astype(np.float32)
        for sizes in ((queries, width), (keys, width), (keys, values))
    )
    scale = 1 / math.sqrt(width)
    expected = defined(q, k, v, causal, scale)
    strided = [np.ascontiguousarray(np.moveaxis(x, -2, 0)) for x in (q, k, v)]
    for level in library.levels():
        library.use_level(level)
        library.set_num_threads(1)
        found = library.attention(q, k, v, causal, scale, 1.0)
        np.testing.assert_allclose(found, expected, atol=2e-6, rtol=2e-5, err_msg=level)
        library.set_num_threads(2)
        np.testing.assert_array_equal(library.attention(q, k, v, causal, scale, 1.0), found)
        moved = [np.moveaxis(x, 0, -2) for x in strided]
        np.testing.assert_array_equal(library.attention(*moved, causal, scale, 1.0), found)


def test_what_is_no_number_stays_in_its_query(library: Any) -> None:
    q, k = np.ones((40, 8), np.float32), np.ones((50, 8), np.float32)
    q[7, 3] = np.nan
    found = np.isnan(library.attention(q, k, k, False, 1.0, 1.0)).any(-1)
    assert np.flatnonzero(found).tolist() == [7]


@pytest.mark.parametrize("dtype", [mt_core.float32, mt_core.bfloat16])
def test_the_matrix_of_scores_is_never_there(dtype: Any) -> None:
    x = mt_core.ones(1, 2048, 8, dtype=dtype)
    attend = mt_core.scaled_dot_product_attention
    attend(x[:, :32], x, x, is_causal=True)
    tracemalloc.start()
    attend(x, x, x, is_causal=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2048 * 2048 / 4


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((4, 3), (5, 2), (5, 2)), "do not fit"),
        (((4, 3), (5, 3), (6, 2)), "do not fit"),
        (((2, 4, 3), (3, 5, 3), (3, 5, 2)), "do not fit"),
        (((4, 3), (1, 5, 3), (5, 2)), "do not fit"),
        (((4, 0), (5, 0), (5, 2)), "with elements"),
        (((3,), (5, 3), (5, 2)), "with elements"),
    ],
)
def test_what_does_not_fit_is_refused(library: Any, shapes: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        library.attention(*(np.ones(shape, np.float32) for shape in shapes), False, 1.0, 1.0)
    with pytest.raises(TypeError, match="with elements"):
        library.attention(*(np.ones((4, 4)) for _ in range(3)), False, 1.0, 1.0)
