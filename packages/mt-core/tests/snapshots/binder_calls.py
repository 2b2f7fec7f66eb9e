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
    } | {text: _evaluated(text, {"torch": torch, "x": x, "i": i}) for text in _TEXTS}


def _evaluated(text: str, names: dict[str, Any]) -> Callable[[], Any]:
    return lambda: eval(text, names)  # noqa: S307 - the texts below


#: Lists with one wrong element, marks on arguments, the order in which signatures are listed.
_TEXTS = (
    "torch.flip(x, [0, 1.0])",
    "torch.flip(x, [0.0])",
    "torch.flip(x, [0, x])",
    "torch.flip(x, [True])",
    "torch.logsumexp(x, dim=[1.0])",
    "torch.zeros([2, 1.0])",
    "torch.zeros(2, 1.0)",
    "torch.empty([2.0, 1])",
    "x.permute(0, 1.0)",
    "x.view([2, 3.0])",
    "torch.sum(x, [0, 1.0])",
    "torch.mean(x, [0, 1.0])",
    "torch.split(x, [1, 1.0])",
    "torch.split(x, True)",
    "torch.hsplit(x, [0.5, 2])",
    "torch.hsplit(x, (0.5,))",
    "torch.tensor_split(x, [0.5, 2])",
    "torch.histogram(x, 2, range=[0, 'x'])",
    "torch.histogram(x, 'a')",
    "torch.index_fill(x, 0, [0], 1.0)",
    "torch.index_fill(x, True, torch.float32, None)",
    "torch.rsub(x, 1.0, alpha='a')",
    "torch.max(x, zeta=1, alpha_=2)",
    "torch.max(x, 1.5)",
    "torch.var(x, 0, 1, 2, 3)",
    "torch.scatter(x, 1, i, x, reduce=1.0)",
    "torch.repeat_interleave(x, 'a')",
    "torch.narrow(x, 0, 0, 1.0)",
    "torch.meshgrid(x, 1)",
    "torch.broadcast_tensors(x, 1)",
    "torch.promote_types(1, 2)",
    "x.type(1)",
)


def refusal(call: Callable[[], Any]) -> list[str]:
    """[type, message] of what a call raises."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever PyTorch raises
        return [type(error).__name__, str(error)]
    return ["", ""]
