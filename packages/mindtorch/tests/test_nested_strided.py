"""Nested tensors of the strided layout: against PyTorch's answers, and as properties against their components."""

from __future__ import annotations

import copy
import io
import json
import math
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch as torch

F = torch.nn.functional
_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from nested_strided_cases import answers, random_program  # noqa: E402

RECORDED = json.loads((_SNAPSHOTS / "nested_strided.json").read_text())

#: Where something else is done, and why.
DIFFERENT = {
    **dict.fromkeys(["nt<1", "nt!=1", "F.selu(nt)", "nt.exp_()"], "refused too, by another name of the operator"),
    **dict.fromkeys(
        ["nt.masked_fill_(nt>1,0)", "nt.sub_(nt)", "nt.div_(2)", "nt.sin_()", "nt.mT.mul_(2)"],
        "what works out of place works in place",
    ),
    "(nt.chunk(3,-1)[1]+nt.chunk(3,-1)[1])._nested_tensor_strides()": "PyTorch makes it contiguous",
    "torch.nested.to_padded_tensor(torch.ones(2),0)": "refused too, in other words",
    "e[0]": "refused too, in the words that an ordinary tensor has",
    "e.to_padded_tensor(0,(1,2))": "PyTorch leaves the size unheard",
    "torch.nn.functional.embedding(torch.nested.nested_tensor([torch.tensor([[1,2]]),torch.tensor([[0]])]),"
    "torch.arange(6.).view(3,2))": "refused too, without asking for a report",
    "torch.nn.functional.layer_norm(n4.transpose(2,3),(3,),torch.ones(3),torch.zeros(3))": "as above",
}  # fmt: skip


def _equal(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(_equal, ours, theirs))
    if isinstance(theirs, float) and isinstance(ours, float):
        both_nan = math.isnan(ours) and math.isnan(theirs)
        return both_nan or math.isclose(ours, theirs, rel_tol=1e-3, abs_tol=3e-4)
    return type(ours) is type(theirs) and ours == theirs


def test_expressions_give_what_they_give_in_pytorch() -> None:
    ours, theirs = json.loads(json.dumps(answers(torch))), RECORDED["expressions"]
    assert list(ours) == list(theirs)
    other = [program for program in theirs if not _equal(ours[program], theirs[program])]
    assert set(other) == set(DIFFERENT), "\n".join(f"{p}: {ours[p]} and not {theirs[p]}" for p in other)


@pytest.mark.parametrize("part", range(2))
def test_random_programs_give_what_they_give_in_pytorch(part: int) -> None:
    seen = 0
    for seed, recorded in RECORDED["programs"].items():
        if int(seed) % 2 != part:
            continue
        ours = json.loads(json.dumps(random_program(torch, int(seed), recorded["steps"])))
        for step, made, expected in zip(recorded["steps"], ours["made"], recorded["made"], strict=True):
            assert _equal(made, expected), (seed, step, made, expected)
        if recorded["gradients"] is not None:
            seen += 1
            assert _equal(ours["gradients"], recorded["gradients"]), (seed, recorded["steps"])
    assert seen > 8


def _attended(t: Any) -> Any:
    return F.scaled_dot_product_attention(t, t * 2, t)


_ALIKE = {
    "arithmetic": lambda t: (t * 2 - 1) * t,
    "functions": lambda t: F.gelu(t) + F.silu(t.sin()),
    "softmax": lambda t: torch.softmax(t, -1) * t,
    "transposed": lambda t: t.transpose(-1, -2) * 3,
    "sum": lambda t: (t * t).sum(-1, keepdim=True),
    "products": lambda t: torch.matmul(t, t.transpose(-1, -2)),
    "attention": lambda t: _attended(t.sum(-1, keepdim=True)),
    "sizes": lambda t: t.unsqueeze(-1).squeeze(-1),
    "masked": lambda t: t.masked_fill(t > 0, 0.5) * t,
}


