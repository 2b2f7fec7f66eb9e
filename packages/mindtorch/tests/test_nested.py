"""Nested tensors: against PyTorch's answers, and as properties against their components."""

from __future__ import annotations

import copy
import doctest
import functools
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

from nested_cases import answers  # noqa: E402

RECORDED = json.loads((_SNAPSHOTS / "nested.json").read_text())

#: Where something else is done, and why.
DIFFERENT = {
    "torch.nested.nested_tensor_from_jagged(V.t(),off,jagged_dim=2).to_padded_tensor(0.)": "PyTorch takes the longest "
    "length from another nested tensor of these offsets, one with holes, and loses rows",
    **dict.fromkeys(
        [
            "gradients(lambda t: (t * t).sum(1))", "gradients(lambda t: t.sum(-1))",
            "gradients(lambda t: t.mean(1) ** 2)", "gradients(lambda t: t.log_softmax(-1) ** 2)",
        ],
        "PyTorch has no such gradient",
    ),
    "gradients(lambda t: t.softmax(1) ** 2)": "PyTorch's gradient is not that of the components, whose sums are 0",
}  # fmt: skip


def _equal(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(_equal, ours, theirs))
    if isinstance(theirs, float) and isinstance(ours, float):
        return math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=2e-5)
    return type(ours) is type(theirs) and ours == theirs


@functools.cache
def _ours() -> dict[str, Any]:
    return json.loads(json.dumps(answers(torch)))  # type: ignore[no-any-return]


def test_programs_give_what_they_give_in_pytorch() -> None:
    ours = _ours()
    assert list(ours) == list(RECORDED)
    other = [program for program in RECORDED if not _equal(ours[program], RECORDED[program])]
    assert set(other) == set(DIFFERENT), "\n".join(f"{p}: {ours[p]} and not {RECORDED[p]}" for p in other)


# Properties: each component is what the operator makes of it alone.

#: Of a nested tensor, or of one component, which lacks the first dimension.
_ALONE = {
    "arithmetic": lambda t, d: (t * 2 - 1) / 3,
    "by a row": lambda t, d: t * torch.arange(4.0, dtype=t.dtype),
    "activation": lambda t, d: F.gelu(t) + torch.tanh(t),
    "sum of rows": lambda t, d: t.sum(d),
    "mean of rows": lambda t, d: t.mean(d),
    "greatest": lambda t, d: t.amax(d),
    "sum of columns": lambda t, d: t.sum(-1),
    "kept": lambda t, d: t.sum(-1, keepdim=True) * t,
    "softmax": lambda t, d: t.softmax(-1),
    "softmax of rows": lambda t, d: t.softmax(d),
    "transposed": lambda t, d: t.transpose(-1, -2) * 2,
    "contiguous": lambda t, d: t.transpose(-1, -2).contiguous(),
    "product": lambda t, d: t @ torch.arange(8.0, dtype=t.dtype).reshape(4, 2),
    "squares": lambda t, d: t.transpose(-1, -2) @ t,
    "norm": lambda t, d: F.layer_norm(t, (4,)),
    "heads": lambda t, d: t.unflatten(-1, (2, 2)).transpose(-2, -3).transpose(-2, -3).flatten(-2),
    "parts": lambda t, d: torch.cat(t.chunk(2, -1)[::-1], -1),
    "attention": lambda t, d: _attention(t),
    "unsqueezed": lambda t, d: t.unsqueeze(-1) * t.unsqueeze(-2),
    "written": lambda t, d: t.clone().mul_(3).add_(t),
}


def _attention(t: Any) -> Any:
    heads = t.unflatten(-1, (2, 2)).transpose(-2, -3)
    return F.scaled_dot_product_attention(heads, heads * 2, heads + 1, is_causal=True).transpose(-2, -3).flatten(-2)


@pytest.mark.parametrize("name", _ALONE)
@settings(max_examples=4, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 2**16))
def test_components_and_gradients_are_those_of_each_alone(name: str, lengths: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    parts = [torch.randn(n, 4, dtype=torch.float64, requires_grad=True) for n in lengths]
    leaf = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)
    made, expected = _ALONE[name](leaf, 1), [_ALONE[name](part, 0) for part in parts]
    for ours, theirs in zip(made.unbind(), expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    (made.values() if made.is_nested else made).sin().sum().backward()
    torch.stack([one.sin().sum() for one in expected]).sum().backward()
    for ours, part in zip(leaf.grad.unbind(), parts, strict=True):
        torch.testing.assert_close(ours, part.grad)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=4))
