"""Saving and loading the state of modules."""

from __future__ import annotations

import pytest

import mt_core as mt
import mt_nn as nn


class Counter(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


def test_loading_copies_into_the_parameters():
    source, target = nn.Linear(2, 3), nn.Linear(2, 3)
    weight, pointer = target.weight, target.weight.data_ptr()
    target.load_state_dict(source.state_dict())
    assert target.weight is weight and weight.data_ptr() == pointer
    assert mt.equal(target.weight, source.weight)


def test_assigning_takes_the_tensors_of_the_dict():
    state = {name: value.double() for name, value in nn.Linear(2, 3).state_dict().items()}
    target = nn.Linear(2, 3, device="meta")
    target.load_state_dict(state, assign=True)
    assert isinstance(target.weight, nn.Parameter) and target.weight.requires_grad
    assert target.weight.data_ptr() == state["weight"].data_ptr() and target.weight.dtype is mt.float64


def test_a_failed_load_names_everything_that_is_wrong():
    with pytest.raises(RuntimeError) as caught:
        nn.Sequential(nn.Linear(2, 3)).load_state_dict({"0.weight": mt.ones(1), "extra": mt.ones(1)})
    message = str(caught.value)
    assert 'Missing key(s) in state_dict: "0.bias".' in message
    assert 'Unexpected key(s) in state_dict: "extra".' in message
    assert "size mismatch for 0.weight" in message


def test_lenient_loading_returns_what_did_not_match():
    result = nn.Linear(2, 3).load_state_dict({"weight": mt.ones(3, 2), "extra": 1}, strict=False)
    assert result.missing_keys == ["bias"] and result.unexpected_keys == ["extra"]


def test_the_given_dict_is_not_changed():
    model = nn.Sequential(nn.BatchNorm1d(2))
    state = {name: value for name, value in model.state_dict().items() if "num" not in name}
    before = dict(state)
    model.load_state_dict(state)
    assert state == before


def test_keep_vars():
    linear = nn.Linear(2, 3)
    assert linear.state_dict(keep_vars=True)["weight"] is linear.weight
    kept = linear.state_dict()["weight"]
    assert kept is not linear.weight and kept.data_ptr() == linear.weight.data_ptr()


def test_extra_state_travels():
    model = nn.Sequential(Counter(3))
    other = nn.Sequential(Counter(0))
    assert model.state_dict() == {"0._extra_state": {"count": 3}}
    other.load_state_dict(model.state_dict())
    assert other[0].count == 3
    with pytest.raises(RuntimeError, match="0._extra_state"):
        other.load_state_dict({})
    with pytest.raises(RuntimeError, match="Unexpected"):
        nn.Sequential(nn.ReLU()).load_state_dict(model.state_dict())


def test_hooks_of_saving():
    model = nn.Sequential(nn.Linear(1, 1))
    model[0].register_state_dict_pre_hook(lambda module, prefix, keep_vars: module.bias.data.fill_(7))
    model[0].register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update({prefix + "more": 1}))
    state = model.state_dict()
    assert state["0.bias"].item() == 7 and state["0.more"] == 1


def test_private_hooks_may_replace_the_dict():
    model = nn.Linear(1, 1)
    model._register_state_dict_hook(lambda module, state, prefix, metadata: {"only": 1})
    assert model.state_dict() == {"only": 1}


def test_hooks_of_loading():
    model = nn.Linear(1, 1)
    model.register_load_state_dict_pre_hook(
        lambda module, state, prefix, *rest: state.update({"weight": mt.full((1, 1), 5.0)})
    )
    model.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    model.load_state_dict({})
    assert model.weight.item() == 5


def test_versions_are_kept_beside_the_state():
    class Versioned(nn.Module):
        _version = 3

    metadata = nn.Sequential(Versioned(), nn.BatchNorm1d(1)).state_dict()._metadata
    assert {name: entry["version"] for name, entry in metadata.items()} == {"": 1, "0": 3, "1": 2}


def test_batch_norm_loads_states_from_before_batches_were_counted():
    norm = nn.BatchNorm1d(2)
    state = norm.state_dict()
    del state["num_batches_tracked"]
    del state._metadata
    assert not norm.load_state_dict(state).missing_keys


def test_a_one_element_tensor_loads_into_a_scalar():
    module = nn.Module()
    module.register_buffer("scalar", mt.tensor(0.0))
    module.load_state_dict({"scalar": mt.tensor([2.0])})
    assert module.scalar.item() == 2


def test_all_failures_of_copies_are_reported_together():
    module = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="expected torch.Tensor or Tensor-like object from checkpoint"):
        module.load_state_dict({"weight": 3, "bias": 4})


def test_meta_parameters_ignore_copies_with_a_warning():
    with pytest.warns(UserWarning, match="which is a no-op"):
        nn.Linear(1, 1, device="meta").load_state_dict(nn.Linear(1, 1).state_dict())


def test_uninitialized_parameters_take_the_loaded_shape():
    lazy = nn.LazyLinear(3)
    lazy.load_state_dict(nn.Linear(2, 3).state_dict())
    assert lazy.weight.shape == (3, 2) and not lazy.has_uninitialized_params()
