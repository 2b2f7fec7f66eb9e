"""Optimizers: PyTorch's values (snapshots/make_optimizers.py), and what holds for all of them."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import mt_core as mt
from mt_autograd.gradcheck import gradcheck
from mt_core.interop import from_numpy
from mt_nn import optim
from mt_nn.optim import optimizer as base
from mt_nn.optim.line_search import Point, strong_wolfe
from mt_nn.parameter import Parameter

SNAPSHOT = np.load(Path(__file__).parent / "snapshots" / "optimizers.npz")
RECORDED = json.loads(str(SNAPSHOT["cases"]))
CASES = [
    (name, number, dtype)
    for name, cases in RECORDED["cases"].items()
    for number in range(len(cases))
    for dtype in ("float32", "float64", "complex64")
    if any(key.startswith(f"{name}/{number}/{dtype}/") for key in SNAPSHOT)
]

#: Every optimizer that takes dense gradients and no closure, with options that make it keep as much state as it can.
DENSE = {
    "ASGD": {"t0": 2},
    "Adadelta": {},
    "Adafactor": {},
    "Adagrad": {},
    "Adam": {"amsgrad": True},
    "AdamW": {"amsgrad": True},
    "Adamax": {},
    "Muon": {},
    "NAdam": {},
    "RAdam": {"betas": (0.9, 0.7)},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Rprop": {},
    "SGD": {"momentum": 0.9},
}
CAPTURABLE = set(DENSE) - {"Adafactor", "Adagrad", "Muon", "SGD"}
DIFFERENTIABLE = sorted(set(DENSE) - {"Adafactor", "Muon"})


def option(value):
    if isinstance(value, dict):
        return mt.tensor(value["tensor"])
    return tuple(option(item) for item in value) if isinstance(value, list) else value


def new_problem(dtype, with_bias=True):
    """Parameters, and a function that gives them the gradient of a least-squares loss."""
    data = {key: from_numpy(SNAPSHOT[f"problem/{dtype}/{key}"].copy()) for key in ("weight", "bias", "x", "y")}
    parameters = [Parameter(data["weight"])] + ([Parameter(data["bias"])] if with_bias else [])

    def loss_with_gradients():
        for parameter in parameters:
            parameter.grad = None
        residual = data["x"] @ parameters[0] - data["y"]
        residual = residual + parameters[1] if with_bias else residual
        if parameters[0].is_complex():
            loss = mt.view_as_real(residual).square().sum() / residual.numel()
        else:
            loss = (residual * residual).mean()
        loss.backward()
        return loss

    return parameters, loss_with_gradients


def take_steps(optimizer, gradients, count):
    for _ in range(count):
        if isinstance(optimizer, optim.LBFGS):
            optimizer.step(gradients)
        else:
            gradients()
            optimizer.step()


def parameter(*shape):
    return Parameter(mt.ones(shape or (2, 2)))


def values(parameters):
    return [p.detach().numpy().copy() for p in parameters]


@pytest.mark.parametrize(("name", "number", "dtype"), CASES)
def test_gives_the_values_of_pytorch(name, number, dtype):
    options = {key: option(value) for key, value in RECORDED["cases"][name][number].items()}
    parameters, gradients = new_problem(dtype, with_bias=name != "Muon")
    optimizer = getattr(optim, name)(parameters, **options)
    take_steps(optimizer, gradients, RECORDED["steps"])
    prefix = f"{name}/{number}/{dtype}/"
    found = {f"parameter/{i}": p.detach() for i, p in enumerate(parameters)}
    if name != "LBFGS":
        for i, state in optimizer.state_dict()["state"].items():
            found.update({f"state/{i}/{k}": v for k, v in state.items() if isinstance(v, mt.Tensor)})
    assert sorted(found) == sorted(key.removeprefix(prefix) for key in SNAPSHOT if key.startswith(prefix))
    tolerance = {"Muon": 2e-3, "LBFGS": 1e-5}.get(name, 1e-9 if dtype == "float64" else 2e-5)  # Muon uses bfloat16
    if (name, number) == ("LBFGS", 1):
        # Twenty short steps divide by differences of nearly equal gradients. The last bits of a product decide: with
        # OpenBLAS's kernels for AVX-512 the result is 1.1e-4 from that with those for Haswell, Zen or Sandybridge.
        tolerance = 2e-4
    for key, tensor in found.items():
        wanted = SNAPSHOT[prefix + key]
        assert tensor.numpy().dtype == wanted.dtype, key
        np.testing.assert_allclose(tensor.numpy(), wanted, rtol=tolerance, atol=tolerance, err_msg=key)


# What holds for all


@pytest.mark.parametrize("name", [*DENSE, "LBFGS"])
def test_stopping_and_resuming_changes_nothing(name):
    options = DENSE.get(name, {"max_iter": 3})
    parameters, gradients = new_problem("float64", with_bias=name != "Muon")
    straight = getattr(optim, name)(parameters, **options)
    take_steps(straight, gradients, 6)
    others, other_gradients = new_problem("float64", with_bias=name != "Muon")
    first = getattr(optim, name)(others, **options)
    take_steps(first, other_gradients, 3)
    second = getattr(optim, name)(others, **options)
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    take_steps(second, other_gradients, 3)
    # As in PyTorch, loading casts float32 counters that are not called ``step`` to the parameter's float64 and so on.
    for one, other in zip(values(parameters), values(others)):
        np.testing.assert_allclose(one, other, rtol=1e-6 if name in ("ASGD", "NAdam") else 0)


@pytest.mark.parametrize("name", DENSE)
def test_a_parameter_without_gradient_is_left_alone(name):
    used, unused = parameter(), parameter()
    optimizer = getattr(optim, name)([used, unused], **DENSE[name])
    used.grad = mt.ones(2, 2)
    optimizer.step()
    assert (unused == 1).all()
    assert not optimizer.state.get(unused) or name == "Adagrad"


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("flag", ["foreach", "fused"])
def test_other_implementations_give_the_same(name, flag):
    if flag not in getattr(optim, name)([parameter()]).defaults:
        pytest.skip(f"{name} has no option {flag}")
    results = []
    for value in (None, True):
        parameters, gradients = new_problem("float32", with_bias=name != "Muon")
        take_steps(getattr(optim, name)(parameters, **DENSE[name], **{flag: value}), gradients, 4)
        results.append(values(parameters))
    for one, other in zip(*results):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(set(DENSE) - {"Muon"}))
def test_lists_of_parameters_of_several_histories_step_as_each_alone(name):
    """With dtypes, layouts, missing gradients and shared memory that make lists of unlike items."""
    results = []
    for foreach in (False, True):
        base = mt.linspace(-1, 1, 24)
        parameters = [base[:6].reshape(2, 3), base[6:12], base[12:18].reshape(3, 2).t(), base[18:].double()]
        parameters += [mt.ones(70, dtype=mt.bfloat16), mt.tensor(0.5), mt.linspace(0, 1, 9000)]
        parameters = [Parameter(p) for p in parameters]
        optimizer = getattr(optim, name)(parameters, **DENSE[name], foreach=foreach, maximize=True)
        for step in range(3):
            for i, p in enumerate(parameters):
                p.grad = None if (step, i) == (1, 1) else mt.linspace(-1, 1, p.numel()).reshape(p.shape).to(p.dtype)
            optimizer.step()
        states = [value for p in parameters for value in optimizer.state[p].values() if isinstance(value, mt.Tensor)]
        results.append([(t.detach().double().numpy(), t._version) for t in (*parameters, *states)])
    for (one, version), (other, same_version) in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
        assert version == same_version


@pytest.mark.parametrize("name", sorted(CAPTURABLE))
def test_a_capturable_step_reads_no_number(name, monkeypatch):
    """The meta device has none to read; on the CPU, where PyTorch refuses it, values are the ordinary step's."""
    cls = getattr(optim, name)
    monkeypatch.setattr(cls, "_check_capturable", lambda self, group: None)
    results = []
    for capturable in (False, True):
        parameters, gradients = new_problem("float64")
        optimizer = cls(parameters, **DENSE[name], capturable=capturable)
        take_steps(optimizer, gradients, 7)
        results.append(values(parameters))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    meta = Parameter(mt.ones(2, 2, device="meta"))
    optimizer = cls([meta], **DENSE[name], capturable=True)
    optimizer.param_groups[0]["lr"] = mt.tensor(0.1, device="meta")
    optimizer.state[meta] = {
        key: mt.empty_like(value, device="meta") for key, value in optimizer_state(name, capturable=True).items()
    }
    meta.grad = mt.ones(2, 2, device="meta")
    optimizer.step()


