"""Lazy conjugation and negation: views that read their base's elements otherwise."""

from __future__ import annotations

import copy
import io
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mt_core as torch
from mt_core.serialization import load, save
from mt_core.testing.namespace import namespace

SNAPSHOTS = Path(__file__).with_name("snapshots")
sys.path.insert(0, str(SNAPSHOTS))

import conjugate_programs  # noqa: E402

EXPECTED = json.loads((SNAPSHOTS / "conjugate.json").read_text())


def numbers() -> Any:
    return torch.tensor([[1 + 2j, 3 - 4j], [-1 + 1j, 2j]])


def halves() -> Any:
    """A tensor read conjugated, one read negated, and one of both."""
    x = numbers()
    return {"conj": x.conj(), "neg": x.conj().imag, "both": torch._neg_view(x.conj())}


def close(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return isinstance(mine, list) and len(mine) == len(theirs) and all(map(close, mine, theirs))
    if isinstance(theirs, float):
        return mine == theirs or bool(np.isclose(mine, theirs, rtol=1e-4, atol=2e-3, equal_nan=True))
    return bool(mine == theirs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(conjugate_programs.PROGRAMS))
def test_programs_do_what_pytorch_does(seed: int) -> None:
    assert close(conjugate_programs.run(namespace(), seed), EXPECTED[seed])


def test_conj_is_a_view_that_writes_reach_the_base_through() -> None:
    x = numbers()
    c = x.conj()
    assert c.is_conj() and c._is_view() and c._base is x and c.data_ptr() == x.data_ptr()
    c[0] = 9 + 1j
    assert x[0].tolist() == [9 - 1j, 9 - 1j]
    assert x._version == 1
    assert not c.conj().is_conj() and x.real.conj() is not None and x.real.conj().is_conj() is False


def test_the_imaginary_part_of_a_conjugate_is_negated() -> None:
    x = numbers()
    part = x.conj().imag
    assert part.is_neg() and part.data_ptr() == x.data_ptr() + 4
    part.add_(1)
    assert x.imag.tolist() == [[1.0, -5.0], [0.0, 1.0]]


@pytest.mark.parametrize("which", ["conj", "neg", "both"])
def test_every_reader_sees_the_elements_as_they_read(which: str) -> None:
    t = halves()[which]
    wanted = t.clone()
    assert not wanted.is_conj() and not wanted.is_neg()
    values = wanted.numpy()
    assert t.tolist() == values.tolist()
    assert t[0, 1].item() == values[0, 1]
    assert repr(t) == repr(wanted)
    assert np.array_equal(t.numpy(force=True), values)
    assert t.new_tensor(t.tolist()).tolist() == values.tolist()
    assert copy.deepcopy(t).tolist() == values.tolist() and not copy.deepcopy(t).is_conj()
    assert bool(t[0, 0]) is True
    half = t.to(torch.complex32 if t.is_complex() else torch.bfloat16)
    assert half.tolist() == values.tolist()


def test_types_that_numpy_lacks_are_listed_as_they_read() -> None:
    t = torch._neg_view(torch.tensor([1.0, -2.0], dtype=torch.bfloat16))
    assert t.tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("which", ["conj", "neg", "both"])
def test_pickles_and_files_keep_the_bits_and_the_numbers(which: str) -> None:
    t = halves()[which]
    stream = io.BytesIO()
    save(t, stream)
    stream.seek(0)
    for back in (pickle.loads(pickle.dumps(t)), load(stream)):
        assert (back.is_conj(), back.is_neg()) == (t.is_conj(), t.is_neg())
        assert back.tolist() == t.tolist()
        assert (back * 2).tolist() == (t.clone() * 2).tolist()


REFUSALS = {
    "conj": [
        (lambda t: t.numpy(), RuntimeError, "Can't call numpy() on Tensor that has conjugate bit set"),
        (lambda t: np.asarray(t), RuntimeError, "Can't call numpy() on Tensor that has conjugate bit set"),
        (lambda t: t.__dlpack__(), BufferError, "Can't export tensors with the conjugate bit set"),
        (lambda t: torch.view_as_real(t), RuntimeError, "view_as_real doesn't work on unresolved conjugated tensors."),
        (lambda t: t.view(torch.int32), RuntimeError, "is not supported for conjugate view tensors when converting"),
    ],
    "neg": [
        (lambda t: t.numpy(), RuntimeError, "Can't call numpy() on Tensor that has negative bit set"),
        (lambda t: t.__dlpack__(), BufferError, "Can't export tensors with the negative bit set"),
        (lambda t: t.view(torch.int32), RuntimeError, "is not supported for tensors with negative bit set when"),
    ],
}


@pytest.mark.parametrize("which", ["conj", "neg"])
def test_what_cannot_say_how_elements_read_is_refused(which: str) -> None:
    for call, kind, words in REFUSALS[which]:
        with pytest.raises(kind) as caught:
            call(halves()[which])
        assert words in str(caught.value)


def test_data_takes_the_bits_of_what_it_is_given() -> None:
    x = numbers()
    x.data = numbers().conj()
    assert x.is_conj() and x.tolist() == numbers().conj().tolist()
    x.data = numbers()
    assert not x.is_conj() and x.tolist() == numbers().tolist()


def test_an_out_of_another_shape_is_resized_before_it_is_written() -> None:
    out = torch.zeros(0, dtype=torch.complex64).conj()
    assert torch.add(numbers(), 1j, out=out) is out
    assert out.is_conj() and out.tolist() == (numbers() + 1j).tolist()


def test_several_outputs_come_back_as_they_were_given() -> None:
    values, indices = torch._neg_view(torch.zeros(2, 2)), torch.zeros(2, 2, dtype=torch.int64)
    made = torch.topk(torch.tensor([[1.0, 2.0], [4.0, 3.0]]), 2, out=(values, indices))
    assert made.values is values and made.indices is indices
    assert values.tolist() == [[2.0, 1.0], [4.0, 3.0]]


def test_arguments_that_share_the_written_memory_are_read_before() -> None:
    x = numbers()
    wanted = x.conj().clone() + x
    x.conj().add_(x)
    assert x.conj().tolist() == wanted.tolist()


def test_the_meta_device_has_the_bits_too() -> None:
    x = torch.empty(2, 3, dtype=torch.complex64, device="meta")
    assert x.conj().is_conj() and (x.conj() * 2).shape == (2, 3)
    assert x.conj().imag.is_neg() and not (x.conj() + x).is_conj()


def test_in_inference_mode_results_are_inference_tensors() -> None:
    with torch.inference_mode():
        c = numbers().conj()
        assert c.clone().is_inference() and c.resolve_conj().is_inference() and (c * 1).is_inference()
        c.add_(1)
        assert c[0, 0].item() == 2 - 2j


@pytest.mark.parametrize("file", ["kinds.pt", "kinds.legacy.pt"])
def test_files_that_pytorch_saved_with_the_bits_read_as_they_did(file: str) -> None:
    kinds = load(SNAPSHOTS / "serialization" / file, weights_only=False)
    assert kinds["conj"].is_conj() and kinds["conj"].tolist() == [1 - 2j, 1 - 2j]
    assert kinds["neg"].is_neg() and (kinds["neg"] * 2).tolist() == [-2.0, -2.0]
    assert kinds["conj"].resolve_conj().numpy().tolist() == [1 - 2j, 1 - 2j]
