"""Graphs of a million nodes in a row: made, differentiated, freed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch as torch

from .memory import Watch

__all__ = ["run"]

NODES = 1_000_000
ROUNDS = 2


def _scaled(value: Any) -> Any:
    return value * 1.0


def _shifted(value: Any) -> Any:
    return value + value.detach()[:1] * 0


def _viewed(value: Any) -> Any:
    return value.view(-1)


def _written(value: Any) -> Any:
    return value.mul_(1.0)


STEPS: dict[str, Callable[[Any], Any]] = {
    "scaled": _scaled,
    "shifted": _shifted,
    "viewed": _viewed,
    "written": _written,
}


def run(share: float) -> list[str]:
    """A chain of each kind, twice over: the gradient is 1, and the second time takes no more memory than the first."""
    nodes = max(10, int(NODES * share))
    watch = Watch(ROUNDS)
    found = []
    for _ in range(ROUNDS):
        for name, step in STEPS.items():
            _grow(step, nodes)  # freed without a backward pass
            value, leaf = _grow(step, nodes)
            value.sum().backward()
            if leaf.grad is None or leaf.grad.tolist() != [1.0, 1.0]:
                found.append(f"{name}: the gradient after {nodes} nodes is {leaf.grad}")
            del value, leaf
        watch.step()
    return found + watch.complaints()


def _grow(step: Callable[[Any], Any], nodes: int) -> tuple[Any, Any]:
    """The end of a chain, and its leaf."""
    leaf = torch.ones(2, requires_grad=True)
    value = leaf * 1
    for _ in range(nodes):
        value = step(value)
    return value, leaf
