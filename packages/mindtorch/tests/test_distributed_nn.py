"""Collectives that gradients go through, against the same computation in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch
from mt_distributed.nn import functional as F
from mt_distributed.reduce_ops import ReduceOp
from mt_distributed.testing import run_threads

# Per collective: what a process computes from its tensor of 6 rows, and what all results are of all tensors.
Case = tuple[Callable[[Any, Any], Any], Callable[[list[Any]], list[Any]]]


def _rows(x: Any, parts: list[int]) -> list[Any]:
    return list(x.split(parts))


def _uneven(group: Any, x: Any) -> Any:
    """Process r gives process s as many rows as s has for everyone: 1, 2, 3, ..."""
    counts = [1, 2, 3][: group.size()]
    own = counts[group.rank()]
    output = torch.empty(own * group.size(), 2, dtype=x.dtype)
    return F.all_to_all_single(output, x[: sum(counts)], [own] * group.size(), counts, group)


def _all_uneven(xs: list[Any]) -> list[Any]:
    counts = [1, 2, 3][: len(xs)]
    parts = [_rows(x[: sum(counts)], counts) for x in xs]
    return [torch.cat([part[rank] for part in parts]) for rank in range(len(xs))]


def _thirds(group: Any, x: Any) -> list[Any]:
    return list(x[: 2 * group.size()].chunk(group.size()))


def _zeros_but(rank: int, tensors: list[Any]) -> list[Any]:
    return [tensor if number == rank else torch.zeros_like(tensor) for number, tensor in enumerate(tensors)]


CASES: dict[str, Case] = {
    "all_reduce": (
        lambda group, x: F.all_reduce(x, group=group),
        lambda xs: [sum(xs)] * len(xs),
    ),
    "all_reduce AVG": (
        lambda group, x: F.all_reduce(x, ReduceOp.AVG, group),
        lambda xs: [sum(xs) / len(xs)] * len(xs),
    ),
    "broadcast": (lambda group, x: F.broadcast(x, 1, group), lambda xs: [xs[1]] * len(xs)),
    "reduce": (
        # What the other processes get back is no function of anything, as far as PyTorch's backward is concerned.
        lambda group, x: F.reduce(x, 1, group=group) * float(group.rank() == 1),
        lambda xs: _zeros_but(1, [sum(xs)] * len(xs)),
    ),
    "all_gather": (
        lambda group, x: torch.stack(F.all_gather(x.t(), group)),
        lambda xs: [torch.stack([x.t() for x in xs])] * len(xs),
    ),
    "gather": (
        lambda group, x: torch.stack(F.gather(x, 1, group)),
        lambda xs: _zeros_but(1, [torch.stack(xs)] * len(xs)),
    ),
    "scatter": (
        lambda group, x: F.scatter(_thirds(group, x), 1, group),
        lambda xs: list(xs[1][: 2 * len(xs)].chunk(len(xs))),
    ),
    "reduce_scatter": (
        lambda group, x: F.reduce_scatter(torch.empty(2, 2, dtype=x.dtype), _thirds(group, x), group=group),
        lambda xs: list(sum(xs)[: 2 * len(xs)].chunk(len(xs))),
    ),
    "all_to_all": (
        lambda group, x: torch.cat(
            F.all_to_all([torch.empty(2, 2, dtype=x.dtype) for _ in range(group.size())], _thirds(group, x), group)
        ),
        lambda xs: [torch.cat([x[2 * rank : 2 * rank + 2] for x in xs]) for rank in range(len(xs))],
    ),
    "all_to_all_single": (_uneven, _all_uneven),
}


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_values_and_two_derivatives(name: str, size: int) -> None:
    one, everyone = CASES[name]
    given = torch.randn(size, 6, 2, dtype=torch.float64)
    weights = torch.randn(size, 3 * 12, dtype=torch.float64)

    def loss(result: Any, rank: int) -> Any:
        return (result.flatten().sin() * weights[rank][: result.numel()]).sum()

    alone = [row.clone().requires_grad_() for row in given]
    expected = everyone([x * x for x in alone])
    total = sum(loss(result, rank) for rank, result in enumerate(expected))
    firsts = torch.autograd.grad(total, alone, create_graph=True, materialize_grads=True)
    seconds = torch.autograd.grad(sum(first.square().sum() for first in firsts), alone, materialize_grads=True)

    def run(group: Any) -> Any:
        x = given[group.rank()].clone().requires_grad_()
        result = one(group, x * x)
        (first,) = torch.autograd.grad(loss(result, group.rank()), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x)
        return result.detach(), first.detach(), second

    for rank, got in enumerate(run_threads(size, run)):
        for value, wanted in zip(got, (expected[rank], firsts[rank], seconds[rank]), strict=True):
            torch.testing.assert_close(value, wanted.detach())


@pytest.mark.parametrize("op", [ReduceOp.MAX, ReduceOp.PRODUCT])
def test_reductions_without_a_derivative(op: Any) -> None:
    """PyTorch hands on gradients that are none, such as their maximum."""
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="all_reduce with"):
        run_threads(1, lambda group: F.all_reduce(x, op, group))
    assert run_threads(2, lambda group: F.all_reduce(x.detach() + group.rank(), op, group).tolist()) == [[2.0, 2.0]] * 2