@pytest.mark.parametrize("name", _ALIKE)
@settings(max_examples=3, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3), st.integers(0, 2**16))
def test_components_have_the_values_and_gradients_of_ordinary_tensors(
    name: str, sizes: list[tuple[int, int]], seed: int
) -> None:
    torch.manual_seed(seed)
    parts = [torch.randn(size, dtype=torch.float64) for size in sizes]
    alone, together = ([part.clone().requires_grad_() for part in parts] for _ in range(2))
    expected = [_ALIKE[name](part) for part in alone]
    made = _ALIKE[name](torch.nested.as_nested_tensor(together))
    for ours, theirs in zip(made.unbind(), expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    sum((one.cos() ** 2).sum() for one in expected).backward()
    sum((one.cos() ** 2).sum() for one in made.unbind()).backward()
    for ours, theirs in zip(together, alone, strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)


def test_gradients_that_lie_in_another_way_go_to_their_components() -> None:
    leaf = torch.nested.nested_tensor([torch.zeros(2, 4), torch.zeros(1, 4)], requires_grad=True)
    given = [torch.arange(8.0).reshape(4, 2), torch.arange(4.0).reshape(4, 1) - 9]
    (leaf * 1).transpose(1, 2).backward(torch.nested.nested_tensor(given))
    assert [part.tolist() for part in leaf.grad.unbind()] == [part.t().tolist() for part in given]
    leaf.grad = None
    (leaf * 1).chunk(2, -1)[1].backward(torch.nested.nested_tensor([torch.ones(2, 2), torch.full((1, 2), 3.0)]))
    expected = [[[0.0, 0.0, 1.0, 1.0]] * 2, [[0.0, 0.0, 3.0, 3.0]]]
    assert [part.tolist() for part in leaf.grad.unbind()] == expected


def test_what_lies_beside_a_view_stays_out_of_its_gradient() -> None:
    whole = torch.nested.nested_tensor([torch.tensor([[0.0, 4.0]]), torch.tensor([[0.0, 1.0]])], requires_grad=True)
    right = whole.chunk(2, -1)[1]
    (right / right).contiguous().to_padded_tensor(0.0).sum().backward()
    assert [part.tolist() for part in whole.grad.unbind()] == [[[0.0, 0.0]], [[0.0, 0.0]]]


def test_views_and_writes() -> None:
    nested = torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(1, 3)])
    nested.transpose(1, 2)[0].fill_(1.0)
    nested.chunk(3, -1)[2].add_(5)
    assert [part.tolist() for part in nested] == [[[1.0, 1.0, 6.0], [1.0, 1.0, 6.0]], [[0.0, 0.0, 5.0]]]
    nested.select(2, 0).zero_()
    assert nested.values().tolist() == [0.0, 1.0, 6.0, 0.0, 1.0, 6.0, 0.0, 0.0, 5.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        nested.requires_grad_().mul_(2)


def _squares(parts: Any) -> Any:
    return sum((part * part).sum() for part in parts.unbind())


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
def test_writes_of_which_others_would_not_know_are_refused(layout: Any) -> None:
    leaf = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=layout, requires_grad=True)
    weight = torch.tensor(2.0, requires_grad=True)

    def fresh() -> Any:
        return leaf * 1

    def plain() -> Any:
        return leaf.detach().clone()

    with pytest.raises(RuntimeError, match="written to in place"):
        fresh().transpose(1, 2).mul_(2)
    with pytest.raises(RuntimeError, match="written to in place"):
        fresh().chunk(3, -1)[1].mul_(2)
    with pytest.raises(RuntimeError, match="written to in place"):
        plain().transpose(1, 2).mul_(weight)
    for base in (fresh(), plain()):
        view = base.transpose(1, 2)
        with pytest.raises(RuntimeError, match="written to in place"):
            base.mul_(weight)
        del view
        _squares(base.mul_(weight)).backward()
    with torch.no_grad():
        fresh().transpose(1, 2).mul_(2)
    plain().transpose(1, 2).mul_(2)


def test_second_derivatives() -> None:
    parts = [torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)]
    nested = torch.nested.as_nested_tensor(parts)
    (first,) = torch.autograd.grad((nested * nested * nested).to_padded_tensor(0.0).sum(), parts[:1], create_graph=True)
    assert first.tolist() == [3.0, 12.0]
    assert torch.autograd.grad(first.sum(), parts[0])[0].tolist() == [6.0, 12.0]


@pytest.mark.parametrize("weights_only", [True, False])
def test_copies_and_files(weights_only: bool) -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(4, 3)], requires_grad=True)
    file = io.BytesIO()
    torch.save(nested, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=weights_only)
    for other in (loaded, pickle.loads(pickle.dumps(nested)), copy.deepcopy(nested)):
        assert other.is_nested
        assert other.is_leaf
        assert other.requires_grad
        assert torch.is_same_size(other, nested)
        assert other.values().tolist() == nested.values().tolist()


def test_files_cannot_reach_beyond_the_buffer() -> None:
    build = torch._utils._rebuild_nested_tensor
    with pytest.raises(RuntimeError, match="reaches beyond the buffer"):
        build(torch.ones(4), torch.tensor([[2], [3]]), torch.tensor([[1], [1]]), torch.tensor([0, 2]))
    with pytest.raises(RuntimeError, match="reaches beyond the buffer"):
        build(torch.ones(4), torch.tensor([[2]]), torch.tensor([[-1]]), torch.tensor([1]))


def test_layouts_do_not_mix() -> None:
    strided = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    for one, other in ((strided, jagged), (jagged, strided)):
        with pytest.raises(RuntimeError):
            one + other
    with pytest.raises(RuntimeError, match="Converting between nested tensor layouts"):
        torch.nested.as_nested_tensor(strided, layout=torch.jagged)
