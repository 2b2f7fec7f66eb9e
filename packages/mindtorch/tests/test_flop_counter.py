"""Counts of floating-point operations: those of PyTorch."""

from __future__ import annotations

import warnings

import pytest

import mindtorch as torch
from mindtorch.nn import functional as F
from mindtorch.utils.flop_counter import FlopCounterMode, register_flop_formula


def count(program: object) -> int:
    with FlopCounterMode(display=False) as mode:
        program()
    return mode.get_total_flops()


def test_products_count_twice_what_they_multiply() -> None:
    a, b = torch.ones(4, 5), torch.ones(5, 6)
    assert count(lambda: torch.mm(a, b)) == 2 * 4 * 5 * 6
    assert count(lambda: torch.addmm(torch.ones(6), a, b)) == 2 * 4 * 5 * 6
    assert count(lambda: torch.bmm(torch.ones(3, 4, 5), torch.ones(3, 5, 6))) == 3 * 2 * 4 * 5 * 6
    assert count(lambda: a + a) == 0


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("of_input", "of_weight"), [(True, True), (False, True), (True, False)])
def test_gradients_of_convolutions_count_as_much_as_the_convolution(
    transposed: bool, of_input: bool, of_weight: bool
) -> None:
    x = torch.randn(2, 3, 6, 6, requires_grad=of_input)
    w = torch.randn(*((3, 4) if transposed else (4, 3)), 2, 2, requires_grad=of_weight)
    convolve = F.conv_transpose2d if transposed else F.conv2d
    forward = count(lambda: convolve(x.detach(), w.detach()))
    assert count(lambda: convolve(x, w).sum().backward()) == forward * (1 + of_input + of_weight)


def test_modules_count_what_is_computed_within_them() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 6))
    with FlopCounterMode(display=False) as mode:
        net(torch.randn(3, 4)).sum().backward()
    counts = {module: {str(op): n for op, n in of.items()} for module, of in mode.get_flop_counts().items()}
    assert counts == {
        "Global": {"aten.addmm": 300, "aten.mm": 480},
        "Sequential": {"aten.addmm": 300, "aten.mm": 480},
        "Sequential.0": {"aten.addmm": 120, "aten.mm": 120},
        "Sequential.2": {"aten.addmm": 180, "aten.mm": 360},
    }
    lines = mode.get_table().splitlines()
    assert lines[0].split() == ["Module", "FLOP", "%", "Total"]
    assert lines[2].split()[0] == "Sequential"
    assert len(lines) == 2 + 3 * 3


def test_formulas_can_be_added_and_are_not_replaced() -> None:
    assert count(lambda: torch.cos(torch.ones(3))) == 0

    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.cos: lambda x, out_shape: x.numel()}) as mode:
        torch.cos(torch.ones(3))
    assert mode.get_total_flops() == 3
    with pytest.raises(RuntimeError, match=r"duplicate registrations for aten\.mm"):
        register_flop_formula(torch.ops.aten.mm)(lambda *args, **kwargs: 0)
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(torch.ops.aten.mm.default)(lambda *args, **kwargs: 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FlopCounterMode(torch.nn.Linear(1, 1), display=False)
    assert "not needed anymore" in str(caught[0].message)
