"""Small calls that every program makes beside the operators of `cases`, for a module that looks like ``torch``."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["EVERYDAY", "conversion", "creation", "in_place", "indexing", "networks", "reduction"]

Case = Callable[[], Any]


def creation(torch: ModuleType) -> dict[str, Case]:
    """New tensors of a few elements."""
    torch.manual_seed(0)
    x, rows = torch.randn(5, 3), [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]]
    return {
        "zeros": lambda: torch.zeros(5, 3),
        "empty": lambda: torch.empty(5, 3),
        "full": lambda: torch.full((5, 3), 0.25),
        "arange": lambda: torch.arange(2, 12),
        "arange of floats": lambda: torch.arange(0.0, 1.0, 0.125),
        "linspace": lambda: torch.linspace(-1, 1, 9),
        "eye": lambda: torch.eye(5),
        "tensor of lists": lambda: torch.tensor(rows),
        "tensor of a number": lambda: torch.tensor(0.5),
        "zeros_like": lambda: torch.zeros_like(x),
        "new_full": lambda: x.new_full((3,), 2.0),
        "randn": lambda: torch.randn(5, 3),
        "rand": lambda: torch.rand(5, 3),
        "randint": lambda: torch.randint(0, 9, (5,)),
        "randperm": lambda: torch.randperm(12),
    }


def conversion(torch: ModuleType) -> dict[str, Case]:
    """Other dtypes, other layouts, and Python's numbers."""
    torch.manual_seed(0)
    x, one, whole = torch.randn(5, 3), torch.tensor(0.5), torch.arange(6)
    array = torch.randn(5, 3).numpy()
    return {
        "to double": x.double,
        "to its own dtype": lambda: x.to(torch.float32),
        "to bfloat16": x.bfloat16,
        "to float": whole.float,
        "item": one.item,
        "tolist": x.tolist,
        "numpy": x.numpy,
        "from_numpy": lambda: torch.from_numpy(array),
        "detach": x.detach,
        "truth": lambda: bool(one),
        "shape": lambda: x.shape[1],
        "size": lambda: x.size(0),
        "contiguous": x.contiguous,
        "transposed contiguous": lambda: x.t().contiguous(),
        "permute": lambda: x.permute(1, 0),
        "expand": lambda: x[:, :1].expand(5, 3),
        "squeeze": lambda: x[:1].squeeze(0),
        "flatten": x.flatten,
    }


def reduction(torch: ModuleType) -> dict[str, Case]:
    """Sums, extremes and orders of a few elements, and comparisons."""
    torch.manual_seed(0)
    x, y, whole = torch.randn(5, 4), torch.randn(5, 4), torch.tensor([3, 1, 3, 2])
    return {
        "sum along columns": lambda: x.sum(0),
        "mean": x.mean,
        "max": x.max,
        "min along rows": lambda: x.min(1),
        "argmax": lambda: x.argmax(1),
        "std": lambda: x.std(1),
        "norm": x.norm,
        "cumsum": lambda: x.cumsum(0),
        "sort": lambda: x.sort(1),
        "topk": lambda: x.topk(2),
        "unique": lambda: torch.unique(whole),
        "all": lambda: (x < 9).all(),
        "allclose": lambda: torch.allclose(x, y),
        "equal": lambda: torch.equal(x, x),
        "less": lambda: x < y,
        "maximum": lambda: torch.maximum(x, y),
        "clamp": lambda: x.clamp(-1, 1),
        "square": lambda: x**2,
        "abs": x.abs,
        "sqrt": lambda: x.abs().sqrt(),
    }


def indexing(torch: ModuleType) -> dict[str, Case]:
    """Elements read and written by number, slice, mask and list."""
    torch.manual_seed(0)
    functional = torch.nn.functional
    x, target = torch.randn(5, 4), torch.zeros(5, 4)
    mask, rows, places = x > 0, torch.tensor([4, 0, 2]), torch.tensor([[0, 3], [1, 1], [2, 0]])
    return {
        "element": lambda: x[2, 3],
        "row": lambda: x[2],
        "slice": lambda: x[1:4, ::2],
        "new dimension": lambda: x[:, None],
        "rows by list": lambda: x[rows],
        "by mask": lambda: x[mask],
        "set an element": lambda: target.__setitem__((1, 2), 1.0),
        "set a row": lambda: target.__setitem__(2, x[0]),
        "set by mask": lambda: target.__setitem__(mask, 0.0),
        "gather": lambda: x.gather(1, places),
        "scatter_": lambda: target.scatter_(1, places, 0.5),
        "index_add_": lambda: target.index_add_(0, rows, x[:3]),
        "masked_select": lambda: x.masked_select(mask),
        "nonzero": mask.nonzero,
        "split": lambda: x.split(2),
        "unbind": lambda: x.unbind(1),
        "repeat": lambda: x.repeat(2, 1),
        "tril": x.tril,
        "pad": lambda: functional.pad(x, (1, 0)),
        "one_hot": lambda: functional.one_hot(rows, 5),
        "embedding": lambda: functional.embedding(rows, x),
    }


