"""Gradients for each sample are those of a loop over the samples."""

from __future__ import annotations

import pytest

import mt_core as mt
from mt_nn import (
    LSTM,
    BatchNorm1d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    GroupNorm,
    LayerNorm,
    Linear,
    Module,
    ReLU,
    Sequential,
)
from mt_nn.utils._per_sample_grad import call_for_per_sample_grads

IMAGES = mt.linspace(-1, 1, 4 * 3 * 6 * 6).sin().reshape(4, 3, 6, 6)
TOKENS = mt.tensor([[1, 2], [3, 3], [0, 4], [1, 1]])
NETWORKS = {
    "convolutions": (lambda: Sequential(Conv2d(3, 4, 3), GroupNorm(2, 4), ReLU(), Flatten(), Linear(64, 2)), IMAGES),
    "embedding": (lambda: Sequential(Embedding(5, 4), LayerNorm(4), Linear(4, 2)), TOKENS),
    "rows": (lambda: Sequential(Linear(6, 3), ReLU(), Linear(3, 2, bias=False)), IMAGES),
}


def _loop(network: Module, samples: mt.Tensor) -> list[mt.Tensor]:
    found = []
    for sample in samples.unbind():
        network.zero_grad()
        network(sample.unsqueeze(0)).pow(2).sum().backward()
        found.append([parameter.grad for parameter in network.parameters()])
    return [mt.stack(list(gradients)) for gradients in zip(*found, strict=True)]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_they_are_those_of_a_loop(name: str, reduction: str) -> None:
    make, samples = NETWORKS[name]
    mt.manual_seed(0)
    network = make()
    expected = _loop(network, samples)
    network.zero_grad()
    output = call_for_per_sample_grads(network, loss_reduction=reduction)(samples)
    assert mt.allclose(output, network(samples), atol=1e-6)
    loss = output.pow(2).sum()
    (loss / len(samples) if reduction == "mean" else loss).backward()
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        assert parameter.grad is None
        assert mt.allclose(parameter.grad_sample, gradient, atol=1e-5)


def test_inputs_have_gradients_and_masks_are_those_of_the_forward() -> None:
    inputs = mt.ones(5, 8, requires_grad=True)
    layer = Sequential(Dropout(0.5), Linear(8, 1))
    output = call_for_per_sample_grads(layer)(inputs)
    output.sum().backward()
    weight, bias = layer.parameters()
    again = (weight.grad_sample * weight).sum((1, 2)) + bias  # what the masks let through is the gradient of the weight
    assert mt.allclose(again.detach(), output[:, 0].detach(), atol=1e-6)
    assert inputs.grad.shape == (5, 8)
    assert mt.equal(inputs.grad != 0, weight.grad_sample[:, 0] != 0)


def test_samples_along_the_second_dimension() -> None:
    inputs = mt.linspace(0, 1, 24).reshape(3, 4, 2)
    layer = Linear(2, 2)
    call_for_per_sample_grads(layer, batch_first=False)(inputs).sum().backward()
    assert mt.allclose(layer.weight.grad_sample[1, 0], inputs[:, 1].sum(0))


def test_what_is_refused() -> None:
    for wrong, words in (({"batch_size": 0}, "must be positive"), ({"loss_reduction": "none"}, "sum or mean")):
        with pytest.raises(RuntimeError, match=words):
            call_for_per_sample_grads(Linear(2, 2), **wrong)
    with pytest.raises(RuntimeError, match="must be nn.Module, got int"):
        call_for_per_sample_grads(3)
    with pytest.raises(RuntimeError, match="cannot handle BatchNorm1d"):
        call_for_per_sample_grads(BatchNorm1d(2))
    with pytest.raises(NotImplementedError, match="of LSTM is not supported"):
        call_for_per_sample_grads(LSTM(2, 2))
    layer = Linear(2, 2)
    call_for_per_sample_grads(layer)(mt.ones(3, 2)).sum().backward()
    with pytest.raises(RuntimeError, match="clear out the grad_sample"):
        call_for_per_sample_grads(layer)(mt.ones(3, 2))
    with pytest.raises(RuntimeError, match="Unable to find a tensor"):
        call_for_per_sample_grads(Linear(2, 2))(3)
    with pytest.raises(RuntimeError, match="batch size 3 and one with batch size 2"):
        call_for_per_sample_grads(Linear(2, 2))(mt.ones(3, 2), mt.ones(2, 2))
