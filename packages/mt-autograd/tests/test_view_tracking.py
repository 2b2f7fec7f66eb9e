"""Views whose history is made anew by the operators that made them."""

from __future__ import annotations

from typing import Any

import pytest

import mt_core as torch
from mt_autograd.grad_mode import _force_original_view_tracking, is_view_replay_enabled
from mt_autograd.graph import allow_mutation_on_saved_tensors


def history(*views: Any) -> tuple[list[str], list[float]]:
    """The nodes of a view that was written to, and the gradient, for views made one of another."""
    x = torch.arange(6.0).requires_grad_()
    base = x * 1
    view = base
    for make in views:
        view = make(view)
    view.mul_(view.detach() + 2)
    nodes, node = [], view.grad_fn
    while node is not None:
        nodes.append(type(node).__name__)
        node = node.next_functions[0][0] if node.next_functions else None
    (base * base).sum().backward()
    return nodes, x.grad.tolist()


CHAINS = {
    "view": ([lambda t: t.view(2, 3)], ["ViewBackward0"]),
    "select of view": ([lambda t: t.view(2, 3), lambda t: t[1]], ["SelectBackward0", "ViewBackward0"]),
    "transposed slice": ([lambda t: t.view(2, 3).t(), lambda t: t[1:]], ["SliceBackward0", "TBackward0"]),
    "diagonal": ([lambda t: t.view(2, 3).diagonal()], ["DiagonalBackward0", "ViewBackward0"]),
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_operators_that_made_it(name: str) -> None:
    views, expected = CHAINS[name]
    plain, gradient = history(*views)
    assert plain[0] == "AsStridedBackward0"
    with _force_original_view_tracking(True):
        assert is_view_replay_enabled()
        nodes, found = history(*views)
    assert not is_view_replay_enabled()
    assert nodes[: len(expected)] == expected and "CopySlices" in nodes
    assert found == gradient


def test_geometry_changed_in_place_is_followed() -> None:
    for change_base in (False, True):
        gradients = []
        for mode in (False, True):
            with _force_original_view_tracking(mode):
                x = torch.arange(6.0).requires_grad_()
                base = (x * 1).view(2, 3).clone()
                view = base[1]
                if change_base:
                    base.t_()
                else:
                    view.unsqueeze_(0)
                view.mul_(3)
                (view * base.sum()).sum().backward()
                gradients.append(x.grad.tolist())
        assert gradients[0] == gradients[1]


def test_it_nests_and_stays_beside_other_contexts() -> None:
    with _force_original_view_tracking(True):
        with allow_mutation_on_saved_tensors(), _force_original_view_tracking(False):
            assert not is_view_replay_enabled()
            x = torch.ones(3).requires_grad_()
            y = x.clone()
            z = y.sin()
            y.mul_(2)
            z.sum().backward()
            assert torch.equal(x.grad, torch.ones(3).cos())
        assert is_view_replay_enabled()
    _force_original_view_tracking(True)
    assert is_view_replay_enabled()
    _force_original_view_tracking(False)
    assert not is_view_replay_enabled()
