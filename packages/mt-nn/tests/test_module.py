"""What `Module` promises: names, lookup, traversal, conversion, copying."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mt_core as mt
import mt_nn as nn


class Block(nn.Module):
    """A parameter, two buffers, two children of which one is shared."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(mt.ones(2))
        self.register_buffer("seen", mt.zeros(2))
        self.register_buffer("scratch", mt.zeros(1), persistent=False)
        self.first = nn.Linear(2, 2)
        self.second = nn.Sequential(self.first, nn.BatchNorm1d(2))

    def forward(self, x):
        return self.second(x) * self.scale


def trees():
    """Nested `Sequential`s of leaves."""
    leaves = st.sampled_from([lambda: nn.Linear(1, 2), lambda: nn.ReLU(), lambda: nn.BatchNorm1d(1)])
    return st.recursive(
        leaves.map(lambda make: make()), lambda inner: st.lists(inner, max_size=3).map(build), max_leaves=8
    )


def build(children):
    return nn.Sequential(*children)


@given(trees())
def test_every_listed_name_leads_to_what_is_listed(module):
    for name, submodule in module.named_modules():
        assert module.get_submodule(name) is submodule
    for name, param in module.named_parameters():
        assert module.get_parameter(name) is param
    for name, buffer in module.named_buffers():
        assert module.get_buffer(name) is buffer


@given(trees())
def test_a_state_dict_has_all_parameters_and_buffers_in_order(module):
    names = list(module.state_dict())
    listed = {name for name, _ in module.named_parameters()} | {name for name, _ in module.named_buffers()}
    assert set(names) == listed
    assert all(value.grad_fn is None and not value.requires_grad for value in module.state_dict().values())


@given(trees())
def test_copies_have_equal_state_and_share_nothing(module):
    for duplicate in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(duplicate) == repr(module)
        own, other = module.state_dict(), duplicate.state_dict()
        assert list(own) == list(other)
        for name in own:
            assert mt.equal(own[name], other[name])
            assert own[name].data_ptr() != other[name].data_ptr() or own[name].numel() == 0


@given(trees(), st.booleans())
def test_train_reaches_every_module(module, mode):
    module.train(mode)
    assert all(submodule.training is mode for submodule in module.modules())


def test_shared_modules_and_parameters_are_listed_once():
    block = Block()
    assert [name for name, _ in block.named_modules()] == ["", "first", "second", "second.1"]
    assert [name for name, _ in block.named_modules(remove_duplicate=False)] == [
        "", "first", "second", "second.0", "second.1",
    ]  # fmt: skip
    names = [name for name, _ in block.named_parameters()]
    assert names == ["scale", "first.weight", "first.bias", "second.1.weight", "second.1.bias"]
    assert len(list(block.parameters())) == len(names)


def test_a_shared_parameter_is_saved_under_each_name():
    state = Block().state_dict()
    assert {"first.weight", "second.0.weight"} <= set(state)
    assert state["first.weight"].data_ptr() == state["second.0.weight"].data_ptr()


def test_buffers_that_are_not_persistent_are_not_saved():
    assert "scratch" not in Block().state_dict()
    assert "scratch" in dict(Block().named_buffers())


def test_assignment_moves_a_name_between_tables():
    module = nn.Module()
    module.x = 3
    module.x = nn.Parameter(mt.ones(1))
    assert "x" in module._parameters and "x" not in module.__dict__
    module.x = nn.Linear(1, 1)
    assert "x" in module._modules and "x" not in module._parameters
    module.x = None
    assert module.x is None and "x" in module._modules
    del module.x
    assert not hasattr(module, "x")
    module.x = nn.Buffer(mt.ones(1))
    module.x = mt.zeros(2)
    assert module._buffers["x"].shape == (2,)


def test_a_plain_tensor_is_a_plain_attribute():
    module = nn.Module()
    module.x = mt.ones(1)
    assert "x" in module.__dict__ and not list(module.buffers())


def test_attributes_before_init():
    class Early(nn.Module):
        def __init__(self):
            self.x = nn.Parameter(mt.ones(1))

    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        Early()


