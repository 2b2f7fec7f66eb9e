"""`torch.utils.module_tracker.ModuleTracker`: the modules that a program is in, forward and backward."""

from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch.utils.module_tracker import ModuleTracker


class _Noting(torch.nn.Module):
    """Notes what a tracker says while it computes, and in the backward of what it has computed first."""

    def __init__(self, tracker: ModuleTracker) -> None:
        super().__init__()
        self.tracker = tracker
        self.seen: list[tuple[set[str], bool]] = []

    def note(self, *_: object) -> None:
        self.seen.append((set(self.tracker.parents), self.tracker.is_bw))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.note()
        inner = x * 2
        inner.register_hook(self.note)
        return inner.tanh()


class _Outer(torch.nn.Module):
    def __init__(self, tracker: ModuleTracker) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([_Noting(tracker), _Noting(tracker)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks[1](self.blocks[0](x)) * 2


def test_forward_and_backward_name_the_modules_they_are_in() -> None:
    tracker = ModuleTracker()
    outer = _Outer(tracker)
    with tracker:
        for _ in range(2):
            outer(torch.ones(2, requires_grad=True).clone()).sum().backward()
            assert tracker.parents == {"Global"}
    for i, block in enumerate(outer.blocks):
        inside = {"Global", "_Outer", f"_Outer.blocks.{i}"}
        assert block.seen == [(inside, False), (inside, True)] * 2


def test_a_backward_whose_inputs_have_no_gradients_leaves_nothing_behind() -> None:
    layer = torch.nn.Linear(2, 2)
    with ModuleTracker() as tracker:
        layer(torch.ones(2)).sum().backward()
        assert tracker.parents == {"Global"}
        assert not tracker.is_bw


def test_an_error_leaves_its_module_entered_until_its_next_call() -> None:
    class Failing(torch.nn.Module):
        fails = True

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.fails:
                raise ValueError("no")
            return x

    module = Failing()
    with ModuleTracker() as tracker:
        with pytest.raises(ValueError, match="no"):
            module(torch.ones(1))
        assert tracker.parents == {"Global", "Failing"}
        module.fails = False
        module(torch.ones(1))
        assert tracker.parents == {"Global"}


def test_modules_are_followed_only_while_it_is_entered() -> None:
    seen: list[set[str]] = []
    tracker, layer = ModuleTracker(), torch.nn.Tanh()
    layer.register_forward_hook(lambda *_: seen.append(set(tracker.parents)))
    layer(torch.ones(1))
    with tracker:
        torch.nn.Sequential(layer)(torch.ones(1))
    layer(torch.ones(1))
    assert seen[0] == seen[2] == {"Global"}
    assert "Sequential" in seen[1]
