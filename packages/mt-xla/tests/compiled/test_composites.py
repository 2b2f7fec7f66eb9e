"""Operators that are lowered by what they are written in: as wide, and rounded as often, as in eager execution."""

from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch.testing import assert_close

OPERATORS = {
    "sigmoid_backward": torch.ops.aten.sigmoid_backward,
    "tanh_backward": torch.ops.aten.tanh_backward,
    "mish_backward": torch.ops.aten.mish_backward,
    "logaddexp": torch.logaddexp,
    "softplus": lambda x, y: torch.ops.aten.softplus_backward(x, y, 1.5, 20),
    "elu": lambda x, y: torch.ops.aten.elu_backward(x, 1.0, 1.0, 1.0, False, y),
}
PAIRS = [
    (torch.float32, torch.bfloat16),
    (torch.bfloat16, torch.float32),
    (torch.float16, torch.float32),
    (torch.bfloat16, torch.bfloat16),
    (torch.float16, torch.float16),
    (torch.float64, torch.float32),
]


@pytest.mark.parametrize("name", OPERATORS)
def test_mixed_and_half_types(name: str) -> None:
    torch.manual_seed(0)
    numbers = [(torch.randn(64).to(a), torch.rand(64).to(b)) for a, b in PAIRS]
    operator = OPERATORS[name]

    def program(pairs):
        return [operator(x, y) for x, y in pairs]

    found = torch.compile(program, backend="xla", fullgraph=True)(numbers)
    for one, expected in zip(found, program(numbers), strict=True):
        assert one.dtype is expected.dtype
        # Rounded once: no element of a half type is more than one representable number off, and few are at all.
        assert_close(one, expected, rtol=2 * torch.finfo(one.dtype).eps, atol=2 * torch.finfo(one.dtype).eps / 8)
