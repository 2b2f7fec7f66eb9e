"""`allow_mutation_on_saved_tensors`: backward sees what was saved, whatever was written to it since."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import mt_autograd
import mt_core as mt
from mt_autograd.graph import allow_mutation_on_saved_tensors, saved_tensors_hooks

Change = Callable[[mt.Tensor], object]

CHANGES: dict[str, Change] = {
    "itself": lambda x: x.sin_(),
    "a view": lambda x: x[:1].mul_(10),
    "transposed": lambda x: x.t().zero_(),
    "copied to": lambda x: x.copy_(mt.zeros(2, 2)),
    "indexed": lambda x: x.__setitem__(0, 5.0),
    "twice": lambda x: (x.add_(1), x.add_(1)),
    "as out": lambda x: mt.sin(mt.ones(2, 2), out=x),
}


def _leaf() -> mt.Tensor:
    return mt.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_saved_is_cloned_when_its_memory_is_written_to(change: Change) -> None:
    with allow_mutation_on_saved_tensors() as context:
        leaf, saved = _leaf(), mt.ones(2, 2) * 3
        result = (leaf * saved).sum()
        assert not len(context.cloned)
        change(saved)
        assert len(context.cloned) == 1
        result.backward()
        assert not len(context.cloned)
    assert leaf.grad.tolist() == [[3, 3], [3, 3]]


def test_inputs_outputs_and_views_keep_their_values() -> None:
    with allow_mutation_on_saved_tensors():
        leaf = _leaf()
        value = leaf.clone()
        squares, powers = (value[:] ** 2).sum(), value.exp()
        value.zero_()
        total = powers.sum()
        powers.zero_()
        (squares + total).backward()
    assert leaf.grad.tolist() == (2 * leaf + leaf.exp()).tolist()


def test_a_state_is_cloned_once_for_all_who_saved_it() -> None:
    with allow_mutation_on_saved_tensors() as context:
        value = _leaf().clone()
        first, second = value**2, value**2
        value.sin_()
        third = value**2
        value.sin_()
        assert len(context.cloned) == 2
        del first, second
        assert len(context.cloned) == 1
        del third
        assert not len(context.cloned)


def test_what_is_no_longer_saved_is_not_cloned() -> None:
    with allow_mutation_on_saved_tensors() as context:
        value = _leaf().clone()
        (value**2).sum().backward()
        value.sin_()
        assert not len(context.cloned)


def test_second_derivatives() -> None:
    with allow_mutation_on_saved_tensors():
        leaf = _leaf()
        value = leaf.clone()
        out = (value**3).sum()
        value.zero_()
        (first,) = mt_autograd.grad(out, leaf, create_graph=True)
        (second,) = mt_autograd.grad(first.sum(), leaf)
    assert first.tolist() == (3 * leaf**2).tolist() and second.tolist() == (6 * leaf).tolist()


def test_a_graph_ends_with_its_context() -> None:
    with allow_mutation_on_saved_tensors():
        out = (_leaf() ** 2).sum()
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors'"):
        out.backward()
    with allow_mutation_on_saved_tensors(), pytest.raises(AssertionError, match="Trying to backward outside"):
        out.backward()


def test_contexts_do_not_nest_and_leave_nothing_behind() -> None:
    with allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="contexts cannot be nested"):
            allow_mutation_on_saved_tensors().__enter__()
    value = _leaf().clone()
    out = (value**2).sum()
    value.sin_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_writing_past_the_operators_is_noticed() -> None:
    with allow_mutation_on_saved_tensors():
        value = _leaf().clone()
        out = (value**2).sum()
        value._cell.version += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()


def test_inner_packing_hooks_are_used_instead() -> None:
    seen = []
    with allow_mutation_on_saved_tensors() as context, saved_tensors_hooks(lambda x: seen.append(x) or x, lambda x: x):
        (_leaf() ** 2).sum()
    assert len(seen) == 1 and not len(context.original)
