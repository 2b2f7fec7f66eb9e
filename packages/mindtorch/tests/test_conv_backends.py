"""`torch._C._select_conv_backend`: what is said of who carries a convolution out."""

from __future__ import annotations

import pytest

import mindtorch as torch


def _chosen(input: torch.Tensor, transposed: bool = False, dilation: int = 1) -> str:
    spatial = input.dim() - 2
    weight = torch.ones(*((input.shape[1], 3) if transposed else (3, input.shape[1])), *[3] * spatial)
    one, no = [1] * spatial, [0] * spatial
    numbers = one, no, [dilation] * spatial, transposed, no, 1
    return torch._C._select_conv_backend(input, weight.to(input.device), None, *numbers).name


@pytest.mark.parametrize("shape", [(0, 2, 7), (2, 0, 7), (0, 2, 7, 7)])
def test_there_may_be_nothing_to_convolve(shape: tuple[int, ...]) -> None:
    assert _chosen(torch.ones(shape)) == "Empty"


@pytest.mark.parametrize(("spatial", "named"), [(1, "2d"), (2, "2d"), (3, "3d")])
def test_the_kind_of_convolution_is_named(spatial: int, named: str) -> None:
    input = torch.ones(2, 2, *[7] * spatial)
    assert _chosen(input) == f"Slow{named}"
    assert _chosen(input, dilation=2) == f"SlowDilated{named}"
    assert _chosen(input, transposed=True, dilation=2) == f"SlowTranspose{named}"


def test_other_devices_have_kernels_of_their_own() -> None:
    assert _chosen(torch.ones(2, 2, 7, device="meta")) == "Overrideable"