def optimizer_state(name, **options):
    tensor = parameter()
    tensor.grad = mt.ones(2, 2)
    optimizer = getattr(optim, name)([tensor], **DENSE[name], **options)
    optimizer.step()
    return optimizer.state[tensor]


@pytest.mark.parametrize("name", ["Adam", "SGD", "Adagrad"])
def test_a_fused_step_divides_by_the_scale_and_is_left_out_where_infinity_was_found(name):
    def after(scale, found):
        tensor = Parameter(mt.ones(3))
        optimizer = getattr(optim, name)([tensor], **DENSE[name], lr=0.1, fused=True)
        optimizer.grad_scale, optimizer.found_inf = mt.tensor(scale), mt.tensor(found)
        tensor.grad = mt.tensor([1.0, 2.0, 3.0]) * scale
        optimizer.step()
        return values([tensor, tensor.grad, *[v for v in optimizer.state[tensor].values() if v is not None]])

    for one, other in zip(after(1.0, 0.0), after(4.0, 0.0), strict=True):
        np.testing.assert_array_equal(one, other)
    left_out = after(4.0, 1.0)
    np.testing.assert_array_equal(left_out[0], np.ones(3))
    np.testing.assert_array_equal(left_out[1], [4.0, 8.0, 12.0])
    if name != "SGD":
        assert left_out[2] == 0


