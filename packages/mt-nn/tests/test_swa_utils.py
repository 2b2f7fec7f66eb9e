"""Averaged models."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import mt_core as mt
from mt_core.interop import from_numpy
from mt_nn.modules import BatchNorm1d, Linear, Module, Sequential
from mt_nn.optim import swa_utils


def random_models(count, *layers):
    rng = np.random.default_rng(0)
    model = Sequential(*(layers or (Linear(2, 3),)))
    models = []
    for _ in range(count):
        with mt.no_grad():
            for parameter in model.parameters():
                parameter.copy_(from_numpy(rng.normal(size=tuple(parameter.shape)).astype(np.float32)))
        models.append(copy.deepcopy(model))
    return models


def numbers(module: Module):
    return [parameter.detach().numpy() for parameter in module.parameters()]


@pytest.mark.parametrize("averaging", [{}, {"avg_fn": swa_utils.get_swa_avg_fn()}, {"use_buffers": True}])
def test_the_default_is_the_mean(averaging):
    models = random_models(5)
    averaged = swa_utils.AveragedModel(models[0], **averaging)
    for model in models:
        averaged.update_parameters(model)
    assert averaged.n_averaged.item() == 5
    for found, *each in zip(numbers(averaged.module), *map(numbers, models)):
        np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["avg_fn", "multi_avg_fn"])
def test_exponential_moving_average(kind):
    decay = 0.7
    make = swa_utils.get_ema_avg_fn if kind == "avg_fn" else swa_utils.get_ema_multi_avg_fn
    models = random_models(4)
    averaged = swa_utils.AveragedModel(models[0], **{kind: make(decay)})
    wanted = numbers(models[0])
    averaged.update_parameters(models[0])
    for model in models[1:]:
        averaged.update_parameters(model)
        wanted = [decay * w + (1 - decay) * n for w, n in zip(wanted, numbers(model))]
    for found, want in zip(numbers(averaged.module), wanted):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def test_the_copy_stands_apart_and_computes_with_the_average():
    (model,) = random_models(1)
    averaged = swa_utils.AveragedModel(model)
    averaged.update_parameters(model)
    x = mt.ones(1, 2)
    assert mt.equal(averaged(x), model(x))
    with mt.no_grad():
        next(model.parameters()).zero_()
    assert not mt.equal(averaged(x), model(x))
    assert list(averaged.state_dict()) == ["n_averaged", "module.0.weight", "module.0.bias"]


def test_buffers_are_copied_unless_averaged():
    models = random_models(2, Linear(2, 3), BatchNorm1d(3))
    for number, model in enumerate(models):
        model[1].running_mean.fill_(float(number))
    copied, averaged = swa_utils.AveragedModel(models[0]), swa_utils.AveragedModel(models[0], use_buffers=True)
    for model in models:
        copied.update_parameters(model)
        averaged.update_parameters(model)
    assert copied.module[1].running_mean.tolist() == [1.0] * 3
    assert averaged.module[1].running_mean.tolist() == [0.5] * 3


def test_update_bn_recomputes_the_statistics_and_restores_the_mode():
    (model,) = random_models(1, BatchNorm1d(2))
    model.eval()
    data = np.random.default_rng(1).normal(loc=3.0, size=(8, 2)).astype(np.float32)
    batches = [[from_numpy(data[:4].copy()), None], [from_numpy(data[4:].copy()), None]]
    swa_utils.update_bn(batches, model)
    np.testing.assert_allclose(model[0].running_mean.numpy(), data.mean(0), rtol=1e-5)
    assert not model.training
    assert model[0].momentum == 0.1


def test_refuses_bad_options():
    (model,) = random_models(1)
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        swa_utils.AveragedModel(model, avg_fn=swa_utils.get_swa_avg_fn(), multi_avg_fn=swa_utils.get_swa_multi_avg_fn())
    for make in (swa_utils.get_ema_avg_fn, swa_utils.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match="Invalid decay value 2.0 provided"):
            make(2.0)