def test_holes_are_left_out(rows: list[tuple[int, int]]) -> None:
    ends = torch.tensor([0] + [n + unused for n, unused in rows]).cumsum(0)
    values = torch.arange(float(ends[-1]) * 2).reshape(-1, 2)
    lengths = torch.tensor([n for n, _ in rows])
    made = torch.nested.nested_tensor_from_jagged(values, ends, lengths)
    for at, part in enumerate(made.unbind()):
        assert torch.equal(part, values[int(ends[at]) : int(ends[at] + lengths[at])])
    assert made.numel() == 2 * int(lengths.sum())
    assert torch.equal(made.contiguous().values(), torch.cat(made.unbind()))


# What would be lost in silence


def test_second_derivatives() -> None:
    x = torch.nested.nested_tensor([torch.ones(2, 2), torch.full((1, 2), 3.0)], layout=torch.jagged, requires_grad=True)
    (grad,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    grad.sum().backward()
    assert x.grad.values().tolist() == [[6.0, 6.0], [6.0, 6.0], [18.0, 18.0]]


def test_writes_that_would_lose_gradients_are_refused() -> None:
    leaf = torch.nested.nested_tensor([torch.ones(2, 2)], layout=torch.jagged, requires_grad=True)
    weight = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.mul_(2)
    for view in ((leaf * 2).values(), leaf.detach().values(), (leaf * 2)[0]):
        with pytest.raises(RuntimeError, match="view"):
            view.mul_(weight)


def test_writes_are_recorded_and_share_memory() -> None:
    values, weight = torch.ones(3, 2), torch.tensor([2.0, 3.0], requires_grad=True)
    nested = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 1, 3]))
    nested.mul_(2)
    assert values.tolist() == [[2.0, 2.0]] * 3
    nested.mul_(weight)
    nested.sum().backward()
    assert weight.grad.tolist() == [6.0, 6.0]
    assert values.tolist() == [[4.0, 6.0]] * 3


def test_gradients_of_leaves_add_up() -> None:
    leaf = torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged, requires_grad=True)
    told: list[Any] = []
    for _ in range(2):
        made = leaf * 3
        made.register_hook(told.append)
        made.retain_grad()
        made.backward(torch.full_like(made, 2.0))
    assert leaf.grad.values().tolist() == [12.0] * 3
    assert made.grad.values().tolist() == told[1].values().tolist() == [2.0] * 3
    assert leaf.grad.shape == leaf.shape


def test_transforms_and_tangents_are_refused_by_name() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged)
    for transformed in (torch.func.vmap(torch.sin), torch.func.grad(torch.sum)):
        with pytest.raises(NotImplementedError, match="inside of transforms of torch.func"):
            transformed(nested)
    tangents = torch.autograd.forward_ad
    with tangents.dual_level(), pytest.raises(NotImplementedError, match="tangents"):
        values = tangents.make_dual(torch.ones(2), torch.ones(2))
        torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2]))


def test_pipelines_and_modes() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(1, 4)], layout=torch.jagged)
    linear = torch.nn.Linear(4, 2)
    expected = linear(nested).values()
    with torch.pipeline():
        assert torch.equal(linear(nested).values(), expected)
    with torch.no_grad():
        assert not linear(nested).requires_grad
    with torch.autocast("cpu"):
        assert linear(nested).dtype is torch.bfloat16


def test_sizes_are_keys_and_known_by_their_structure() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged)
    same = torch.nested.nested_tensor_from_jagged(torch.ones(3), nested.offsets())
    size = nested.shape[1]
    assert {size: 1}[same.shape[1]] == 1
    assert nested.shape == same.shape != torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged).shape
    assert (size * 2 == same.shape[1] * 2) is True


def test_page() -> None:
    page = Path(__file__).parents[3] / "docs" / "nested.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 10
    assert not found.failed


# Files


def test_files() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)], layout=torch.jagged, requires_grad=True)
    file = io.BytesIO()
    torch.save({"nested": nested}, file)
    read = [torch.load(io.BytesIO(file.getvalue()), weights_only=only)["nested"] for only in (True, False)]
    for made in (*read, pickle.loads(pickle.dumps(nested)), copy.deepcopy(nested)):
        assert type(made) is type(nested)
        assert made.requires_grad
        assert torch.equal(made.values(), nested.values())
        assert torch.equal(made.offsets(), nested.offsets())


@pytest.mark.parametrize(
    ("offsets", "lengths"),
    [([0, 9], None), ([0, -1], None), ([1, 0], None), ([0, 2], [3]), ([0, 2], [-1]), ([0, 1, 2], [1]), ([], None)],
)
def test_structures_that_reach_beyond_the_values_are_refused(offsets: list[int], lengths: list[int] | None) -> None:
    counts = None if lengths is None else torch.tensor(lengths)
    with pytest.raises(RuntimeError):
        torch.nested.nested_tensor_from_jagged(torch.ones(2), torch.tensor(offsets, dtype=torch.int64), counts)
