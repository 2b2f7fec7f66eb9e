"""Questions about tensors that PyTorch answers at the top level."""

from __future__ import annotations

import pytest

import mindtorch as torch


@pytest.mark.parametrize(
    ("dtype", "floating", "complex_", "signed"),
    [
        (torch.float32, True, False, True),
        (torch.bfloat16, True, False, True),
        (torch.complex64, False, True, True),
        (torch.int64, False, False, True),
        (torch.uint8, False, False, False),
        (torch.bool, False, False, False),
    ],
)
def test_kinds_of_dtype(dtype: torch.dtype, floating: bool, complex_: bool, signed: bool) -> None:
    tensor = torch.zeros(2, dtype=dtype)
    assert torch.is_floating_point(tensor) is floating
    assert torch.is_complex(tensor) is complex_
    assert torch.is_signed(tensor) is signed


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match=r"is_complex\(\): argument 'input' \(position 1\) must be Tensor, not int"):
        torch.is_complex(1)


def test_sizes_and_values() -> None:
    tensor = torch.zeros(2, 3)
    assert torch.numel(tensor) == 6
    assert torch.is_same_size(tensor, torch.ones(2, 3))
    assert not torch.is_same_size(tensor, torch.ones(3, 2))
    assert torch.is_nonzero(torch.tensor([2.0]))
    assert torch.get_device(tensor) == -1
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        torch.is_nonzero(tensor)


def test_promotion_questions() -> None:
    assert torch.result_type(torch.tensor([1, 2]), 1.0) is torch.float32
    assert torch.result_type(torch.tensor([1], dtype=torch.uint8), torch.tensor(1)) is torch.uint8
    assert torch.can_cast(torch.float64, torch.float32)
    assert not torch.can_cast(torch.float32, torch.int64)


def test_detached_tensors_share_memory() -> None:
    tensor = torch.zeros(2, requires_grad=True)
    alias = torch.detach(tensor)
    alias[0] = 1
    assert not alias.requires_grad
    assert tensor[0].item() == 1
