"""Calls that PyTorch refuses; the same list makes the snapshot and tests against it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def calls(torch: Any) -> dict[str, Callable[[], Any]]:
    """What is called -> the call, in the namespace of PyTorch or of mindtorch."""
    x, i = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.int64)
    return {
        "add(x)": lambda: torch.add(x),
        "add(x, 'a')": lambda: torch.add(x, "a"),
        "add(x, None)": lambda: torch.add(x, None),
        "add(x, x, beta=2)": lambda: torch.add(x, x, beta=2),
        "add(x, x, alpha='a')": lambda: torch.add(x, x, alpha="a"),
        "x.add()": lambda: x.add(),
        "x.add('a')": lambda: x.add("a"),
        "sum(x, dim='a')": lambda: torch.sum(x, dim="a"),
        "sum()": lambda: torch.sum(),
        "sum(1)": lambda: torch.sum(1),
        "exp()": lambda: torch.exp(),
        "exp(2.0)": lambda: torch.exp(2.0),
        "exp(x, x)": lambda: torch.exp(x, x),
        "exp(x, foo=1)": lambda: torch.exp(x, foo=1),
        "x.exp(1)": lambda: x.exp(1),
        "matmul(x)": lambda: torch.matmul(x),
        "matmul(x, 1)": lambda: torch.matmul(x, 1),
        "mm(x, [1])": lambda: torch.mm(x, [1]),
        "softmax(x)": lambda: torch.softmax(x),
        "softmax(x, 'a')": lambda: torch.softmax(x, "a"),
        "x.view()": lambda: x.view(),
        "x.view('a')": lambda: x.view("a"),
        "x.reshape('a')": lambda: x.reshape("a"),
        "x.permute('a')": lambda: x.permute("a"),
        "x.transpose(0)": lambda: x.transpose(0),
        "x.transpose(0, 'a')": lambda: x.transpose(0, "a"),
        "cat(x)": lambda: torch.cat(x),
        "cat([x, 1])": lambda: torch.cat([x, 1]),
        "cat()": lambda: torch.cat(),
        "stack(1)": lambda: torch.stack(1),
        "zeros('a')": lambda: torch.zeros("a"),
        "zeros(2, dtype='a')": lambda: torch.zeros(2, dtype="a"),
        "zeros(2.5)": lambda: torch.zeros(2.5),
        "clamp(x, 'a')": lambda: torch.clamp(x, "a"),
        "unsqueeze(x)": lambda: torch.unsqueeze(x),
        "unsqueeze(x, 1.5)": lambda: torch.unsqueeze(x, 1.5),
        "unsqueeze(x, None)": lambda: torch.unsqueeze(x, None),
        "gather(x, 0)": lambda: torch.gather(x, 0),
        "gather(x, 'a', i)": lambda: torch.gather(x, "a", i),
        "where(x, 'a', 'b')": lambda: torch.where(x, "a", "b"),
        "masked_fill(x, i)": lambda: torch.masked_fill(x, i),
        "arange()": lambda: torch.arange(),
        "arange('a')": lambda: torch.arange("a"),
        "full((2,))": lambda: torch.full((2,)),
        "topk(x)": lambda: torch.topk(x),
        "topk(x, 'a')": lambda: torch.topk(x, "a"),
    }


def refusal(call: Callable[[], Any]) -> list[str]:
    """[type, message] of what a call raises."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever PyTorch raises
        return [type(error).__name__, str(error)]
    return ["", ""]