def test_a_fused_step_refuses_what_no_fused_operator_takes():
    for tensor in (Parameter(mt.ones(2, dtype=mt.complex64)), Parameter(mt.ones(2, device="meta"))):
        tensor.grad = mt.ones_like(tensor)
        with pytest.raises(RuntimeError, match="requires all the params to be floating point Tensors of supported"):
            optim.Adam([tensor], fused=True).step()


@pytest.mark.parametrize("name", DENSE)
def test_a_step_on_meta_tensors_has_shapes_only(name):
    if name in ("Adafactor", "Muon"):
        pytest.skip("reads numbers of the parameter itself")
    meta = Parameter(mt.ones(2, 2, device="meta"))
    optimizer = getattr(optim, name)([meta], **DENSE[name])
    meta.grad = mt.ones(2, 2, device="meta")
    if name == "ASGD":
        with pytest.raises(
            (RuntimeError, NotImplementedError)
        ):  # keeps its counters with the parameter, as PyTorch does
            optimizer.step()
        return
    optimizer.step()
    shapes = {v.shape for v in optimizer.state[meta].values() if v.dim()}
    assert shapes <= {(2, 2)}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_differentiable_step_has_the_right_gradients(name):
    """By parameter and by gradient, against differences."""
    rng = np.random.default_rng(3)
    start = from_numpy(rng.normal(size=(2, 3))).requires_grad_()
    slope = from_numpy(rng.normal(size=(2, 3))).requires_grad_()
    cls, options = getattr(optim, name), {**DENSE[name], "differentiable": True}
    if name == "SGD":
        del options["momentum"]  # the first momentum buffer is detached, as in PyTorch

    def two_steps(begin, gradient):
        moved = begin.clone()
        optimizer = cls([moved], lr=0.05, **options)
        for scale in (1.0, 0.7):
            moved.grad = gradient * scale
            optimizer.step()
        return moved

    assert gradcheck(two_steps, (start, slope))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_differentiable_step_has_the_right_gradients_of_what_was_remembered(name):
    rng = np.random.default_rng(5)
    start = from_numpy(rng.normal(size=(2, 3)))
    start.grad = from_numpy(rng.normal(size=(2, 3)))
    cls, options = getattr(optim, name), {**DENSE[name], "differentiable": True}
    first = cls([start], lr=0.05, **options)
    first.step()
    kept = {k: v.to(mt.float64) + 0.5 for k, v in first.state[start].items() if isinstance(v, mt.Tensor)}
    names = [k for k, v in kept.items() if v.dim() or k == "mu_product"]  # the others count steps

    def third_step(*remembered):
        moved = start.clone()
        moved.grad = start.grad
        optimizer = cls([moved], lr=0.05, **options)
        state = {**kept, **dict(zip(names, remembered, strict=True))}
        optimizer.state[moved].update({k: v.clone() for k, v in state.items()})
        optimizer.step()
        return moved

    if names:
        assert gradcheck(third_step, tuple(kept[k].clone().requires_grad_() for k in names))


