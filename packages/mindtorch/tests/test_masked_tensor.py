"""Masked tensors: against PyTorch's answers, and as properties against the elements that are there."""

from __future__ import annotations

import copy
import doctest
import io
import json
import pickle
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch as torch
from mindtorch.masked import as_masked_tensor, is_masked_tensor, masked_tensor

_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from masked_cases import answers  # noqa: E402

RECORDED = json.loads((_SNAPSHOTS / "masked.json").read_text())

#: Where something else is done, and why.
DIFFERENT = {
    "torch.masked.mean(mt,1)": "PyTorch divides by the number of all elements",
    "grads(lambda x: x[0])": "PyTorch has no gradient for rows that were not selected; here it is 0",
    "mt.var(0, False)": "PyTorch leaves unbiased=False unheard",
    "torch.masked.sum(mt, mask=mask2)": "PyTorch leaves the mask that is given unheard",
}

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors:UserWarning")


def test_programs_give_what_they_give_in_pytorch() -> None:
    ours = json.loads(json.dumps(answers(torch)))
    assert list(ours) == list(RECORDED)
    other = [program for program in RECORDED if ours[program] != RECORDED[program]]
    assert set(other) == set(DIFFERENT), "\n".join(f"{p}: {ours[p]} and not {RECORDED[p]}" for p in other)


#: Of a tensor, masked or with NaN in place of the elements that are not there.
_ALONE = {
    "arithmetic": (lambda t: t * 2 - 1, None),
    "square": (lambda t: t * t, None),
    "function": (lambda t: t.sin() * torch.exp(t), None),
    "moved": (lambda t: t.transpose(0, 1)[1:].reshape(-1), None),
    "joined": (lambda t: torch.cat([t, t * 2], 1), None),
    "sum": (lambda t: t.sum(0), lambda t: t.nansum(0)),
    "mean": (lambda t: t.mean(1), lambda t: t.nanmean(1)),
    "total": (lambda t: t.sum(), lambda t: t.nansum()),
    "greatest": (lambda t: t.amax(0), lambda t: t.nan_to_num(nan=-1e9).amax(0)),
    "product": (lambda t: t.prod(1), lambda t: t.nan_to_num(nan=1.0).prod(1)),
}


@pytest.mark.parametrize("name", _ALONE)
@settings(max_examples=6, deadline=None)
@given(st.lists(st.booleans(), min_size=12, max_size=12), st.integers(0, 2**16))
def test_values_and_gradients_are_those_of_the_elements_that_are_there(name: str, bits: list[bool], seed: int) -> None:
    ours, theirs = _ALONE[name]
    torch.manual_seed(seed)
    data, mask = torch.randn(4, 3, dtype=torch.float64), torch.tensor(bits).reshape(4, 3)
    leaf = masked_tensor(data, mask, requires_grad=True)
    made = ours(leaf)
    plain = data.masked_fill(~mask, float("nan")).requires_grad_()
    expected = (theirs or ours)(plain)
    there = made.get_mask()
    torch.testing.assert_close(made.get_data()[there], expected[there])
    made.sum().backward()
    expected[there].sum().backward()
    torch.testing.assert_close(leaf.grad.get_data()[mask], plain.grad[mask])
    assert torch.equal(leaf.grad.get_mask(), mask)


def test_nan_of_elements_that_are_not_there_stays_out_of_gradients() -> None:
    weight = torch.tensor(2.0, requires_grad=True)
    data = torch.tensor([-1.0, 4.0])
    made = masked_tensor(data, data > 0).sqrt() * weight
    made.sum().backward()
    assert weight.grad.item() == 2.0
    divisor = torch.tensor([0.0, 2.0], requires_grad=True)
    (masked_tensor(data, data > 0) / divisor).sum().backward()
    assert divisor.grad.tolist() == [0.0, -1.0]


def test_masks_that_differ_are_refused() -> None:
    data = torch.ones(2)
    one, other = (masked_tensor(data, torch.tensor(mask)) for mask in ([True, False], [True, True]))
    with pytest.raises(ValueError, match="Input masks must match"):
        one + other
    with pytest.raises(TypeError, match=r"aten.mm.default"):
        torch.mm(masked_tensor(torch.ones(2, 2), torch.ones(2, 2) > 0), torch.ones(2, 2))


def test_gradients_of_elements_are_masked() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = as_masked_tensor(x, torch.tensor([True, False]))
    assert ["prototype" in str(w.message) for w in told] == [True, False]
    (made * 3).sum().backward()
    assert is_masked_tensor(x.grad)
    assert x.grad.to_tensor(0.0).tolist() == [3.0, 0.0]


def test_writes() -> None:
    data = torch.ones(2)
    made = masked_tensor(data, torch.tensor([True, False]))
    made.add_(2)
    assert made.get_data().tolist() == [3.0, 3.0]
    assert data.tolist() == [1.0, 1.0]
    weight = torch.tensor(2.0, requires_grad=True)
    made.mul_(weight)
    made.sum().backward()
    assert weight.grad.item() == 3.0
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        masked_tensor(data, data > 0, requires_grad=True).mul_(2)


def test_copies_and_files() -> None:
    made = masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]), requires_grad=True)
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    for other in (torch.load(file, weights_only=False), pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert is_masked_tensor(other)
        assert other.requires_grad
        assert other.get_mask().tolist() == [True, False]
        assert other.get_data().tolist() == [1.0, 2.0]


def test_page() -> None:
    page = Path(__file__).parents[3] / "docs" / "masked.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 5
    assert not found.failed
