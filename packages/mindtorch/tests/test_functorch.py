"""``functorch``: the names that preceded ``torch.func``, and the insides of it that libraries reach."""

import subprocess
import sys
import warnings

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._C import _functorch as levels
from mindtorch._functorch import make_functional as modules
from mindtorch._functorch.autograd_function import CtxWithSavedTensors, reductify, reductify_leaf
from mindtorch._functorch.deprecated import combine_state_for_ensemble, grad, vmap

_STAND_IN = """
import sys, mindtorch
mindtorch.install_as_torch()
import warnings; warnings.simplefilter("error")
import functorch, torch
from functorch.experimental import chunk_vmap, functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_
assert functorch.__version__ == torch.__version__
assert functorch.make_functional.__name__ == "make_functional"
from functorch.einops import rearrange
assert rearrange is torch.func.rearrange and rearrange.__module__ == "torch.func"
assert chunk_vmap(torch.sin, chunks=3)(torch.ones(7)).shape == (7,)
try:
    functorch.no_such_name
except AttributeError as error:
    assert str(error) == "module 'functorch' has no attribute 'no_such_name'"
else:
    sys.exit("an unknown name is found")
"""


def test_functorch_is_found_where_mindtorch_stands_in():
    subprocess.run([sys.executable, "-c", _STAND_IN], check=True)


def test_the_older_names_warn_and_work():
    with pytest.warns(FutureWarning, match=r"`functorch.vmap` is deprecated .* Please use `torch.vmap` instead"):
        mapped = vmap(torch.sin)
    assert torch.equal(mapped(torch.ones(3)), torch.ones(3).sin())
    with pytest.warns(FutureWarning, match="Please use `torch.func.grad`"):
        assert grad(torch.sin)(torch.tensor(0.0)) == 1


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, x, scale=1.0):
        return self.second(self.first(x)) * scale


def test_a_module_becomes_a_function_of_copies_of_its_parameters():
    model, x = Tied(), torch.randn(2, 3)
    function, parameters = modules.make_functional(model)
    assert function.param_names == ("first.weight", "first.bias", "second.bias")
    assert function.names_map["first.weight"] == ["first.weight", "second.weight"]
    assert all(not parameter.is_set_to(own) for parameter, own in zip(parameters, model.parameters()))
    assert torch.equal(function(parameters, x, scale=2.0), model(x, 2.0))
    assert {parameter.device.type for parameter in function.stateless_model.parameters()} == {"meta"}
    assert function.stateless_model.first.weight is function.stateless_model.second.weight
    doubled = [parameter * 2 for parameter in parameters]
    assert not torch.equal(function(doubled, x), model(x))
    with pytest.raises(ValueError):
        function(parameters[:2], x)


def test_parameters_need_not_require_grad():
    _, parameters = modules.make_functional(Tied(), disable_autograd_tracking=True)
    assert not any(parameter.requires_grad for parameter in parameters)


def test_buffers_are_given_and_written():
    model, x = nn.BatchNorm1d(3), torch.randn(4, 3)
    function, parameters, buffers = modules.make_functional_with_buffers(model)
    assert function.buffer_names == ("running_mean", "running_var", "num_batches_tracked")
    expected = model(x)
    assert torch.equal(function(parameters, buffers, x), expected)
    assert torch.equal(buffers[0], model.running_mean) and buffers[2] == 1
    with pytest.raises(RuntimeError, match="`model` has buffers"):
        modules.make_functional(model)


def test_an_ensemble_runs_as_its_members():
    members, x = [nn.BatchNorm1d(3).eval() for _ in range(4)], torch.randn(5, 3)
    for member in members:
        member.weight.data.uniform_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function, parameters, buffers = combine_state_for_ensemble(members)
    found = torch.vmap(function, in_dims=(0, 0, None))(parameters, buffers, x)
    assert torch.allclose(found, torch.stack([member(x) for member in members]))
    assert not parameters[0].requires_grad
    for wrong, match in (
        ([], "at least one model"),
        ([nn.Linear(1, 1), nn.Linear(1, 1).eval()], "same training/eval mode"),
        ([nn.Linear(1, 1), nn.ReLU()], "same class"),
    ):
        with pytest.raises(RuntimeError, match=match):
            modules.combine_state_for_ensemble(wrong)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_modules_are_made_many_at_once(shape):
    weights, function, names = modules.functional_init(nn.Linear, shape)(2, 4)
    assert names == ("weight", "bias") and weights[0].shape == (*shape, 4, 2)
    own = tuple(weight[0] if shape else weight for weight in weights)
    x = torch.randn(3, 2)
    assert torch.allclose(function(own, (x,)), nn.functional.linear(x, *own))
    made = modules.functional_init_with_buffers(nn.BatchNorm1d, shape)(2)
    assert [tensor.shape for tensor in made[0]] == [(*shape, 2)] * 2 and made[1][2].shape == shape
    assert made[4] == ("running_mean", "running_var", "num_batches_tracked")


