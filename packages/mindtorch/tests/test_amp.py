"""Autocast, and the scaling of gradients."""

from __future__ import annotations

import doctest
import math
import pickle
import threading
from pathlib import Path

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


def test_products_compute_in_a_half_type_and_losses_in_float32():
    layer, x = torch.nn.Linear(2, 2), torch.ones(2, 2)
    with torch.autocast("cpu"):
        y = layer(x)
        loss = torch.nn.functional.cross_entropy(y, torch.tensor([0, 1]))
        assert (y.dtype, loss.dtype, (y + x).dtype) == (torch.bfloat16, torch.float32, torch.float32)
        assert torch.mm(x, x, out=torch.empty(2, 2)).dtype == torch.float32
        assert torch.mm(x.double(), x.double()).dtype == torch.float64
        assert torch.cat([x, x.bfloat16()]).dtype == torch.float32
        with pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
            torch.cat([x.half(), x.bfloat16()])
    loss.backward()
    assert layer.weight.grad.dtype == torch.float32


def test_each_autocast_restores_what_was_before():
    seen = []
    with torch.autocast("cpu"):
        with torch.autocast("cpu", torch.float16, cache_enabled=False):
            seen.append((torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()))
        with torch.autocast("cpu", enabled=False):
            seen.append(torch.is_autocast_enabled("cpu"))
        seen.append((torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()))
        thread = threading.Thread(target=lambda: seen.append(torch.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    assert seen == [(torch.float16, False), False, (torch.bfloat16, True), False]
    assert not torch.is_autocast_enabled("cpu") and torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype == torch.float32


def test_an_autocast_may_enter_itself():
    @torch.autocast("cpu")
    def depth(n):
        return depth(n - 1) if n else torch.is_autocast_enabled("cpu")

    assert depth(3) and not torch.is_autocast_enabled("cpu")


def cast_nodes(cache_enabled):
    weight, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    with torch.autocast("cpu", cache_enabled=cache_enabled):
        return [torch.mm(x, weight).grad_fn.next_functions[1][0] for _ in range(2)]


def test_casts_of_parameters_are_made_once():
    first, second = cast_nodes(True)
    assert first is second and first.name() == "ToCopyBackward0"
    first, second = cast_nodes(False)
    assert first is not second
    weight = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        with torch.no_grad():
            torch.mm(weight, weight)
        assert torch.mm(weight, weight).requires_grad
        weight.data.mul_(3)
        torch.clear_autocast_cache()
        assert torch.mm(weight, weight)[0, 0] == 18


def test_forms_that_write_take_what_they_are_given():
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert x.clone().addmm_(x, x).dtype == torch.float32
        with pytest.raises(RuntimeError, match="same dtype"):
            x.clone().addmm_(x.bfloat16(), x)


def test_an_unknown_dtype_switches_it_off():
    with pytest.warns(UserWarning, match="CPU Autocast only supports dtypes of torch.bfloat16, torch.float16"):
        assert not torch.autocast("cpu", torch.float32)._enabled
    with pytest.raises(RuntimeError, match="unsupported scalarType"):
        torch.autocast("meta")


class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a.mm(b)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        product = grad.mm(b.t())
        assert product.dtype == torch.bfloat16
        return product, a.t().mm(grad)


class InFloat32(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, a):
        assert not torch.is_autocast_enabled("cpu")
        return a.mm(a)


def test_functions_compute_backward_as_they_did_forward():
    a = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        y = Product.apply(a, a)
        assert InFloat32.apply(torch.ones(2, 2).bfloat16()).dtype == torch.float32
    y.sum().backward()
    assert y.dtype == torch.bfloat16 and a.grad.dtype == torch.float32


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_what_is_computed_again_is_computed_under_the_same_autocast(use_reentrant):
    layer, x, seen = torch.nn.Linear(3, 3), torch.randn(2, 3, requires_grad=True), []

    def block(x):
        y = layer(x)
        seen.append(y.dtype)
        return y.relu()

    with torch.autocast("cpu", torch.float16):
        y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=use_reentrant)
    y.sum().backward()
    assert seen == [torch.float16] * 2 and not torch.is_autocast_enabled("cpu")


def trained(enabled):
    torch.manual_seed(0)
    layers = [
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LayerNorm(36),
        torch.nn.Linear(36, 5),
    ]  # fmt: skip
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, target, losses = torch.randn(16, 1, 5, 5), torch.arange(16) % 5, []
    for _ in range(12):
        optimizer.zero_grad()
        with torch.autocast("cpu", enabled=enabled):
            loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_training_in_bfloat16_follows_float32():
    """Losses within 1 % of each other; both fall."""
    half, single = trained(True), trained(False)
    assert half != single and half[-1] < half[0]
    assert all(abs(a - b) <= 0.01 * max(abs(b), 0.5) for a, b in zip(half, single, strict=True))


def test_custom_operators_have_casts_of_their_own():
    seen = []

    @torch.library.custom_op("autocast_tests::product", mutates_args=())
    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        seen.append((x.dtype, torch.is_autocast_enabled("cpu"), torch.mm(x, y).dtype))
        return x.mm(y)

    product.register_autocast("cpu", torch.float16)
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        product(x, x)
        product(x.double(), x.double())
    product(x, x)
    half, double, single = torch.float16, torch.float64, torch.float32
    assert seen == [(half, False, half), (double, False, double), (single, False, single)]
    with pytest.raises(ValueError, match="Device type 'meta' does not support autocast"):
        product.register_autocast("meta", torch.float16)


def test_casts_go_with_the_library_that_registered_them():
    definitions, x = torch.library.Library("autocast_tests2", "DEF"), torch.ones(2)
    definitions.define("twice(Tensor x) -> Tensor")
    definitions.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    casts = torch.library.Library("autocast_tests2", "FRAGMENT")
    torch.library.register_autocast("autocast_tests2::twice", "cpu", torch.float16, lib=casts)
    with torch.autocast("cpu"):
        assert torch.ops.autocast_tests2.twice(x).dtype == torch.float16
        casts._destroy()
        assert torch.ops.autocast_tests2.twice(x).dtype == torch.float32


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


class Unscaling(Descent):
    """An optimizer that unscales gradients itself; what it finds is kept."""

    _step_supports_amp_scaling = True

    def step(self):
        self.found = (None if self.grad_scale is None else float(self.grad_scale), float(self.found_inf))
        return super().step()


class Asking(Descent):
    _step_supports_amp_scaling = True

    def step(self, *, grad_scaler=None):
        self.found = grad_scaler
        return super().step()


@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize("unscaled", [False, True])
def test_an_optimizer_that_unscales_itself_steps_always_and_is_told_what_to_do(scaler, parameter, bad, unscaled):
    optimizer = Unscaling(parameter)
    scaler.scale(parameter.sum() * (math.inf if bad else 1)).backward()
    factor, before = scaler.get_scale(), parameter.grad.clone()
    if unscaled:
        scaler.unscale_(optimizer)
    assert scaler.step(optimizer) == "stepped"
    assert optimizer.found == (None if unscaled else factor, float(bad))
    assert torch.equal(parameter.grad, before / factor if unscaled else before)
    assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")
    scaler.update()
    assert (scaler.get_scale() < factor) == bad


def test_an_optimizer_that_asks_for_the_scaler_is_handed_it(scaler, parameter):
    optimizer = Asking(parameter)
    scaler.scale(parameter.sum()).backward()
    with pytest.warns(FutureWarning, match="stop passing itself"):
        assert scaler.step(optimizer) == "stepped"
    assert optimizer.found is scaler


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


def test_the_page_about_autocast_says_what_happens():
    page = Path(__file__).parents[3] / "docs" / "autocast.md"
    if not page.exists():
        pytest.skip("the documents are part of the repository, not of the distribution")
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 5 and not results.failed


def test_the_scale_does_not_grow_beyond_its_dtype():
    scaler = torch.amp.GradScaler("cpu", init_scale=1e38, growth_factor=16.0, growth_interval=1)
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler.scale(1e-38 * weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == torch.tensor(1e38).item()


def test_scalers_are_pickled_between_iterations_only() -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler.scale((weight * 2).sum()).backward()
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == 8.0
    scaler.step(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iteration"):
        pickle.dumps(scaler)
    scaler.update()
    copied = pickle.loads(pickle.dumps(scaler))
    assert copied._init_growth_tracker == 1 and copied._scale is None and copied._per_optimizer_states[3]


def test_what_scalers_find_is_kept_by_device() -> None:
    scaler = torch.amp.GradScaler("cpu")
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.grad = torch.tensor([4.0, 8.0])
    found = scaler._unscale_grads_(optimizer, torch.tensor([0.25]), torch.zeros(1), False)
    assert [(str(where), one.tolist()) for where, one in found.items()] == [("cpu", [0.0])]
    assert weight.grad.tolist() == [1.0, 2.0]
    scaler.scale(torch.ones(1))
    weight.grad = torch.tensor([float("nan"), 8.0])
    assert [one.item() for one in scaler._check_inf_per_device(optimizer).values()] == [1.0]
    assert scaler._found_inf_per_device(optimizer).keys() == found.keys()
    assert (str(scaler._scale.dtype), str(scaler._growth_tracker.dtype)) == ("torch.float32", "torch.int32")


def test_the_older_names_are_in_the_modules_of_pytorch() -> None:
    amp = torch.cuda.amp
    assert amp.autocast is amp.autocast_mode.autocast and amp.custom_fwd is amp.autocast_mode.custom_fwd
    assert amp.GradScaler is amp.grad_scaler.GradScaler
    assert amp.common.amp_definitely_not_available() is not torch.cuda.is_available()
