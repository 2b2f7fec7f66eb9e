"""Tensors without memory: what can be read of them, and that no kernel takes them."""

import pytest

import mt_core
from mt_core import Tensor, device
from mt_core.hollow import hollow_tensor
from mt_core.keys import TRACING


def test_layout_is_that_of_a_tensor_with_memory():
    real = mt_core.ones(4, 6)[1:, ::2]
    stand_in = hollow_tensor(Tensor, real.shape, real.dtype, real.device, TRACING, real.stride(), real.storage_offset())
    assert stand_in.shape == real.shape and stand_in.stride() == real.stride()
    assert stand_in.dtype is real.dtype and stand_in.device == real.device
    assert stand_in.is_contiguous() == real.is_contiguous()


def test_device_need_not_be_there():
    stand_in = hollow_tensor(Tensor, (2, 3), mt_core.float32, device("cuda", 1), TRACING)
    assert stand_in.device == device("cuda", 1)
    assert stand_in.is_cuda


def test_nobody_carries_its_calls_out_unless_there_is_a_layer():
    stand_in = hollow_tensor(Tensor, (2, 3), mt_core.float32, device("cpu"), TRACING)
    with pytest.raises(NotImplementedError, match="dispatch key TRACING"):
        mt_core.neg(stand_in)
