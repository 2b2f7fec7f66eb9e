"""The layout of a result depends on the call, not on calls before it that agree in all but strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch as mt
import mindtorch.nn.functional as F
from mt_core.dispatch.registry import forget_all

OPERATORS: dict[str, Callable[[Any], Any]] = {
    "conv2d": lambda x: F.conv2d(x, mt.ones(2, x.shape[1], 1, 1)),
    "conv2d, as weight": lambda x: F.conv2d(mt.ones(2, x.shape[1], 4, 4), x),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, mt.ones(x.shape[1], 2, 2, 2)),
    "max_pool2d": lambda x: F.max_pool2d(x, 1),
    "max_pool2d, positions": lambda x: F.max_pool2d(x, 1, return_indices=True)[1],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 1),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, mt.zeros(x.shape[1]), mt.ones(x.shape[1])),
    "group_norm": lambda x: mt.group_norm(x, 1),
    "pad, zeros": lambda x: F.pad(x, (1, 1)),
    "pad, replicate": lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "interpolate, bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x.repeat(1, 1, 2, 2), 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 1),
    "cat": lambda x: mt.cat([x, x], 1),
    "stack": lambda x: mt.stack([x, x], 1),
    "softmax": lambda x: mt.softmax(x, 1),
    "gelu": F.gelu,
    "add": lambda x: x + x,
    "cumsum": lambda x: x.cumsum(1),
    "sort": lambda x: x.sort(1)[0],
    "index_select": lambda x: x.index_select(1, mt.tensor([0])),
    "empty_like": mt.empty_like,
    "flip": lambda x: x.flip(1),
}

#: Sizes (N, C, H, W), at least one of them 1.
SHAPES = st.tuples(*[st.sampled_from((1, 2, 3))] * 4).filter(lambda shape: 1 in shape)


def layouts_of(shape: tuple[int, ...], step: int) -> list[mt.Tensor]:
    """Equal tensors: row-major, channels_last, and row-major with another step along dimensions of size 1."""
    plain = mt.ones(shape)
    free = [step if size == 1 else s for size, s in zip(shape, plain.stride(), strict=True)]
    return [plain, plain.to(memory_format=mt.channels_last), mt.ones(shape).as_strided(shape, free)]


def strides_of(operator: Callable[[Any], Any], x: mt.Tensor, graph: bool) -> list[tuple[int, ...]]:
    leaf = x.detach().requires_grad_(graph)
    result = operator(leaf)
    if not graph or not result.requires_grad:
        return [result.stride()]
    return [result.stride(), mt.autograd.grad(result.sum(), leaf)[0].stride()]


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(shape=SHAPES, step=st.integers(1, 7), graph=st.booleans())
def test_strides_are_the_same_whatever_was_called_before(name, shape, step, graph):
    operator, inputs = OPERATORS[name], layouts_of(shape, step)
    fresh = []
    for x in inputs:
        forget_all()
        fresh.append(strides_of(operator, x, graph))
    for first in inputs:
        forget_all()
        strides_of(operator, first, graph)
        assert [strides_of(operator, x, graph) for x in inputs] == fresh


def test_both_memory_formats_of_one_pixel_are_told_apart():
    weight = mt.ones(8, 8, 1, 1)
    last = weight.as_strided((8, 8, 1, 1), (8, 1, 8, 8))
    found = [F.conv2d(mt.ones(2, 8, 4, 4), w).stride() for w in (weight, last, weight)]
    assert found == [(128, 16, 4, 1), (128, 1, 32, 8), (128, 16, 4, 1)]
    assert [F.max_pool2d(w, 1).stride() for w in (weight, last, weight)] == [(8, 1, 1, 1), (8, 1, 8, 8), (8, 1, 1, 1)]