def test_a_differentiable_rate_gets_its_gradient():
    rate = mt.tensor(0.1, dtype=mt.float64).requires_grad_()
    for name in ("SGD", "Adam", "RMSprop", "Adagrad", "Adamax", "RAdam", "NAdam", "Adadelta"):

        def moved_by(lr, name=name):
            moved = mt.ones(3, dtype=mt.float64).clone()
            optimizer = getattr(optim, name)([moved], lr=lr, differentiable=True)
            moved.grad = mt.full((3,), 0.5, dtype=mt.float64)
            optimizer.step()
            return moved

        assert gradcheck(moved_by, (rate,)), name


# The base class


def test_groups_have_their_own_options_and_defaults():
    one, other = parameter(), parameter()
    optimizer = optim.SGD([{"params": one, "lr": 1.0}, {"params": [other]}], lr=0.1)
    assert [g["lr"] for g in optimizer.param_groups] == [1.0, 0.1]
    optimizer.add_param_group({"params": parameter(), "momentum": 0.5})
    assert [g["momentum"] for g in optimizer.param_groups] == [0, 0, 0.5]


def test_prints_like_pytorch():
    assert repr(optim.SGD([parameter()], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


def test_named_parameters_keep_their_names():
    optimizer = optim.SGD([("a", parameter()), ("b", parameter())])
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    assert optimizer.state_dict()["param_groups"][0]["params"] == [0, 1]


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (lambda: mt.ones(2), TypeError, "should be an iterable of Tensors or dicts, but got torch.FloatTensor"),
        (list, ValueError, "optimizer got an empty parameter list"),
        (lambda: "ab", TypeError, "optimizer can only optimize Tensors, but one of the params is str"),
        (lambda: [parameter() * 1], ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: [{"params": {parameter()}}], TypeError, "need to be organized in ordered collections"),
        (lambda: [("a", parameter()), parameter()], ValueError, "Some param names are missing"),
        (
            lambda: [{"params": [("a", parameter())]}, {"params": [parameter()]}],
            ValueError,
            "cannot add param group without names to the optimizer",
        ),
        (lambda: [{"lr": 1}], KeyError, "params"),
    ],
)
def test_refuses_what_it_cannot_optimize(params, error, message):
    with pytest.raises(error, match=message):
        optim.SGD(params())


def test_refuses_a_parameter_in_two_groups_and_warns_of_one_twice():
    shared = parameter()
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optim.SGD([{"params": [shared]}, {"params": [shared]}])
    with pytest.warns(UserWarning, match="parameter group with duplicate parameters"):
        optim.SGD([shared, shared])


