"""Padding and packing, clipping, parametrizations, pruning, functional calls."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mt_core as mt
import mt_nn as nn
from mt_nn import func
from mt_nn.utils import clip_grad, parametrize, prune, rnn

lengths = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def sequences(sizes):
    return [mt.arange(size * 2, dtype=mt.float32).view(size, 2) + 10 * i for i, size in enumerate(sizes)]


@given(lengths, st.booleans())
def test_padding_and_unpadding(sizes, batch_first):
    given_sequences = sequences(sizes)
    padded = rnn.pad_sequence(given_sequences, batch_first=batch_first)
    unpadded = rnn.unpad_sequence(padded, mt.tensor(sizes), batch_first=batch_first)
    assert all(mt.equal(a, b) for a, b in zip(unpadded, given_sequences, strict=True))


@given(lengths)
def test_packing_and_unpacking(sizes):
    given_sequences = sequences(sizes)
    packed = rnn.pack_sequence(given_sequences, enforce_sorted=False)
    assert packed.data.shape == (sum(sizes), 2)
    assert packed.batch_sizes.tolist() == [sum(size > step for size in sizes) for step in range(max(sizes))]
    assert all(mt.equal(a, b) for a, b in zip(rnn.unpack_sequence(packed), given_sequences, strict=True))


@given(lengths, st.booleans())
def test_padding_packed_sequences(sizes, batch_first):
    padded = rnn.pad_sequence(sequences(sizes), batch_first=batch_first, padding_value=-1)
    packed = rnn.pack_padded_sequence(padded, sizes, batch_first=batch_first, enforce_sorted=False)
    again, found = rnn.pad_packed_sequence(packed, batch_first=batch_first, padding_value=-1)
    assert mt.equal(again, padded) and found.tolist() == sizes


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@given(sizes=lengths, bidirectional=st.booleans())
def test_a_packed_run_is_each_sequence_run_by_itself(kind, sizes, bidirectional):
    network = kind(2, 3, num_layers=2, bidirectional=bidirectional)
    given_sequences = sequences(sizes)
    outputs, _ = network(rnn.pack_sequence(given_sequences, enforce_sorted=False))
    for output, sequence in zip(rnn.unpack_sequence(outputs), given_sequences, strict=True):
        assert mt.allclose(output, network(sequence)[0], atol=1e-6)


def test_a_packed_sequence_moves_and_casts():
    packed = rnn.pack_sequence(sequences([2, 1]))
    assert packed.double().data.dtype is mt.float64
    assert packed.cpu() is packed and not packed.is_cuda


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=4), st.floats(0.1, 20))
def test_clipped_gradients_have_at_most_the_norm(values, limit):
    params = [nn.Parameter(mt.zeros(1)) for _ in values]
    for param, value in zip(params, values, strict=True):
        param.grad = mt.tensor([value])
    norm = float(sum(value * value for value in values) ** 0.5)
    assert abs(float(clip_grad.clip_grad_norm_(params, limit)) - norm) < 1e-4
    clipped = float(clip_grad.get_total_norm([param.grad for param in params]))
    assert clipped <= limit * (1 + 1e-5)
    if norm < limit * 0.99:
        assert [param.grad.item() for param in params] == pytest.approx(values)


def test_clipping_values():
    param = nn.Parameter(mt.zeros(3))
    param.grad = mt.tensor([-5.0, 0.5, 5.0])
    clip_grad.clip_grad_value_(param, 1)
    assert param.grad.tolist() == [-1, 0.5, 1]


def test_parameters_as_a_vector():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = nn.utils.parameters_to_vector(model.parameters())
    nn.utils.vector_to_parameters(vector * 2, model.parameters())
    assert mt.equal(nn.utils.parameters_to_vector(model.parameters()), vector * 2)


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


def test_a_parametrized_weight_is_computed_and_can_be_assigned():
    linear = nn.Linear(2, 3)
    before = linear.weight.detach().clone()
    parametrize.register_parametrization(linear, "weight", Doubled())
    assert mt.allclose(linear.weight, before)
    assert mt.allclose(linear.parametrizations.weight.original, before / 2)
    linear.weight = mt.ones(3, 2)
    assert mt.allclose(linear.weight, mt.ones(3, 2))
    linear(mt.ones(1, 2)).sum().backward()
    assert linear.parametrizations.weight.original.grad is not None


def test_removing_parametrizations_gives_the_class_back():
    linear = nn.Linear(2, 3)
    parametrize.register_parametrization(linear, "weight", Doubled())
    value = linear.weight.detach().clone()
    parametrize.remove_parametrizations(linear, "weight")
    assert type(linear) is nn.Linear and isinstance(linear.weight, nn.Parameter)
    assert mt.allclose(linear.weight, value)


def test_parametrized_values_are_kept_within_a_cache():
    linear = parametrize.register_parametrization(nn.Linear(2, 3), "weight", Doubled())
    with parametrize.cached():
        assert linear.weight is linear.weight
    assert linear.weight is not linear.weight


def test_parametrized_modules_can_be_copied_but_not_pickled():
    linear = parametrize.register_parametrization(nn.Linear(2, 3), "weight", Doubled())
    duplicate = copy.deepcopy(linear)
    assert mt.equal(duplicate.weight, linear.weight)
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        copy.copy(linear).__getstate__()


def test_pruning_masks_the_least_and_can_be_made_permanent():
    linear = nn.Linear(2, 3)
    kept = sorted(linear.weight.detach().abs().view(-1).tolist())[2:]
    prune.l1_unstructured(linear, "weight", 2)
    assert int((linear.weight == 0).sum()) == 2
    assert sorted(linear.weight.detach().abs().view(-1).tolist())[2:] == kept
    prune.random_unstructured(linear, "weight", 1)
    assert int((linear.weight_mask == 0).sum()) == 3
    prune.remove(linear, "weight")
    assert isinstance(linear.weight, nn.Parameter) and int((linear.weight == 0).sum()) == 3


@pytest.mark.parametrize("method", [prune.L1Unstructured(1), prune.LnStructured(1, 2, 1), prune.Identity()])
@pytest.mark.parametrize("dtype", [mt.float16, mt.float64])
def test_masks_of_several_prunings_have_the_dtype_of_the_tensor(method, dtype):
    container = prune.PruningContainer()
    container._tensor_name = method._tensor_name = "weight"
    container.add_pruning_method(method)
    before = mt.tensor([[1, 1, 0], [1, 1, 1]])
    mask = container.compute_mask(mt.arange(1.0, 7).view(2, 3).to(dtype), before)
    assert mask.dtype is dtype
    assert (mask <= before).all()


def test_more_cannot_be_pruned_than_there_is():
    with pytest.raises(ValueError, match="amount=20 should be smaller than the number of parameters to prune=19"):
        prune._validate_pruning_amount(20, 19)
    for amount, size, count in ((0.4, 17, 7), (1.0, 15, 15), (1, 15, 1), (0, 0, 0)):
        prune._validate_pruning_amount(amount, size)
        assert prune._compute_nparams_toprune(amount, size) == count


def test_structured_pruning_takes_whole_rows():
    linear = prune.ln_structured(nn.Linear(4, 3), "weight", amount=1, n=2, dim=0)
    assert int((linear.weight_mask.sum(1) == 0).sum()) == 1


def test_a_functional_call_uses_other_tensors_and_leaves_the_module_alone():
    linear = nn.Linear(2, 1)
    weight = linear.weight
    other = {"weight": mt.ones(1, 2, requires_grad=True), "bias": mt.zeros(1)}
    result = func.functional_call(linear, other, (mt.ones(1, 2),))
    assert result.tolist() == [[2]]
    result.sum().backward()
    assert other["weight"].grad.tolist() == [[1, 1]]
    assert linear.weight is weight and weight.grad is None


def test_a_functional_call_ties_what_is_tied():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    result = func.functional_call(
        model, {"0.weight": mt.eye(2), "0.bias": mt.zeros(2), "1.bias": mt.zeros(2)}, (mt.ones(1, 2),)
    )
    assert result.tolist() == [[1, 1]]


def test_fused_convolution_and_batch_norm():
    conv, norm = nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3)
    norm(mt.randn(4, 3, 5, 5))
    x = mt.randn(1, 2, 4, 4)
    pair = nn.Sequential(conv, norm).eval()
    fused = nn.utils.fuse_conv_bn_eval(conv, norm)
    assert mt.allclose(fused(x), pair(x), atol=1e-5)


def test_skip_init_leaves_the_random_stream_alone():
    from mt_core.random import get_rng_state

    before = get_rng_state()
    linear = nn.utils.skip_init(nn.Linear, 2, 3)
    assert mt.equal(get_rng_state(), before) and linear.weight.shape == (3, 2)
