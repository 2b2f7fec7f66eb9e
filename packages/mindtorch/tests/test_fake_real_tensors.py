"""Real tensors that fake ones carry along (``fake_tensor_propagate_real_tensors``)."""

from __future__ import annotations

import copy
from unittest.mock import patch

import pytest

import mindtorch as torch
from mindtorch._functorch import config
from mindtorch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from mindtorch.fx.experimental.symbolic_shapes import ShapeEnv


def _mode(**options):
    with patch.object(config, "fake_tensor_propagate_real_tensors", True):
        return FakeTensorMode(**options)


def test_the_setting_is_read_when_a_mode_is_made():
    assert _mode().propagate_real_tensors
    assert not config.fake_tensor_propagate_real_tensors and not FakeTensorMode().propagate_real_tensors
    assert FakeTensorMode().from_tensor(torch.ones(2)).real_tensor is None


def test_operators_are_carried_out_on_copies():
    mode, given = _mode(), torch.arange(4.0).reshape(2, 2)
    fake = mode.from_tensor(given)
    with mode:
        row = fake[0]
        row.add_(10)
        product = (fake @ fake).t()
        values, places = fake.max(0)
        made = torch.tensor([1.0, 2.0]) + torch.zeros(2)
        torch.mul(fake, 2, out=product)
    assert given.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert fake.real_tensor.tolist() == [[10.0, 11.0], [2.0, 3.0]] and row.real_tensor.tolist() == [10.0, 11.0]
    assert product.real_tensor.tolist() == [[20.0, 22.0], [4.0, 6.0]]
    assert product.real_tensor.stride() == product.stride() == (1, 2)
    assert values.real_tensor.tolist() == [10.0, 11.0] and places.real_tensor.tolist() == [0, 0]
    assert made.real_tensor.tolist() == [1.0, 2.0]
    with mode, pytest.raises(DataDependentOutputException):
        fake.sum().item()


def test_copies_alias_as_the_tensors_do():
    mode, given = _mode(), torch.zeros(3)
    whole, part = mode.from_tensor(given), mode.from_tensor(given[1:])
    with mode:
        part.fill_(2)
    assert whole.real_tensor.tolist() == [0.0, 2.0, 2.0] and not given.any()
    copied = copy.deepcopy(whole)
    with mode:
        whole.add_(1)
    assert copied.real_tensor.tolist() == [0.0, 2.0, 2.0]


def test_gradients_and_modules():
    mode = _mode()
    layer = torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    weight = mode.from_tensor(layer.weight)
    x = mode.from_tensor(torch.tensor([[5.0, 6.0]]))
    with mode:
        torch.nn.functional.linear(x, weight).sum().backward()
    assert weight.grad.real_tensor.tolist() == [[5.0, 6.0], [5.0, 6.0]]
    assert layer.weight.grad is None


def test_what_is_written_from_unknown_elements_is_unknown_to_all_aliases():
    mode = _mode()
    x = mode.from_tensor(torch.zeros(3))
    unknown = mode.from_tensor(torch.empty(3, device="meta"))
    with mode:
        view = x[:2]
        other = torch.empty(3)
        other.set_(unknown.untyped_storage(), 0, (3,))
        assert other.real_tensor is None
        x.add_(other)
        assert x.real_tensor is None and view.real_tensor is None and (view + 1).real_tensor is None


def test_symbols_with_values_are_known_and_those_without_are_not():
    mode = _mode(shape_env=ShapeEnv(allow_scalar_outputs=True, allow_dynamic_output_shape_ops=True))
    x = mode.from_tensor(torch.tensor([0.0, 1.0, 2.0]))
    with mode:
        assert x.expand(2, x.shape[0]).reshape(-1).real_tensor.tolist() == [0.0, 1.0, 2.0] * 2
        assert x.nonzero().real_tensor.tolist() == [[1], [2]]
        assert (x * x.sum().item()).real_tensor is None
