"""Quantized tensors, fake quantization and dynamic quantization: against PyTorch's answers (make_quantization.py)."""

from __future__ import annotations

import copy
import doctest
import functools
import io
import json
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from quantization_cases import answers  # noqa: E402

RECORDED = json.loads((_SNAPSHOTS / "quantization.json").read_text())
NUMBERS = np.load(_SNAPSHOTS / "quantization.npz")
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor, torch.quantize_per_channel")

#: Where something else is said, and why.
DIFFERENT = {
    "c.permute(1, 0)": "the operator is named",
}


@functools.cache
def _ours() -> dict[str, Any]:
    with warnings.catch_warnings():
        return answers(torch)


@pytest.mark.parametrize("program", RECORDED)
def test_programs_give_what_they_give_in_pytorch(program: str) -> None:
    if program in DIFFERENT:
        assert _ours()[program] != RECORDED[program], "listed as different, and is not"
        assert _ours()[program].partition(":")[0] == RECORDED[program].partition(":")[0]
    else:
        assert _ours()[program] == RECORDED[program]


@pytest.mark.parametrize("k", range(4))
def test_integers_and_numbers_are_pytorchs(k: int) -> None:
    scale, zero_point = (0.1, 0.5, 0.0123, 3.7)[k], 17 * k + 3
    given = torch.tensor(NUMBERS[f"{k} x"])
    scales, zero_points = torch.tensor([scale, scale * 1.5]), torch.tensor([zero_point, zero_point // 2])
    for dtype in (torch.quint8, torch.qint8, torch.qint32):
        for name, made in (
            ("tensor", torch.quantize_per_tensor(given, scale, zero_point, dtype)),
            ("channel", torch.quantize_per_channel(given, scales, zero_points, 0, dtype)),
        ):
            np.testing.assert_array_equal(made.int_repr().numpy(), NUMBERS[f"{k} {dtype} {name}"])
            np.testing.assert_array_equal(made.dequantize().numpy(), NUMBERS[f"{k} {dtype} {name} numbers"])
    fake = torch.fake_quantize_per_tensor_affine(given.half(), scale, zero_point, 0, 200)
    np.testing.assert_array_equal(fake.numpy(), NUMBERS[f"{k} fake"])


@pytest.mark.parametrize("k", range(4))
def test_learned_scales_have_pytorchs_gradients(k: int) -> None:
    scale, zero_point = (0.1, 0.5, 0.0123, 3.7)[k], 17 * k + 3
    given = torch.tensor(NUMBERS[f"{k} x"]).requires_grad_()
    learned = torch.tensor([scale, scale * 1.5]).requires_grad_()
    shift = (torch.tensor([zero_point, zero_point // 2]) + 0.3).requires_grad_()
    result = torch._fake_quantize_learnable_per_channel_affine(given, learned, shift, 0, 0, 200, 0.7)
    (result * torch.arange(result.numel()).reshape(result.shape)).sum().backward()
    for name, one in (("result", result), ("x", given.grad), ("scale", learned.grad), ("shift", shift.grad)):
        np.testing.assert_allclose(one.detach().numpy(), NUMBERS[f"{k} learned {name}"], rtol=2e-6)


def _model() -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(20, 9), torch.nn.ReLU(), torch.nn.Linear(9, 3, bias=False))
    model.load_state_dict(
        {k.removeprefix("model "): torch.tensor(NUMBERS[k]) for k in NUMBERS if k.startswith("model ")}
    )
    return model


def test_dynamic_layers_give_pytorchs_numbers() -> None:
    model, batch = _model(), torch.tensor(NUMBERS["batch"])
    for name, options in (
        ("dynamic", {}),
        ("dynamic half", {"dtype": torch.float16}),
        ("dynamic channels", {"qconfig_spec": {"0": per_channel_dynamic_qconfig}}),
    ):
        quantized = quantize_dynamic(model, **options)
        np.testing.assert_allclose(quantized(batch).detach().numpy(), NUMBERS[name], atol=1e-6)
    assert type(model[0]) is torch.nn.Linear


def test_checkpoints_are_pytorchs() -> None:
    batch = torch.tensor(NUMBERS["batch"])
    theirs = torch.load(io.BytesIO(NUMBERS["checkpoint"].tobytes()))
    fresh = torch.nn.Sequential(torch.nn.Linear(20, 9), torch.nn.ReLU(), torch.nn.Linear(9, 3, bias=False))
    loaded = quantize_dynamic(fresh)
    assert list(loaded.state_dict()) == list(theirs)
    loaded.load_state_dict(theirs)
    expected = quantize_dynamic(_model())(batch)
    assert torch.equal(loaded(batch), expected)
    for again in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert torch.equal(again(batch), expected)


def test_views_share_memory_and_writes_count() -> None:
    q = torch.quantize_per_tensor(torch.arange(6.0).reshape(2, 3), 0.5, 1, torch.qint8)
    row = q.t()[1]
    row.fill_(2.0)
    assert q.dequantize().tolist() == [[0.0, 2.0, 2.0], [3.0, 2.0, 5.0]]
    assert q._version == row._version == 1
    assert q.untyped_storage().data_ptr() == row.untyped_storage().data_ptr() == q.data_ptr()


def test_what_is_not_there_says_so() -> None:
    q = torch.quantize_per_tensor(torch.ones(2), 0.5, 1, torch.qint8)
    with pytest.raises(NotImplementedError, match=r"'aten::mul.Tensor' .* 'QuantizedCPU' .* `dequantize` them first"):
        q * q
    with pytest.raises(NotImplementedError, match=r"torch.ao.quantization.HistogramObserver is not supported"):
        torch.ao.quantization.HistogramObserver()
    for refused in (torch.ao.quantization.quantize, torch.ao.quantization.convert, torch.ao.quantization.fuse_modules):
        assert refused is getattr(torch.ao.quantization, refused.__name__)
        with pytest.raises(NotImplementedError, match=rf"torch.ao.quantization.{refused.__name__} is not supported"):
            refused(q)
    assert torch.ao.quantization.default_qconfig.activation().dtype is torch.quint8
    with pytest.raises(NotImplementedError, match=r"torch.ao.quantization.default_fake_quant is not supported"):
        torch.ao.quantization.default_qat_qconfig.activation()
    with pytest.raises(AttributeError, match=r"has no attribute 'converted'"):
        torch.ao.quantization.converted  # noqa: B018
    with pytest.raises(AttributeError, match=r"torch.ao.nn.quantized.Conv2d is not supported"):
        torch.ao.nn.quantized.Conv2d  # noqa: B018
    with pytest.raises(NotImplementedError, match="quantize_dynamic of LSTM"):
        quantize_dynamic(torch.nn.Sequential(torch.nn.LSTM(2, 2)))
    with pytest.raises(NotImplementedError, match="quint4x2 are not supported"):
        torch.quantize_per_tensor(torch.ones(2), 0.5, 1, torch.quint4x2)
    with pytest.raises(ValueError, match="Don't know how to quantize with default settings for torch.int8"):
        quantize_dynamic(_model(), dtype=torch.int8)


def test_files_with_what_does_not_go_together_are_refused() -> None:
    from mt_core.serialization.rebuild import _rebuild_qtensor

    q = torch.quantize_per_tensor(torch.ones(2, 3), 0.5, 1, torch.qint8)
    _, (storage, *geometry, _quantizer, _, _) = q.__reduce_ex__(2)
    two = torch.ones(2)
    for quantizer in (
        (torch.per_tensor_affine, "0.5", 1), (torch.per_tensor_affine, 0.5), (torch.per_tensor_symmetric, 0.5, 1),
        (torch.per_channel_affine, two, two, 1), (torch.per_channel_affine, two, two, 2), ("affine", 0.5, 1),
    ):  # fmt: skip
        with pytest.raises((TypeError, RuntimeError, NotImplementedError)):
            _rebuild_qtensor(storage, *geometry, quantizer, False, {})


def test_the_page_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "quantization.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 5
    assert results.failed == 0


def test_quantize_and_dequantize_are_modules():
    from_parameters = torch.ao.nn.quantized.Quantize(0.5, 3, torch.quint8)
    made = from_parameters(torch.tensor([-1.0, 0.2, 2.0]))
    assert made.int_repr().tolist() == [1, 3, 7] and made.dtype is torch.quint8
    assert torch.ao.nn.quantized.DeQuantize()(made).tolist() == [-1.0, 0.0, 2.0]
    assert {name: value.tolist() for name, value in from_parameters.state_dict().items()} == {
        "scale": [0.5], "zero_point": [3],
    }  # fmt: skip
    assert from_parameters.extra_repr() == "scale=tensor([0.5000]), zero_point=tensor([3]), dtype=torch.quint8"
    with pytest.raises(TypeError, match="unexpected kwargs {'other'}"):
        torch.ao.nn.quantized.Quantize(0.5, 3, torch.quint8, {"other": 1})
    observer = torch.ao.quantization.MinMaxObserver(dtype=torch.quint8)
    observer(torch.tensor([0.0, 2.55]))
    observed = torch.nn.Identity()
    observed.activation_post_process = observer
    quantize = torch.ao.nn.quantized.modules.Quantize.from_float(observed)
    assert quantize.dtype is torch.quint8 and quantize.zero_point.tolist() == [0]
    assert abs(quantize.scale.item() - 0.01) < 1e-6
    with pytest.raises(AttributeError, match="Conv2d is not supported"):
        torch.ao.nn.quantized.modules.Conv2d  # noqa: B018