def in_place(torch: ModuleType) -> dict[str, Case]:
    """Writing into a few elements that are there."""
    torch.manual_seed(0)
    x, y, target = torch.randn(5, 4), torch.randn(5, 4), torch.zeros(5, 4)
    return {
        "add_": lambda: target.add_(x),
        "sub_": lambda: target.sub_(x),
        "mul_": lambda: target.mul_(0.5),
        "add_ of a row": lambda: target.add_(x[0]),
        "add_ into a row": lambda: target[1].add_(1.0),
        "addcmul_": lambda: target.addcmul_(x, y, value=0.25),
        "lerp_": lambda: target.lerp_(x, 0.125),
        "clamp_": lambda: target.clamp_(-1, 1),
        "copy_": lambda: target.copy_(x),
        "copy_ of a transpose": lambda: target[:4].copy_(x[:4].t()),
        "fill_": lambda: target.fill_(2.0),
        "zero_": target.zero_,
        "normal_": target.normal_,
        "add, out": lambda: torch.add(x, y, out=target),
        "mul, out": lambda: torch.mul(x, y, out=target),
    }


def networks(torch: ModuleType) -> dict[str, Case]:
    """Modules, losses and optimizers of a few parameters."""
    torch.manual_seed(0)
    nn, functional = torch.nn, torch.nn.functional
    x, image, rows = torch.randn(5, 6), torch.randn(2, 3, 6, 6), torch.tensor([4, 0, 2])
    linear, norm, dropout, words = nn.Linear(6, 3), nn.LayerNorm(6), nn.Dropout(0.25), nn.Embedding(7, 6)
    conv, batch_norm, cell = nn.Conv2d(3, 5, 3), nn.BatchNorm2d(3), nn.GRUCell(6, 6)
    small = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    classes, wanted = torch.tensor([0, 2, 1, 0, 1]), torch.rand(5, 6)
    heads = torch.randn(2, 2, 5, 6)
    parameters = [p for _ in range(4) for p in nn.Linear(6, 5).parameters()]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    adamw, sgd = torch.optim.AdamW(parameters), torch.optim.SGD(parameters, lr=0.0, momentum=0.9)

    def step() -> None:
        functional.cross_entropy(small(x), classes).backward()

    def nothing() -> None:
        with torch.no_grad():
            pass

    def attention() -> Any:
        with torch.no_grad():
            return functional.scaled_dot_product_attention(heads, heads, heads)

    return {
        "Linear": lambda: linear(x),
        "Conv2d": lambda: conv(image),
        "BatchNorm2d": lambda: batch_norm(image),
        "LayerNorm": lambda: norm(x),
        "Dropout": lambda: dropout(x),
        "Embedding": lambda: words(rows),
        "GRUCell": lambda: cell(x),
        "avg_pool2d": lambda: functional.avg_pool2d(image, 2),
        "attention": attention,
        "mse_loss": lambda: functional.mse_loss(x, wanted),
        "smooth_l1_loss": lambda: functional.smooth_l1_loss(x, wanted),
        "binary cross-entropy": lambda: functional.binary_cross_entropy_with_logits(x, wanted),
        "gradients of a network": step,
        "AdamW, 8 parameters": adamw.step,
        "SGD, 8 parameters": sgd.step,
        "norm clipping": lambda: nn.utils.clip_grad_norm_(parameters, 1.0),
        "zero_grad": lambda: adamw.zero_grad(set_to_none=False),
        "state_dict": small.state_dict,
        "no_grad": nothing,
        "einsum": lambda: torch.einsum("ij,kj->ik", x, wanted),
    }


#: Group -> what makes its calls.
EVERYDAY: dict[str, Callable[[ModuleType], dict[str, Case]]] = {
    "creation": creation, "conversion": conversion, "reduction": reduction, "indexing": indexing,
    "in place": in_place, "networks": networks,
}  # fmt: skip
