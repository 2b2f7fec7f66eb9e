"""Random modules to be traced, on PyTorch and here: nested, with parameters, functions, methods and operators."""

import hashlib
import importlib
import operator
import random
from typing import Any

COUNT = 120
#: A module is split at this many places, at steps that its seed says.
PARTS = 3


def _equip(torch: Any, module: Any) -> None:
    """Give a module what its steps use."""
    nn = torch.nn
    layers = {
        "linear": nn.Linear(4, 4), "norm": nn.LayerNorm(4), "act": nn.GELU(), "relu": nn.ReLU(),
        "batch": nn.BatchNorm1d(4),
        "seq": nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 4)),
        "list": nn.ModuleList([nn.SiLU(), nn.Identity()]),
    }  # fmt: skip
    for name, layer in layers.items():
        module.add_module(name, layer)
    module.weight = nn.Parameter(torch.randn(4, 4))
    module.register_buffer("shift", torch.ones(4))


def _steps(torch: Any, module: Any) -> list[Any]:
    """Functions of two values and a source of random choices to a tensor like them (rows of four)."""
    functional = torch.nn.functional
    return [
        lambda a, b, r: module.linear(a),
        lambda a, b, r: module.norm(a) + b,
        lambda a, b, r: module.act(a),
        lambda a, b, r: module.seq(a),
        lambda a, b, r: module.batch(a),
        lambda a, b, r: module.list[r.randrange(2)](module.relu(a)),
        lambda a, b, r: a @ module.weight,
        lambda a, b, r: a - module.shift * r.randrange(3),
        lambda a, b, r: functional.linear(a, module.weight, bias=module.shift),
        lambda a, b, r: functional.softmax(a, dim=-1),
        lambda a, b, r: functional.layer_norm(a, (4,), weight=None, eps=1e-3),
        lambda a, b, r: torch.add(a, b, alpha=r.randrange(1, 4)),
        lambda a, b, r: torch.cat([a[:, : r.randrange(1, 4)], b], 1)[:, :4],
        lambda a, b, r: torch.stack((a, b), dim=0).mean(0),
        lambda a, b, r: torch.where(a > 0, a, b),
        lambda a, b, r: torch.relu(a).clamp(min=0.1, max=r.choice([1, 2.5])),
        lambda a, b, r: a.sin().cos_(),
        lambda a, b, r: a.view(a.size(0), 2, 2).transpose(1, 2).reshape(-1, 4),
        lambda a, b, r: a.chunk(2, dim=1)[r.randrange(2)].repeat(1, 2),
        lambda a, b, r: torch.max(a, 1, keepdim=True)[0] * b,
        lambda a, b, r: operator.neg(a) / (b.abs() + 1),
        lambda a, b, r: r.choice([2, 0.5]) - a,
        lambda a, b, r: (a**2 + 1) ** 0.5 // 0.1 % 3,
        lambda a, b, r: a.masked_fill(b < 0, r.choice([0.0, -1.0])),
        lambda a, b, r: a[..., None].squeeze(-1)[[0, 1, 2]],
        lambda a, b, r: torch.einsum("ij,kj->ik", a, module.weight),
        lambda a, b, r: a.softmax(dim=1).to(torch.float64).float(),
        lambda a, b, r: a + torch.ones_like(b) * b.shape[0],
    ]


def drawn(torch: Any, seed: int, depth: int = 2) -> Any:
    """A random module of two inputs of shape (3, 4); it is in eval mode."""

    class Drawn(torch.nn.Module):
        def __init__(self, choices: Any, depth: int) -> None:
            super().__init__()
            self.recipe = []
            _equip(torch, self)
            known = _steps(torch, self)
            for index in range(choices.randrange(2, 7)):
                if depth and choices.random() < 0.25:
                    name = f"inner_{index}"
                    self.add_module(name, Drawn(choices, depth - 1))
                    self.recipe.append((name, None, choices.random()))
                else:
                    self.recipe.append((None, choices.randrange(len(known)), choices.random()))
            self.form = choices.randrange(3) if depth == 2 else 0

        def forward(self, x: torch.Tensor, y: Any = None) -> Any:
            known = _steps(torch, self)
            values = [x, y]
            for name, step, state in self.recipe:
                choices = random.Random(state)
                a, b = choices.choice(values), choices.choice(values)
                function = (lambda a, b, r, name=name: getattr(self, name)(a, b)) if name else known[step]
                values.append(function(a, b, choices))
            return [values[-1], (values[-1], values[-2]), {"out": values[-1], "all": [values[-1], 3]}][self.form]

    torch.manual_seed(seed)
    return Drawn(random.Random(seed), depth).eval()


def split(torch: Any, traced: Any, seed: int) -> Any:
    """A traced module in parts."""
    choices = random.Random(-seed)
    steps = [node for node in traced.graph.nodes if node.op not in ("placeholder", "output")]
    ends = sorted(choices.sample(range(len(steps) + 1), min(PARTS - 1, len(steps))))
    part = {node: sum(index >= end for end in ends) for index, node in enumerate(steps)}
    split_module = importlib.import_module(f"{torch.__name__}.fx.passes.split_module").split_module
    return split_module(traced, None, lambda node: part[node])


def texts(torch: Any, seed: int) -> list[str]:
    """The code of a traced module and of its parts, and the printed graph; or the error."""
    try:
        traced = torch.fx.symbolic_trace(drawn(torch, seed))
    except Exception as error:  # noqa: BLE001 - whatever is raised is told
        return [type(error).__name__, str(error)]
    whole = split(torch, traced, seed)
    return [
        str(traced.graph),
        traced.code,
        whole.code,
        *(part.code for name, part in whole.named_children() if name.startswith("submod")),
    ]


def digests(torch: Any, seed: int) -> list[str]:
    """The texts, each as the beginning of its digest."""
    return [hashlib.sha256(text.encode()).hexdigest()[:12] for text in texts(torch, seed)]
