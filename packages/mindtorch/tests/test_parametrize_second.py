"""A second parametrization of a tensor: what its inverse is tried on, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import mindtorch as torch
from mindtorch import Tensor, nn
from mindtorch.nn.utils.parametrize import register_parametrization


class Scaled(nn.Module):
    """Times three; the inverse refuses what is not a multiple of three of what was there."""

    def __init__(self, inverse: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.right_inverse = inverse

    def forward(self, x: Tensor) -> Tensor:
        return x * 3


def _linear() -> nn.Linear:
    layer = nn.Linear(2, 3)
    return register_parametrization(layer, "weight", nn.Identity())


def test_the_inverse_is_tried_on_the_result() -> None:
    layer, seen = _linear(), []

    def inverse(x: Tensor) -> Tensor:
        seen.append(x)
        return x / 3

    before = layer.weight.detach().clone()
    register_parametrization(layer, "weight", Scaled(inverse))
    assert torch.allclose(seen[0], before * 3)


def test_an_inverse_that_is_not_implemented_is_none() -> None:
    def inverse(x: Tensor) -> Tensor:
        raise NotImplementedError

    layer = register_parametrization(_linear(), "weight", Scaled(inverse))
    assert len(layer.parametrizations.weight) == 2


@pytest.mark.parametrize(
    ("inverse", "what", "found"),
    [(Tensor.bool, "dtype", "torch.bool"), (lambda x: x[:-1], "shape", "torch.Size([2, 2])")],
)
def test_an_inverse_that_changes_the_kind_is_refused(
    inverse: Callable[[Tensor], Tensor], what: str, found: str
) -> None:
    with pytest.raises(ValueError, match="right_inverse must have the same") as refused:
        register_parametrization(_linear(), "weight", Scaled(inverse))
    assert f"returned {what}: {found}" in str(refused.value)
