"""Autocast, which can only be off, and the scaling of gradients."""

from __future__ import annotations

import math

import pytest

import mindtorch as torch


class Descent:
    """The least that a scaler needs of an optimizer."""

    def __init__(self, *parameters):
        self.param_groups = [{"params": list(parameters)}]
        self.steps = 0

    def step(self):
        self.steps += 1
        return "stepped"


@pytest.fixture
def parameter():
    return torch.ones(2, requires_grad=True)


@pytest.fixture
def scaler():
    return torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)


def test_autocast_switched_off_works():
    with torch.autocast("cpu", enabled=False):
        assert not torch.is_autocast_enabled("cpu")

    @torch.autocast("cpu", enabled=False)
    def function(x):
        return x + 1

    assert function(1) == 2


def test_autocast_switched_on_says_that_it_is_not_supported():
    with pytest.raises(NotImplementedError, match=r"torch\.autocast\('cpu'\)"):
        torch.autocast("cpu")
    assert not torch.amp.is_autocast_available("cpu")


def test_autocast_for_an_absent_device_warns_and_is_off():
    with pytest.warns(UserWarning, match="CUDA is not available"), torch.autocast("cuda"):
        assert not torch.is_autocast_enabled()
    with pytest.warns(UserWarning, match="XPU is not available. Disabling"):
        torch.autocast("xpu")


def test_autocast_wants_a_device_type():
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(3)
    with pytest.raises(RuntimeError, match="nonsense"):
        torch.autocast("nonsense", enabled=False)


def test_scaled_gradients_are_unscaled_before_the_step(scaler, parameter):
    optimizer = Descent(parameter)
    scaler.scale((parameter * 2).sum()).backward()
    assert parameter.grad.tolist() == [16.0, 16.0]
    scaler.unscale_(optimizer)
    assert parameter.grad.tolist() == [2.0, 2.0]
    assert scaler.step(optimizer) == "stepped"
    scaler.update()
    assert scaler.get_scale() == 8.0


def test_the_factor_grows_after_enough_finite_steps(scaler, parameter):
    optimizer = Descent(parameter)
    for _ in range(4):
        scaler.scale(parameter.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 32.0
    assert optimizer.steps == 4


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_steps_with_bad_gradients_are_left_out_and_shrink_the_factor(scaler, parameter, bad):
    optimizer = Descent(parameter)
    scaler.scale((parameter * bad).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert scaler.get_scale() == 4.0
    assert optimizer.steps == 0


def test_calls_in_the_wrong_order_are_refused(scaler, parameter):
    optimizer = Descent(parameter)
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    scaler.scale(parameter.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()


def test_half_gradients_and_missing_gradients_are_refused(scaler, parameter):
    scaler.scale(parameter)
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(Descent(parameter))
    half = torch.ones(2, dtype=torch.float16, requires_grad=True)
    half.grad = torch.ones(2, dtype=torch.float16)
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(Descent(half))


def test_switched_off_it_leaves_everything_alone(parameter):
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    assert scaler.scale(parameter) is parameter
    assert scaler.step(Descent(parameter)) == "stepped"
    assert scaler.state_dict() == {}
    assert scaler.get_scale() == 1.0


def test_for_cuda_it_warns_and_is_off():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not torch.amp.GradScaler().is_enabled()


def test_its_state_can_be_saved(scaler, parameter):
    scaler.scale(parameter)
    scaler.update(4.0)
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    with pytest.raises(RuntimeError, match="state dict is empty"):
        other.load_state_dict({})


def test_collections_are_scaled_item_by_item(scaler, parameter):
    first, (second,) = scaler.scale([parameter, (parameter,)])
    assert first.tolist() == second.tolist() == [8.0, 8.0]
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable"):
        scaler.scale(3)