def test_ensembles_that_are_refused():
    with pytest.raises(ValueError, match="more than 1 element"):
        modules.functional_init(nn.Linear, (2, 2))(1, 1)
    with pytest.raises(ValueError, match="num_models 0 should be > 0"):
        modules.functional_init_with_buffers(nn.Linear, (0,))(1, 1)


class Context:
    pass


def test_a_wrapped_context_hands_all_but_its_own_on():
    context = Context()
    wrapped = CtxWithSavedTensors(CtxWithSavedTensors(context, (1,)), (2, 3))
    wrapped.scale = 5
    assert wrapped.saved_tensors == (2, 3) and context.scale == 5 and wrapped.scale == 5
    context._pt_inner_ctx = None
    with pytest.raises(RuntimeError, match="name collision"):
        CtxWithSavedTensors(context, ())


def test_gradients_of_lanes_are_summed_repeated_or_moved():
    gradient = torch.randn(2, 3, 4)
    assert reductify_leaf(None, None, 0, 2) is None
    assert torch.equal(reductify_leaf(gradient, 0, None, 2), gradient.sum(0))
    assert torch.equal(reductify_leaf(gradient, None, 1, 5), gradient.unsqueeze(1).expand(2, 5, 3, 4))
    assert torch.equal(reductify_leaf(gradient, 0, 1, 2, (4,)), gradient.sum(1).t())
    assert torch.equal(reductify((gradient,), (1,), (0,), 3)[0], gradient.movedim(1, 0))


def test_levels_are_entered_by_hand():
    numbers = torch.arange(6.0).reshape(2, 3)
    assert levels._vmap_increment_nesting(3, "error") == 1
    try:
        assert levels._grad_increment_nesting() == 2
        x = levels._wrap_for_grad(levels._add_batch_dim(numbers, 1, 1), 2)
        assert (levels.maybe_get_level(x), levels.dlevel(x), x.shape) == (2, 2, (2,))
        assert levels.maybe_get_bdim(levels._unwrap_for_grad(x, 2)) == 1
        with pytest.raises(RuntimeError, match="innermost transform is Grad, not Vmap"):
            levels._vmap_decrement_nesting()
        with pytest.raises(RuntimeError, match="no transform at level 3"):
            levels._wrap_for_grad(x, 3)
        y = levels._unwrap_for_grad(x * 2, 2)
        assert levels._grad_decrement_nesting() == 2
        assert levels.is_dead_tensor_wrapper(x) and not levels.is_gradtrackingtensor(levels.unwrap_if_dead(x))
        value = levels._remove_batch_dim(y, 1, 3, 0)
    finally:
        assert levels._vmap_decrement_nesting() == 1
    assert torch.equal(value, numbers.t() * 2)
    assert levels.get_interpreter_stack() is None and levels.maybe_current_level() is None


def test_a_tensor_of_an_inner_level_is_refused_further_out():
    outer = torch.ones(3)
    levels._vmap_increment_nesting(3, "error")
    levels._grad_increment_nesting()
    try:
        inner = torch.ones(3) * 2  # made inside of the inner level
        x = levels._add_batch_dim(inner, 0, 1)
        with pytest.raises(RuntimeError, match="A tensor of an inner transform is used further out"):
            x * levels._add_batch_dim(outer, 0, 1)
    finally:
        levels._grad_decrement_nesting()
        levels._vmap_decrement_nesting()


def test_calls_lane_by_lane_can_be_switched_off():
    def mapped():
        return torch.vmap(lambda x: torch.linspace(x, 1.0, 3))(torch.zeros(2))

    levels._set_vmap_fallback_enabled(False)
    try:
        with pytest.raises(RuntimeError, match="hit the vmap fallback which is currently disabled"):
            mapped()
    finally:
        levels._set_vmap_fallback_enabled(True)
    with pytest.warns(UserWarning, match="performance drop"):
        mapped()
    levels._set_vmap_fallback_warning_enabled(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert mapped().shape == (2, 3)
    finally:
        levels._set_vmap_fallback_warning_enabled(True)
