"""Pooling: what windows see, and what is refused."""

from __future__ import annotations

import math

import pytest

from mt_core.testing.namespace import namespace

torch = namespace()

F = torch.nn.functional


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_pooling_agrees_with_windows_taken_one_by_one(spatial: int) -> None:
    x = torch.randn(2, 3, *[7] * spatial)
    windows = x
    for d in range(spatial):
        windows = windows.unfold(2 + d, 3, 2)
    dims = tuple(range(-spatial, 0))
    assert torch.allclose(getattr(F, f"avg_pool{spatial}d")(x, 3, 2), windows.mean(dims), atol=1e-6)
    values, indices = getattr(F, f"max_pool{spatial}d_with_indices")(x, 3, 2)
    assert torch.equal(values, windows.amax(dims))
    assert torch.equal(x.flatten(2).gather(2, indices.flatten(2)).reshape(values.shape), values)


def test_integer_averages_round_towards_zero() -> None:
    x = torch.tensor([[[-7, -8], [-9, -10]]])
    assert F.avg_pool2d(x, 2).item() == -8


@pytest.mark.parametrize("window, words", [
    ({"kernel_size": 2, "stride": 0}, "stride must be greater than zero, but got 0"),
    ({"kernel_size": 0}, "kernel_size must be greater than zero, but got 0"),
    ({"kernel_size": 2, "padding": 2}, "should be at most half of kernel size, but got padding=2 and kernel_size=2"),
    ({"kernel_size": 9}, "Invalid computed output size: 0"),
    ({"kernel_size": (2, 2)}, "of size 1 but got size 2"),
])  # fmt: skip
def test_windows_that_make_no_sense(window: dict, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        F.max_pool1d(torch.ones(1, 4), **window)


def test_averages_of_output_sizes_must_match_the_dimensions() -> None:
    with pytest.raises(RuntimeError, match="adaptive_avg_pool2d: output_size must be 2"):
        F.adaptive_avg_pool2d(torch.ones(1, 1, 4, 4), (1, 1, 1))


@pytest.mark.parametrize("dilation, padding", [(1, 0), (1, 1), (2, 1)])
def test_a_window_gives_its_first_largest_inner_element_and_its_last_nan(dilation: int, padding: int) -> None:
    x = torch.tensor([[[-math.inf, -math.inf, -math.inf, 2.0, 2.0, math.nan, 1.0, math.nan, 3.0]]])
    values, places = F.max_pool1d_with_indices(x, 3, 1, padding, dilation)
    line = x[0, 0].tolist()
    for i, (value, place) in enumerate(zip(values[0, 0].tolist(), places[0, 0].tolist(), strict=True)):
        inside = [j for j in range(i - padding, i - padding + 3 * dilation, dilation) if 0 <= j < len(line)]
        nans = [j for j in inside if math.isnan(line[j])]
        assert place == (nans[-1] if nans else max(inside, key=lambda j: (line[j], -j)))
        assert math.isnan(value) if nans else value == line[place]


@pytest.mark.parametrize("size", [1, 2])
def test_adaptive_windows_give_their_last_nan(size: int) -> None:
    x = torch.tensor([[[1.0, math.nan, 5.0, math.nan, 2.0, 7.0]]])
    values, places = torch.adaptive_max_pool1d(x, size)
    assert math.isnan(values[0, 0, 0].item())
    assert places[0, 0].tolist() == ([3] if size == 1 else [1, 3])
