"""`torch._C._select_conv_backend`: what is said of who carries a convolution out."""

from __future__ import annotations

import pytest

import mindtorch as torch


@pytest.mark.parametrize(("shape", "name"), [((0, 2, 7), "Empty"), ((2, 0, 7), "Empty"), ((2, 2, 7), "Overrideable")])
def test_nothing_to_convolve_is_told_from_something(shape: tuple[int, ...], name: str) -> None:
    weight = torch.ones(3, shape[1], 3)
    chosen = torch._C._select_conv_backend(torch.ones(shape), weight, None, [1], [0], [1], False, [0], 1)
    assert chosen is torch._C._ConvBackend[name]
