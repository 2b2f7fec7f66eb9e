"""Derivatives of reductions, scans and differences against finite differences."""

from __future__ import annotations

from typing import Any

import pytest
from derivative_cases import check_both_orders, inputs_of

import mt_autograd
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)

CASES = {
    "sum": lambda a: a.sum((0, -1)),
    "mean": lambda a: a.mean(1, keepdim=True),
    "prod": lambda a: a.prod(1),
    "prod_all": lambda a: a.prod(),
    "var": lambda a: a.var(1),
    "std": lambda a: a.std((0, 1), correction=0),
    "var_mean": lambda a: torch.var_mean(a, 1),
    "amax": lambda a: a.amax(1),
    "max": lambda a: a.max(1)[0],
    "aminmax": lambda a: tuple(torch.aminmax(a, dim=1)),
    "logsumexp": lambda a: a.logsumexp((0, 1)),
    "cumsum": lambda a: a.cumsum(1),
    "cumprod": lambda a: a.cumprod(1),
    "logcumsumexp": lambda a: a.logcumsumexp(1),
    "cummax": lambda a: a.cummax(1)[0],
    "nansum": lambda a: a.nansum(1),
    "quantile": lambda a: a.quantile(torch.tensor([0.2, 0.7], dtype=a.dtype), 1),
    "diff": lambda a: a.diff(2, 1),
    "trapezoid": lambda a: torch.trapezoid(a, dx=0.5),
    "cov": lambda a: a[0].cov(),
    "corrcoef": lambda a: a[0].corrcoef(),
    "renorm": lambda a: a.renorm(2, 0, 0.5),
    "norm": lambda a: a.norm(3, 1),
    "norm_inf": lambda a: a.norm(float("inf"), 1),
    "gradient": lambda a: torch.gradient(a, spacing=0.5, edge_order=2),
    "gradient_uneven": lambda a: torch.gradient(a, spacing=[torch.tensor([0.0, 1, 3, 4])], dim=1, edge_order=2),
    "median": lambda a: a.median(1)[0],
    "topk": lambda a: a.topk(2, 1)[0],
    "sort": lambda a: a.sort(1, descending=True)[0],
    "kthvalue": lambda a: a.kthvalue(2, 1)[0],
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    check_both_orders(CASES[name], inputs_of(((3, 4, 3),)))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances(p: float) -> None:
    check_both_orders(lambda a, b: torch.cdist(a, b, p), inputs_of(((2, 3, 4), (5, 4))))


def test_the_distance_of_a_row_to_itself_has_no_slope() -> None:
    a = torch.ones(2, 3, requires_grad=True)
    torch.cdist(a, a).sum().backward()
    assert not a.grad.isnan().any() and not a.grad.any()


def test_zeros_in_products() -> None:
    a: Any = torch.tensor([[2.0, 0, 3], [0, 0, 1], [4, 5, 6]], dtype=torch.float64, requires_grad=True)
    check_both_orders(lambda a: a.prod(1), (a,))
    check_both_orders(lambda a: a.cumprod(1), (a,))
