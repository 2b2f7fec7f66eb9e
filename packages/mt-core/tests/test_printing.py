"""The text of tensors against PyTorch's (snapshots/make_printing.py)."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from mt_core import dtypes, printing
from mt_core.construct import tensor

SNAPSHOT = json.loads((Path(__file__).parent / "snapshots" / "printing.json").read_text())
CASES = {f"{case['dtype']}-{i}": case for i, case in enumerate(SNAPSHOT["cases"])}


@pytest.fixture(autouse=True)
def default_settings():
    yield
    printing.set_printoptions(profile="default")
    dtypes.set_default_dtype(dtypes.float32)


def elements(case):
    d = getattr(dtypes, case["dtype"])
    return np.frombuffer(base64.b64decode(case["bytes"]), d.numpy_dtype).reshape(case["shape"]), d


@pytest.mark.parametrize("name", CASES)
def test_text_is_pytorchs(name):
    case = CASES[name]
    array, d = elements(case)
    printing.set_printoptions(**case["options"])
    dtypes.set_default_dtype(getattr(dtypes, case["default"]))
    text = printing.array_repr(array, d, requires_grad=case.get("requires_grad", False), grad_fn=case.get("grad_fn"))
    assert text == case["text"]


@pytest.mark.parametrize("case", SNAPSHOT["meta"], ids=str)
def test_text_without_data(case):
    d = getattr(dtypes, case["dtype"])
    assert printing.array_repr(None, d, shape=tuple(case["shape"]), device="meta") == case["text"]


def test_options_are_given_back():
    printing.set_printoptions(precision=2, sci_mode=True)
    with printing.printoptions(linewidth=20, precision=7):
        assert printing.get_printoptions()["precision"] == 7
        assert printing.get_printoptions()["sci_mode"] is None
    assert printing.get_printoptions() == {
        "precision": 2, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": True
    }  # fmt: skip


def test_contents_replace_the_elements():
    assert printing.array_repr(np.zeros(3, np.float32), dtypes.float32, contents="<3 zeros>") == "tensor(<3 zeros>)"


def test_type_that_cannot_be_printed_is_named():
    with pytest.raises(NotImplementedError, match="qint8"):
        printing.array_repr(np.zeros(3, "V1"), dtypes.qint8)


def test_tensor_and_subclass():
    class Named(type(tensor(0))):
        pass

    value = tensor([1.0, 2.5])
    assert repr(value) == "tensor([1.0000, 2.5000])"
    assert repr(value.as_subclass(Named)) == "Named([1.0000, 2.5000])"
    assert str(value) == repr(value)


def test_format_of_a_number():
    assert f"{tensor(1.23456):.3f}" == "1.235"
    assert f"{tensor([1.0])}" == "tensor([1.])"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{tensor([1.0]):.3f}"
