"""Programs that are traced, on PyTorch and here: name -> module or function, fixed arguments, inputs."""

import collections
import enum
import importlib
import math
import operator
from typing import Any

Pair = collections.namedtuple("Pair", "first second")


class Colour(enum.Enum):
    RED = 1


def programs(torch: Any) -> dict[str, tuple[Any, Any, tuple[Any, ...]]]:
    """The programs; modules have the same random weights each time."""
    torch.manual_seed(0)
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(2, 4), torch.randn(2, 4)

    class Attributes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4))
            self.register_buffer("shift", torch.ones(4))
            self.plain = torch.ones(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * self.weight + self.shift - self.plain) @ torch.ones(4, 2)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, 3, 3, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(3)
            self.relu = nn.ReLU(inplace=True)
            self.down = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3))

        def forward(self, x: Any) -> Any:
            out = self.relu(self.bn1(self.conv1(x)))
            out += self.down(x)
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Sequential(Block(), Block())
            self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(3, 5)

        def forward(self, x: Any) -> Any:
            return self.fc(torch.flatten(self.pool(self.layer(x)), 1))

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x2h, self.h2h = nn.Linear(4, 16), nn.Linear(4, 16)

        def forward(self, x: Any, hidden: Any) -> Any:
            h, c = hidden
            i, f, g, o = (self.x2h(x) + self.h2h(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            return torch.sigmoid(o) * torch.tanh(c), c

    class Library(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.attention = nn.LSTMCell(4, 4), nn.MultiheadAttention(4, 2)

        def forward(self, x: Any) -> Any:
            h, c = self.cell(x)
            return self.attention(h, c, c)[0]

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(4, 12), nn.Linear(4, 4)
            self.norm1, self.norm2 = nn.LayerNorm(4), nn.LayerNorm(4)
            self.mlp = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.0), nn.Linear(8, 4))

        def forward(self, x: Any) -> Any:
            q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
            attended = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(4), dim=-1) @ v
            x = x + self.out(attended)
            return x + self.mlp(self.norm2(x))

    def operators(x: Any, y: Any) -> Any:
        return (
            [-x, +x, abs(x), x - y, 2 - x, x / y, 1 / x, x // 2, x % 2, x**2, x == y, x != y, x < y, x >= 1],
            {"and": (x > 0) & (y > 0), "or": (x > 0) | (y > 0), "xor": (x > 0) ^ (y > 0), "not": ~(x > 0)},
            x @ y.T,
        )

    def functions(x: Any, y: Any) -> Any:
        z = torch.cat([x, y], dim=-1) + torch.stack((x, y)).sum(0).repeat(1, 2)
        z = F.relu(z, inplace=True) + F.gelu(z) + F.layer_norm(z, (8,)) + torch.where(z > 0, z, 0.0)
        z = F.linear(z, torch.ones(3, 8)) + torch.special.expm1(torch.zeros(3))
        return torch.einsum("ij,ij->i", z, z), torch.split(z, 1), F.max_pool1d(z, 2), torch.max(z, dim=1)

    def indexing(x: Any) -> Any:
        return x[0], x[..., None], x[1:, ::2], x[:, [0, 1]], x[x > 0], x.shape[0], x.size(1), x.T

    def methods(x: Any, y: Any) -> Any:
        return x.view(x.size(0), -1).clone().add_(y).clamp(min=0).to(torch.float64).mean(dim=1, keepdim=True)

    def constants(x: Any) -> Any:
        return Pair(x, 1.5), Colour.RED, [], {}, (1,), torch.float32, float("inf"), 1j, None, ..., slice(x, None, 2)

    def tensors_on_the_left(x: Any) -> Any:
        ones = torch.ones(4)
        return ones + x, ones - x, torch.ones(1) * x, ones.add(x), ones @ x.T, ones == x, ones != x

    def defaults(x: Any, y: Any = None, *, scale: float = 2) -> Any:
        return torch.add(x, x, alpha=2) * scale

    def variadic(x: Any, *args: Any, **kwargs: Any) -> Any:
        return x + args[0] * kwargs["factor"]

    def branching(x: Any, flag: bool) -> Any:
        return x if flag else -x

    def nested(x: dict[str, Any], y: Any) -> Any:
        return {"sum": x["a"] + x["b"] * y}

    def in_place(x: Any, y: Any) -> Any:
        x = x.clone()
        x += y
        return operator.iadd(x, y)

    def truth(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    def loop(x: Any) -> Any:
        return [item for item in x]  # noqa: C416 - what is traced is the loop

    def length(x: Any) -> int:
        return len(x)

    def keys(x: Any) -> Any:
        return {x: 1}

    def unknown(x: Any) -> Any:
        return x.add(object())

    picture = torch.randn(1, 3, 5, 5)
    part = torch.fx.PH
    return {
        "attributes": (Attributes(), None, (x,)),
        "resnet": (ResNet(), None, (picture,)),
        "cell": (Cell(), None, (x, (y, x))),
        "layers": (Library(), None, (x,)),
        "transformer": (Transformer(), None, (x,)),
        "operators": (operators, None, (x, y)),
        "functions": (functions, None, (x, y)),
        "indexing": (indexing, None, (x,)),
        "methods": (methods, None, (x, y)),
        "constants": (constants, None, (x,)),
        "tensors on the left": (tensors_on_the_left, None, (x,)),
        "defaults": (defaults, None, (x,)),
        "variadic": (variadic, None, (x,)),
        "branching, true": (branching, {"flag": True}, (x, True)),
        "branching, None": (branching, {"flag": None}, (x, None)),
        "nested": (nested, {"x": {"a": part, "b": part}}, ({"a": x, "b": y}, y)),
        "in place": (in_place, None, (x, y)),
        "truth": (truth, None, (x,)),
        "loop": (loop, None, (x,)),
        "length": (length, None, (x,)),
        "keys": (keys, None, (x,)),
        "unknown": (unknown, None, (x,)),
    }


#: Programs of which the graph runs with other arguments than the program, or gives what cannot be compared.
NOT_RUN = {"variadic", "constants"}


def texts(torch: Any, name: str) -> list[str]:
    """The printed graph, the code and the readable form of a program, or its error."""
    program, fixed, _ = programs(torch)[name]
    try:
        traced = torch.fx.symbolic_trace(program, concrete_args=fixed)
    except Exception as error:  # noqa: BLE001 - whatever is raised is told
        return [type(error).__name__, str(error)]
    return [str(traced.graph), traced.code, traced.print_readable(print_output=False)]


#: How programs are split: name -> program, names of nodes or of what nodes belong to -> part, options.
SPLITS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "in one": ("attributes", lambda index: 0, {}),
    "attributes": ("attributes", lambda index: index // 2, {}),
    "attributes in order": ("attributes", lambda index: index // 2, {"keep_original_order": True}),
    "parts that wait": ("operators", lambda index: 5 if index % 2 == 0 and index < 14 else index // 14, {}),
    "first parts first": ("operators", lambda index: index // 5 * 7 % 5, {"keep_original_order": True}),
    "names of nodes": ("transformer", lambda index: index // 6, {"keep_original_node_name": True}),
    "names of inputs": ("transformer", lambda index: index // 6, {"keep_original_input_name": False}),
    "words": ("transformer", lambda index: "early" if index < 9 else "late", {"partition_affix": "part"}),
    "tuples": ("resnet", lambda index: index // 4, {"tuple_return": True}),
    "defaults": ("defaults", lambda index: index, {}),
    "variadic": ("variadic", lambda index: index // 2, {}),
    "in a circle": ("transformer", lambda index: index % 2, {}),
}


def split(torch: Any, name: str, qualname_map: Any = None) -> tuple[Any, Any]:
    """A program's graph module, and what it is split into."""
    program, choose, options = SPLITS[name]
    made, fixed, _ = programs(torch)[program]
    traced = torch.fx.symbolic_trace(made, concrete_args=fixed)
    steps = [node for node in traced.graph.nodes if node.op.startswith("call")]
    split_module = importlib.import_module(f"{torch.__name__}.fx.passes.split_module").split_module
    return traced, split_module(traced, None, lambda node: choose(steps.index(node)), qualname_map, **options)


def split_texts(torch: Any, name: str) -> list[str]:
    """The graph and code of the whole, the graphs of the parts, and the modules' paths; or the error."""
    paths: dict[str, str] = {}
    try:
        _, whole = split(torch, name, paths)
    except RuntimeError as error:
        return [type(error).__name__, str(error)]
    parts = [f"{path} {part.graph}" for path, part in whole.named_children() if path.startswith("submod")]
    return [str(whole.graph), whole.code, *parts, str(paths)]
