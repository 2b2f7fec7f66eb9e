"""Strides of results against PyTorch's, for inputs of random layouts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mt_core
from mt_core.layout import broadcast_shapes, broadcast_strides, output_strides

CASES = json.loads((Path(__file__).parent / "snapshots" / "layouts.json").read_text())


def build(recipe: dict[str, Any], device: str) -> mt_core.Tensor:
    """The input that a recipe describes; see ``snapshots/make_layouts.py``."""
    shape, permutation = recipe["shape"], recipe["permutation"]
    sizes = [1 if e else n * s for n, s, e in zip(shape, recipe["steps"], recipe["expanded"], strict=True)]
    view = mt_core.zeros([sizes[p] for p in permutation], device=device).permute(
        [permutation.index(i) for i in range(len(shape))]
    )
    for dim, (step, expanded) in enumerate(zip(recipe["steps"], recipe["expanded"], strict=True)):
        if not expanded:
            view = view[(slice(None),) * dim + (slice(None, None, step),)]
    return view.expand(shape)


def results(inputs: list[mt_core.Tensor]) -> dict[str, mt_core.Tensor]:
    first = inputs[0]
    found = {"first": first, "neg": -first, "clone": first.clone(), "zeros_like": mt_core.zeros_like(first)}
    found |= {"gt": first > 0, "double": first.double(), "sum": first.sum(0), "contiguous": first.contiguous()}
    if len(inputs) > 1:
        found |= {"add": first + inputs[1], "where": mt_core.where(first > 0, first, inputs[1])}
    if len(inputs) > 2:
        found["addcmul"] = mt_core.addcmul(*inputs)
    return found


def visible(shape: Sequence[int], strides: Sequence[int]) -> list[int | None]:
    """Strides of dimensions with a second element.

    The others reach nothing, and NumPy does not keep them for new arrays.
    """
    return [step if size > 1 else None for size, step in zip(shape, strides, strict=True)]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_strides_of_views_are_exactly_those_of_pytorch(device: str) -> None:
    for case in CASES:
        assert list(build(case["inputs"][0], device).stride()) == case["strides"]["first"]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_strides_are_those_of_pytorch(device: str) -> None:
    wrong = []
    for number, case in enumerate(CASES):
        for name, tensor in results([build(r, device) for r in case["inputs"]]).items():
            if visible(tensor.shape, tensor.stride()) != visible(tensor.shape, case["strides"][name]):
                wrong.append((number, name, tensor.stride(), case["strides"][name]))
    assert not wrong, f"{len(wrong)} of {len(CASES)} cases differ, such as {wrong[:3]}"


shapes = st.lists(st.integers(1, 5), max_size=4).map(tuple)


@given(shapes, st.randoms(use_true_random=False))
def test_outputs_are_dense(shape: tuple[int, ...], random: Any) -> None:
    strides = list(range(1, len(shape) + 1))
    random.shuffle(strides)
    found = output_strides(shape, [broadcast_strides(shape, tuple(strides), shape)])
    order = sorted((s, n) for s, n in zip(found, shape, strict=True) if n > 1)
    assert math.prod(shape) == 1 or order[-1][0] * order[-1][1] == math.prod(shape)


@given(shapes)
def test_broadcasting_with_ones_changes_nothing(shape: tuple[int, ...]) -> None:
    assert broadcast_shapes([shape, (1,) * len(shape)]) == shape
    assert broadcast_shapes([shape, ()]) == shape


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 0",
    ):
        mt_core.ones(2) + mt_core.ones(3)
