"""``torch.backends.cuda`` and ``torch.nn.attention`` throw one and the same switches."""

from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch.nn.attention import SDPBackend, sdpa_kernel

cuda = torch.backends.cuda
ENABLE = {
    SDPBackend.MATH: cuda.enable_math_sdp,
    SDPBackend.FLASH_ATTENTION: cuda.enable_flash_sdp,
    SDPBackend.EFFICIENT_ATTENTION: cuda.enable_mem_efficient_sdp,
    SDPBackend.CUDNN_ATTENTION: cuda.enable_cudnn_sdp,
}
IS_ENABLED = {
    SDPBackend.MATH: cuda.math_sdp_enabled,
    SDPBackend.FLASH_ATTENTION: cuda.flash_sdp_enabled,
    SDPBackend.EFFICIENT_ATTENTION: cuda.mem_efficient_sdp_enabled,
    SDPBackend.CUDNN_ATTENTION: cuda.cudnn_sdp_enabled,
}


@pytest.fixture(autouse=True)
def restored():
    yield
    for enable in ENABLE.values():
        enable(True)


@pytest.mark.parametrize("backend", list(ENABLE))
def test_one_switch(backend):
    with sdpa_kernel(backend):
        assert [other for other, is_enabled in IS_ENABLED.items() if is_enabled()] == [backend]
    assert all(is_enabled() for is_enabled in IS_ENABLED.values())
    ENABLE[backend](False)
    assert backend not in torch.nn.attention._cur_sdpa_kernel_backends()
    assert not IS_ENABLED[backend]()


def test_attention_raises_when_all_are_disabled():
    x = torch.ones(1, 1, 2, 2)
    for enable in ENABLE.values():
        enable(False)
    with pytest.raises(RuntimeError, match="turning off both the math kernel and the fused kernels"):
        torch.nn.functional.scaled_dot_product_attention(x, x, x)
    cuda.enable_math_sdp(True)
    assert torch.nn.functional.scaled_dot_product_attention(x, x, x).shape == x.shape


def test_the_old_context_manager():
    with pytest.warns(FutureWarning, match="deprecated"), cuda.sdp_kernel(enable_flash=False):
        assert (cuda.flash_sdp_enabled(), cuda.math_sdp_enabled()) == (False, True)
    assert cuda.flash_sdp_enabled()


@pytest.mark.parametrize("value", [1, "x", None])
def test_a_switch_is_a_bool(value):
    with pytest.raises(RuntimeError, match=f"expects a bool, but got {type(value).__name__}"):
        cuda.enable_flash_sdp(value)
