"""Programs told by what is to be seen of tensors beside their elements, and by refusals: `make_seen.py` asks PyTorch.

`seen_of(torch)` says strides, version, whether it is a view, and the name of ``grad_fn`` of what each expression gives,
or how it is refused.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

#: Tensors with dimensions of size 1 or none, whose strides along them are their own.
TENSORS = {
    "turned": "torch.ones(3, 1).t()",
    "slim": "torch.ones(3, 1)",
    "none_first": "torch.ones(2, 1)[:0]",
    "none_inside": "torch.ones(3, 0, 2).permute(2, 1, 0)",
    "none_with_gaps": "torch.zeros(0, 6)[..., ::2]",
    "slice": "torch.ones(1, 5)[:, 3:4]",
    "columns": "torch.ones(2, 3).t()",
    "rows": "torch.ones(3, 4)",
    "ends": "torch.ones(1, 3, 1).transpose(0, 2)",
    "layers": "torch.ones(2, 3, 2).permute(1, 2, 0).contiguous().permute(2, 0, 1)",
}

_OF_EACH = """
x.to(torch.float64)
x.long()
x.clone()
x.flip(0)
x.flip(-1)
torch.rot90(x)
torch.rot90(x, 3)
torch.rot90(x, 2)
2 ** x
torch.float_power(2, x)
x * torch.tensor(2.0)
x * torch.ones(1)
torch.where(x == x, x, torch.ones(1))
x.sort(0)
x.sort(-1, stable=True)
x.topk(min(1, x.shape[0]), 0)
x.mode(0, True) if x.numel() else None
x.all(0, True)
x.any(-1, True)
x.sum(0, True)
x.amax(-1, True) if x.shape[-1] else None
x.sum(-1, True)
torch.nonzero(x, out=torch.zeros(0, dtype=torch.int64)) if x.numel() else None
"""

#: Expressions of `L`, a leaf (2, 3); of `F`, an expanded tensor; of `X`, (3, 4); of `I`, made in inference mode.
_OTHERS = """
grad_of(lambda v: v.unsqueeze(0), 2)
grad_of(lambda v: v.view_as(v), 2)
grad_of(lambda v: v.squeeze(1), 2, 1)
grad_of(torch.positive)
grad_of(torch.positive, 3)
grad_of(lambda v: v.fmod(-2.5))
grad_of(lambda v: v.exp(), 3, 1)
grad_of(lambda v: v * torch.ones(2, 3, 4), 3, 1)
grad_of(lambda v: v * torch.ones(4, 3, 2).permute(2, 1, 0), 3, 1)
I.to(torch.float64)
I.clone()
I.unique()
I.double()
torch._C._nn.rrelu_with_noise(torch.ones(2, 3), N, 0.1, 0.4, True) is None or N
L.copy_(L.reshape(3, 2).t())
L.copy_(L.detach().reshape(3, 2).t())
L.put_(torch.tensor([2]), L, accumulate=True)
L.index_add_(0, torch.tensor([5]), L)
L.scatter_(0, torch.tensor([5]), 1.0)
torch.matmul(S, S, out=torch.ones(1))
torch.matmul(L, torch.ones(3, 3), out=torch.ones(2, 3))
torch.linalg.matrix_power(torch.ones(3, 3).requires_grad_(), -1, out=torch.zeros(3, 3))
torch.linalg.matrix_power(torch.ones(3, 3).requires_grad_(), 2, out=torch.zeros(3, 3))
torch.fft.fft(L, out=torch.zeros(2, 3, dtype=torch.complex64))
torch.fft.fft(L.to(torch.complex64), out=torch.zeros(2, 3, dtype=torch.complex64))
torch.ones(1, 0).amax(-1)
torch.ones(1, 0).amin((0, -1))
torch.ones(0).amax((-1,))
torch.ones(2, 0).max(-1)
torch.ones(2).masked_fill(torch.ones(3) > 0, 1)
torch.ones(2).masked_scatter(torch.ones(3) > 0, torch.ones(3))
torch.masked_select(torch.ones(2), torch.ones(3) > 0)
torch.ones(2).masked_scatter(torch.ones(2) > 0, torch.ones(2).double())
torch.nn.functional.embedding(torch.tensor([100, 0]), torch.zeros(4, 0))
torch.nn.functional.embedding(torch.tensor([3, 0]), torch.zeros(0, 3))
torch.nn.functional.embedding(torch.tensor([5]), torch.zeros(4, 3))
torch.embedding(X, torch.tensor([1]).to(torch.uint16))
X.index_select(1, torch.tensor([100, 0]))
X.index_select(0, torch.tensor([100]))
X[0].index_select(0, torch.tensor([100]))
X[None].index_select(1, torch.tensor([100]))
X[None].index_select(2, torch.tensor([100]))
X.index_select(1, torch.tensor([-1]))
X.index_add(1, torch.tensor([100, 0]), X[:, :2])
X.index_add(0, torch.tensor([-1]), X[:1])
torch.index_add(X, 0, torch.ones(3, 4), torch.ones(1, 2))
X.index_copy(1, torch.tensor([3, 1]), torch.tensor([3, 1]))
torch.scatter_add(X, 0, torch.zeros(2, 4, dtype=torch.int64), torch.ones(2, dtype=torch.int64))
torch.scatter_add(X, 0, torch.zeros(2, 4, dtype=torch.int64), torch.ones(2, 3, dtype=torch.float64))
torch.scatter_add(X, 0, torch.zeros(2, 4), torch.ones(2, 3, dtype=torch.float64))
setattr(L, "grad", torch.ones(2, 3, dtype=torch.int64))
torch.bernoulli(L, 0.3).sum().backward()
torch.binomial(L, L.detach()).sum().backward()
torch.detach_copy(L).sum().backward()
written_later((L * 1).prod(0))
written_later((L * 1).exp())
written_later(torch.copysign(L, 1.5))
"""


def expressions() -> list[str]:
    """All of them, each with what `x` is."""
    each = [f"(lambda x: {line})({made})" for made in TENSORS.values() for line in _OF_EACH.strip().splitlines()]
    return each + _OTHERS.strip().splitlines()


def seen_of(torch: Any) -> dict[str, Any]:
    """Expression -> what is to be seen of its value, or the type and the text of its refusal."""

    def grad_of(function: Any, *shape: int) -> Any:
        leaf = (torch.arange(math.prod(shape)).reshape(shape) / 8 + 0.25).requires_grad_()
        made = function(leaf)
        made.backward(torch.ones_like(made))
        return leaf.grad

    def written_later(made: Any) -> None:
        result = made.exp() * made
        made.mul_(2)
        result.sum().backward()

    found = {}
    for line in expressions():
        with torch.inference_mode():
            made = torch.arange(6.0).reshape(2, 3)
        names = {
            "torch": torch, "grad_of": grad_of, "written_later": written_later, "L": torch.ones(2, 3).requires_grad_(),
            "F": torch.ones(1).expand(3), "X": torch.ones(3, 4), "I": made, "S": torch.tensor(1.0).requires_grad_(),
            "N": torch.ones(2, 3),
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[line] = _seen(torch, eval(line, names))  # noqa: S307 - the lines above
            except (RuntimeError, IndexError, ValueError, TypeError) as error:
                found[line] = [type(error).__name__, str(error)]
    return found


def _seen(torch: Any, value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_seen(torch, item) for item in value]
    if not isinstance(value, torch.Tensor):
        return repr(value)
    return [list(value.stride()), value._version, value._is_view(), value.grad_fn and value.grad_fn.name()]