def test_a_required_option_must_be_given():
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        base.Optimizer([parameter()], {"lr": base.required})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("SGD", {"lr": -1}, "Invalid learning rate: -1"),
        ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
        ("Adam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
        ("Adam", {"eps": float("nan")}, "Invalid epsilon value: nan"),
        ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"),
        ("Rprop", {"etas": (1, 2)}, "Invalid eta values: 1, 2"),
        ("Adadelta", {"rho": 2}, "Invalid rho value: 2"),
        ("NAdam", {"momentum_decay": -1}, "Invalid momentum_decay value: -1"),
        ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
        ("Muon", {"adjust_lr_fn": "x"}, "Adjust learning rate function x is not supported"),
    ],
)
def test_refuses_bad_options(name, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(optim, name)([parameter()], **options)


@pytest.mark.parametrize("name", DENSE)
def test_refuses_a_rate_of_several_elements(name):
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        getattr(optim, name)([parameter()], lr=mt.ones(2))


def test_contradicting_implementations_are_refused():
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together."):
        optim.AdamW([parameter()], fused=True, foreach=True)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        optim.SGD([parameter()], fused=True, differentiable=True)
    tensor = parameter()
    tensor.grad = mt.ones(2, 2)
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be on supported devices"):
        optim.Adam([tensor], capturable=True).step()


def test_a_refused_gradient_leaves_all_parameters_as_they_were():
    good, bad = parameter(), parameter()
    good.grad = mt.ones(2, 2)

    class Both(optim.Adam):
        def _gradient(self, tensor, group):
            if tensor is bad:
                self._refuse_sparse_gradient()
            return super()._gradient(tensor, group)

    bad.grad = mt.ones(2, 2)
    optimizer = Both([good, bad])
    with pytest.raises(RuntimeError, match="please consider SparseAdam instead"):
        optimizer.step()
    assert (good == 1).all()


def test_sparse_adam_asks_for_sparse_gradients():
    tensor = parameter()
    tensor.grad = mt.ones(2, 2)
    with pytest.raises(RuntimeError, match="does not support dense gradients, please consider Adam instead"):
        optim.SparseAdam([tensor]).step()


def test_zero_grad():
    tensor = parameter()
    optimizer = optim.SGD([tensor])
    tensor.grad = mt.ones(2, 2)
    kept = tensor.grad
    optimizer.zero_grad(set_to_none=False)
    assert tensor.grad is kept
    assert (kept == 0).all()
    optimizer.zero_grad()
    assert tensor.grad is None


def test_step_evaluates_its_closure_with_gradients_and_returns_the_loss():
    tensor = parameter()
    optimizer = optim.SGD([tensor], lr=1.0)

    def closure():
        optimizer.zero_grad()
        loss = tensor.sum()
        loss.backward()
        return loss

    with mt.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert (tensor == 0).all()


def test_the_base_class_has_no_step():
    with pytest.raises(NotImplementedError):
        base.Optimizer([parameter()], {}).step()


# Hooks


def test_step_hooks_run_around_the_step_in_order():
    log = []
    optimizer = optim.SGD([parameter()])
    optimizer.register_step_pre_hook(lambda self, args, kwargs: log.append("before"))
    optimizer.register_step_post_hook(lambda self, args, kwargs: log.append("after"))
    with (
        base.register_optimizer_step_pre_hook(lambda *_: log.append("before all")),
        base.register_optimizer_step_post_hook(lambda *_: log.append("after all")),
    ):
        optimizer.step()
    assert log == ["before all", "before", "after", "after all"]
    optimizer.step()
    assert log[4:] == ["before", "after"]


def test_a_step_hook_may_replace_the_arguments_and_must_return_nothing_else():
    calls = []
    optimizer = optim.SGD([parameter()])
    optimizer.register_step_pre_hook(lambda self, args, kwargs: ((self, lambda: calls.append(1)), {}))
    optimizer.step()
    assert calls == [1]
    optimizer.register_step_pre_hook(lambda self, args, kwargs: 5)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\)"):
        optimizer.step()


def test_state_dict_hooks_may_replace_what_passes():
    optimizer = optim.SGD([parameter()])
    log = []
    optimizer.register_state_dict_pre_hook(lambda self: log.append("pre"))
    optimizer.register_state_dict_post_hook(lambda self, state: {**state, "extra": 1})
    optimizer.register_state_dict_post_hook(lambda self, state: log.append(sorted(state)), prepend=True)
    state = optimizer.state_dict()
    assert state["extra"] == 1
    assert log == ["pre", ["param_groups", "state"]]

    def halve(self, loaded):
        loaded["param_groups"][0]["lr"] /= 2

    other = optim.SGD([parameter()], lr=1.0)
    other.register_load_state_dict_pre_hook(halve)
    other.register_load_state_dict_post_hook(lambda self: log.append(self.param_groups[0]["lr"]))
    other.load_state_dict(copy.deepcopy(state))
    assert log[-1] == state["param_groups"][0]["lr"] / 2


# Checkpoints


def test_loading_checks_the_groups():
    optimizer = optim.SGD([parameter()])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})


