"""Random programs over four leaves: views, in-place writes, broadcasts, reductions, then two rounds of gradients.

They run on whatever is called ``torch``; `make_programs` stores PyTorch's results, `test_programs` compares
mindtorch's.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

#: A number for each tensor of interest, None where there is no gradient.
Results = list[float | None]


def _writes_row(torch: Any, a: Any, b: Any) -> Any:
    a = a.clone()
    a[0] = b.sum()
    return a


def _scales_column(torch: Any, a: Any, b: Any) -> Any:
    a = a.clone()
    a[..., 0].mul_(2.0)
    return a


def _adds_to_flat_view(torch: Any, a: Any, b: Any) -> Any:
    a = a.clone()
    a.view(-1)[1:].add_(b.mean())
    return a


def _transposes_in_place(torch: Any, a: Any, b: Any) -> Any:
    a = a.clone()
    if a.dim() == 2:
        a.t_()
    return a.mul_(1.5)


STEPS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda torch, a, b: a + b,
    lambda torch, a, b: a * b,
    lambda torch, a, b: a / (b.abs() + 1),
    lambda torch, a, b: a.sin(),
    lambda torch, a, b: a.sum(-1),
    lambda torch, a, b: a.mean(0, keepdim=True),
    lambda torch, a, b: a.t() if a.dim() == 2 else a,
    lambda torch, a, b: a @ b,
    lambda torch, a, b: a.reshape(-1),
    _writes_row,
    lambda torch, a, b: torch.softmax(a, -1),
    lambda torch, a, b: torch.cat([a, a], 0),
    lambda torch, a, b: a[..., :2],
    _scales_column,
    _adds_to_flat_view,
    lambda torch, a, b: torch.where(a > 0, a, b),
    lambda torch, a, b: a.expand(2, *a.shape).sum(0),
    lambda torch, a, b: a.max(-1)[0],
    lambda torch, a, b: a.unsqueeze(0).permute(*range(a.dim() + 1)),
    lambda torch, a, b: a.pow(2),
    lambda torch, a, b: a.clone().masked_fill_(a > 0.5, 0.3),
    lambda torch, a, b: torch.nn.functional.layer_norm(a, a.shape[-1:]),
    lambda torch, a, b: a.index_select(0, torch.tensor([0, 0])),
    lambda torch, a, b: a.cumsum(0),
    _transposes_in_place,
    lambda torch, a, b: torch.stack([a, a * 2]).logsumexp(0),
    lambda torch, a, b: a.detach() * b,
    lambda torch, a, b: a + a.clone().split(1, 0)[0].sum(),
)


def run(torch: Any, seed: int) -> tuple[Results, list[str]]:
    """(loss, size of each leaf's gradient and second gradient; types of the exceptions of steps that do not fit)."""
    choose, numbers = random.Random(seed), np.random.RandomState(seed)
    leaves = [torch.tensor(numbers.randn(*shape)).requires_grad_() for shape in ((3, 4), (4,), (3, 1), (4, 4))]
    values, refused = list(leaves), []
    for _ in range(choose.randint(4, 14)):
        a, b, step = choose.choice(values), choose.choice(values), choose.choice(STEPS)
        try:
            values.append(step(torch, a, b))
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            refused.append(type(error).__name__)
            values.append(leaves[0])
    loss = sum((v * v).sum() for v in values[-5:])
    first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
    results: Results = [loss.item(), *(None if g is None else (g * g).sum().item() for g in first)]
    again = [(g**2).sum() for g in first if g is not None and g.requires_grad]
    if again:
        second = torch.autograd.grad(sum(again), leaves, allow_unused=True)
        results += [None if g is None else g.abs().sum().item() for g in second]
    return results, refused