def test_init_can_pass_arguments_on():
    class Mixin:
        def __init__(self, value):
            self.value = value

    class Model(nn.Module, Mixin):
        call_super_init = True

        def __init__(self):
            super().__init__(5)

    assert Model().value == 5


@pytest.mark.parametrize("method", ["double", "half", "bfloat16", "float"])
def test_casts_keep_parameter_objects_and_integers(method):
    block = Block()
    params = list(block.parameters())
    getattr(block, method)()
    wanted = getattr(mt, {"double": "float64", "half": "float16", "bfloat16": "bfloat16", "float": "float32"}[method])
    assert all(a is b for a, b in zip(params, block.parameters(), strict=True))
    assert {param.dtype for param in block.parameters()} == {wanted}
    assert block.seen.dtype is wanted
    assert block.second[1].num_batches_tracked.dtype is mt.int64


def test_casts_reach_gradients():
    linear = nn.Linear(2, 1)
    linear(mt.ones(1, 2)).sum().backward()
    linear.double()
    assert linear.weight.grad.dtype is mt.float64


def test_to_meta_makes_new_parameters_and_to_empty_gives_memory_back():
    linear = nn.Linear(2, 3)
    weight = linear.weight
    linear.to("meta")
    assert linear.weight is not weight and linear.weight.is_meta and linear.weight.requires_grad
    with pytest.raises(NotImplementedError, match="to_empty"):
        linear.to("cpu")
    linear.to_empty(device="cpu")
    assert not linear.weight.is_meta and isinstance(linear.weight, nn.Parameter)


def test_memory_format_applies_to_images_only():
    conv = nn.Conv2d(2, 4, 3).to(memory_format=mt.channels_last)
    assert conv.weight.is_contiguous(memory_format=mt.channels_last)
    assert conv.bias.is_contiguous()


def test_zero_grad():
    linear = nn.Linear(2, 1)
    linear(mt.ones(1, 2)).sum().backward()
    linear.zero_grad(set_to_none=False)
    assert mt.equal(linear.weight.grad, mt.zeros(1, 2))
    linear.zero_grad()
    assert linear.weight.grad is None


def test_apply_visits_children_first():
    visited = []
    nn.Sequential(nn.Sequential(nn.ReLU()), nn.Tanh()).apply(lambda module: visited.append(type(module).__name__))
    assert visited == ["ReLU", "Sequential", "Tanh", "Sequential"]


def test_set_submodule():
    model = nn.Sequential(nn.Sequential(nn.ReLU()))
    model.set_submodule("0.0", nn.Tanh())
    assert isinstance(model[0][0], nn.Tanh)
    model.set_submodule("0.extra", nn.ReLU())
    assert isinstance(model.get_submodule("0.extra"), nn.ReLU)


def test_a_parameter_stays_a_parameter_when_copied():
    param = nn.Parameter(mt.ones(2))
    param.grad = mt.ones(2)
    duplicate = copy.deepcopy(param)
    assert type(duplicate) is nn.Parameter and duplicate.grad is None and duplicate.requires_grad
    again = pickle.loads(pickle.dumps(param))
    assert type(again) is nn.Parameter and mt.equal(again, param) and again.requires_grad


def test_operators_on_a_parameter_give_plain_tensors():
    param = nn.Parameter(mt.ones(2))
    assert type(param + 1) is mt.Tensor
    assert type(param.view(1, 2)) is mt.Tensor
    assert type(param.detach()) is mt.Tensor


def test_a_parameter_shares_the_memory_of_its_data():
    data = mt.zeros(2)
    param = nn.Parameter(data)
    with mt.no_grad():
        param.fill_(3)
    assert data.tolist() == [3, 3]


def test_another_tensor_class_is_kept_and_marked():
    class Tagged(mt.Tensor):
        pass

    param = nn.Parameter(mt.ones(2).as_subclass(Tagged))
    assert type(param) is Tagged and isinstance(param, nn.Parameter) and param.requires_grad
    module = nn.Module()
    module.x = param
    assert dict(module.named_parameters())["x"] is param