def test_loading_casts_state_to_its_parameter_but_not_its_step():
    source = parameter()
    source.grad = mt.ones(2, 2)
    saved = optim.Adam([source])
    saved.step()
    target = Parameter(mt.ones(2, 2, dtype=mt.bfloat16))
    loaded = optim.Adam([target])
    loaded.load_state_dict(saved.state_dict())
    assert loaded.state[target]["exp_avg"].dtype == mt.bfloat16
    assert loaded.state[target]["step"].dtype == mt.float32


def test_loading_an_older_checkpoint_fills_in_what_it_lacks():
    tensor = parameter()
    tensor.grad = mt.ones(2, 2)
    optimizer = optim.Adam([tensor])
    optimizer.step()
    state = optimizer.state_dict()
    for key in ("maximize", "foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay"):
        del state["param_groups"][0][key]
    state["state"][0]["step"] = 1
    optimizer.load_state_dict(state)
    optimizer.step()
    assert optimizer.state[tensor]["step"].item() == 2.0
    assert optimizer.param_groups[0]["foreach"] is None


#: What PyTorch 2.13 puts into a group that has nothing but parameters, when it is loaded.
FILLED_IN = {
    "Adafactor": {"foreach"},
    "Muon": set(),
    "SGD": {"differentiable", "foreach", "fused", "maximize", "nesterov"},
}


@pytest.mark.parametrize("name", FILLED_IN)
def test_loading_fills_in_the_options_of_the_optimizer_only(name):
    optimizer = getattr(optim, name)([parameter()])
    whole, options = optimizer.state_dict(), set(optimizer.param_groups[0])
    for _ in range(2):  # the first load gives the optimizer more defaults than it was made with
        optimizer.load_state_dict(whole)
        assert set(optimizer.param_groups[0]) == options
    bare = {**whole, "param_groups": [{"params": whole["param_groups"][0]["params"]}]}
    optimizer.load_state_dict(bare)
    assert set(optimizer.param_groups[0]) == {"params", *FILLED_IN[name]}


def test_pickles_without_its_hooks():
    optimizer = optim.AdamW([parameter()], lr=0.5)
    optimizer.register_step_post_hook(lambda *_: None)
    other = pickle.loads(pickle.dumps(optimizer))
    assert other.param_groups[0]["lr"] == 0.5
    other.step()
    assert copy.deepcopy(optimizer).defaults == optimizer.defaults


def test_swapping_parameters_and_state_lasts_for_the_block():
    own, other = parameter(), Parameter(mt.zeros(2, 2))
    optimizer = optim.Adam([own], lr=0.1)
    own.grad = mt.ones(2, 2)
    optimizer.step()
    before = values([own])
    state = copy.deepcopy(optimizer.state_dict())
    other.grad = mt.ones(2, 2)
    with optim.swap_in_optimizer_params_and_state(optimizer, {"weight": other}, state):
        optimizer.step()
    assert state["state"][0]["step"].item() == 2.0
    assert optimizer.state[own]["step"].item() == 1.0
    assert (other < 0).all()
    np.testing.assert_array_equal(values([own]), before)
    with pytest.raises(RuntimeError, match="to match optimizer.param_groups ordering"):
        with optim.swap_in_optimizer_params_and_state(optimizer, {}, state):
            pass


# The line search


@pytest.mark.parametrize("first_step", [1e-3, 0.1, 1.0, 50.0])
def test_the_line_search_finds_a_point_that_meets_both_conditions(first_step):
    def evaluate(step):
        return Point(step, (step - 2.0) ** 4 + step, None, 4 * (step - 2.0) ** 3 + 1)

    start = evaluate(0.0)
    point, evaluations = strong_wolfe(evaluate, first_step, start, 1.0, 1e-9, 25)
    assert evaluations <= 26
    assert point.loss <= start.loss + 1e-4 * point.step * start.slope
    assert abs(point.slope) <= 0.9 * abs(start.slope)


def test_lbfgs_wants_one_group_and_a_known_line_search():
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        optim.LBFGS([{"params": [parameter()]}, {"params": [parameter()]}])
    tensor = parameter()
    optimizer = optim.LBFGS([tensor], line_search_fn="x")

    def closure():
        tensor.grad = mt.ones(2, 2)
        return tensor.detach().sum()

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)
