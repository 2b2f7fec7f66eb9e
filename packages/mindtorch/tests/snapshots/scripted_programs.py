"""Scripted functions and modules that are saved: (object, arguments of several calls) by name, of whichever torch."""

import math
import warnings
from typing import Any

SCALE = 0.5


def functions(torch: Any) -> dict[str, Any]:
    """Functions, and what they are called with."""
    Tensor, F = torch.Tensor, torch.nn.functional
    x = torch.arange(6.0).reshape(2, 3) - 2

    def helper(x, k: int = 2):
        if k > 1:
            return x * k
        return x

    def arithmetic(x, by: int = 1):
        y = (x + by) * SCALE - x / 3 + x**2 % 3
        return -y @ y.t() + by // 2 + by % 3

    def loops(x, by: int = 3):
        y = x
        for i in range(by):
            if i == 1:
                continue
            y = y + i * math.sqrt(4.0)
        while y.sum() < 10:
            y = y * 2 + 1
            if y.max() > 50:
                break
        return helper(y) + helper(y, k=1)

    def early(x, flag: bool):
        if flag:
            return x.relu()
        y = x.sum(dim=0, keepdim=True)
        return y.expand(2, 3)

    def lists(x):
        parts = torch.jit.annotate(list[torch.Tensor], [])
        for part in x.unbind(0):
            parts.append(part * 2)
        numbers = [n * n for n in range(4)]
        return torch.cat(parts[1:] + parts[:1]), sum(numbers), len(parts), max(numbers)

    def mappings(x):
        found: dict[str, torch.Tensor] = {"a": x, "b": x + 1}
        total = torch.zeros(2, 3)
        for key, value in found.items():
            if key != "a":
                total += value
        return total, "a" in found, len(found)

    def optional(x, other: Tensor | None = None) -> tuple[Tensor, int]:
        if other is not None:
            return x + other, 1
        return x, 0

    def indexing(x):
        return x[0], x[:, 1:], x[..., None, -1], x[x > 0], x[1, 2], x.shape[1], x.size(), x[::2]

    def written(x):
        y = x.clone()
        y[0] = 3.0
        y[:, 1] += 2
        y.add_(1)
        return y

    def sizes(x):
        b, n = x.shape
        y = x.view(b, 1, n).permute(0, 2, 1).reshape(-1, b)
        return y, torch.ones(b, n, dtype=torch.int64), x.new_zeros(n), torch.full([2], 1.5), x.repeat(1, 2), x.view(-1)

    def dtypes(x):
        return x.long(), x.double(), x.to(torch.float64), x.dtype == torch.float32, x.type_as(x.double()).bool()

    def conditions(x, n: int):
        a = 1 if n > 2 and not n == 5 else 0
        b = 0 < n < 4
        return a, b, n if b or n > 7 else -n, x.sum() if n != 1 else x.mean()

    def texts(x, name: str):
        return f"{name} has {x.size(0)} rows", name + "!", name.upper(), name == "a"

    def functional(x):
        y = F.softmax(x, dim=-1) + F.gelu(x) + F.relu(x) * F.silu(x)
        z = F.leaky_relu(x, 0.2) + F.elu(x) + F.softplus(x) + F.log_softmax(x, dim=1)
        return y, z, F.mse_loss(x, x * 2), F.mse_loss(x, x * 2, reduction="sum"), F.pad(x, [1, 0]), F.layer_norm(x, [3])

    def attention(x):
        q = x.reshape(1, 1, 2, 3)
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)

    def scripting(x):
        if torch.jit.is_scripting():
            return x + 1
        return x - 1

    def instances(x, n: int | None = None):
        if isinstance(n, int):
            return x + n
        return x

    def checked(x, n: int):
        assert n >= 0, "negative"
        if n > 3:
            raise ValueError(f"{n} is too large")
        return x * n

    def math_of_numbers(n: int, f: float):
        return math.floor(f), abs(-n), min(n, 3), max(f, 1.5), n / 2, n // 2, -n % 3, float(n), int(f), f**2

    return {
        "arithmetic": (arithmetic, [(x,), (x, 3)]),
        "loops": (loops, [(x,), (x, 5)]),
        "early": (early, [(x, True), (x, False)]),
        "lists": (lists, [(x,)]),
        "mappings": (mappings, [(x,)]),
        "optional": (optional, [(x,), (x, x)]),
        "indexing": (indexing, [(x,)]),
        "written": (written, [(x,)]),
        "sizes": (sizes, [(x,)]),
        "dtypes": (dtypes, [(x,)]),
        "conditions": (conditions, [(x, 1), (x, 3), (x, 9)]),
        "texts": (texts, [(x, "a"), (x, "b")]),
        "functional": (functional, [(x,)]),
        "attention": (attention, [(x,)]),
        "scripting": (scripting, [(x,)]),
        "instances": (instances, [(x,), (x, 2)]),
        "checked": (checked, [(x, 2)]),
        "math": (math_of_numbers, [(5, 2.5), (2, 0.5)]),
    }


def modules(torch: Any) -> dict[str, Any]:
    """Modules, and what they are called with."""
    nn, F, rnn = torch.nn, torch.nn.functional, torch.nn.utils.rnn
    Tensor = torch.Tensor

    class Block(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.linear, self.norm = nn.Linear(size, size, bias=False), nn.LayerNorm(size)
            self.rate, self.heads = 0.1, 2

        def forward(self, x: Tensor) -> Tensor:
            y = self.linear(self.norm(x)).view(x.shape[0], self.heads, x.size(-1) // self.heads)
            y = F.gelu(y).transpose(1, 2).reshape(x.shape[0], -1)
            return x + F.dropout(y, self.rate, self.training)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(10, 4)
            self.blocks = nn.ModuleList([Block(4), Block(4)])
            self.head = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
            self.extra = None
            self.register_buffer("count", torch.zeros(1))
            self.names = ["a", "b"]

        def scaled(self, x, by: float):
            return x * by

        def forward(self, ids, flag: bool = True, mask: Tensor | None = None):
            x = self.table(ids).mean(1)
            outs: list[torch.Tensor] = []
            for i, block in enumerate(self.blocks):
                x = block(x)
                outs.append(x * i)
            if self.extra is not None:
                x = self.extra(x)
            if flag and mask is not None:
                x = x * mask
            elif not flag:
                x = self.scaled(x, 2.0)
            self.count += 1
            return F.log_softmax(self.head(x + torch.stack(outs).sum(0)), dim=-1), len(self.names), self.count + 0

    class Images(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(1, 4, 3, padding=1), nn.SiLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, stride=2, groups=2),
                nn.GroupNorm(2, 4), nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Softmax(1),
            )  # fmt: skip
            self.weights = [0.5, 2.0]

        def forward(self, x):
            y = self.features(x)
            for weight in self.weights:
                y = y * weight
            return y

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True)
            self.b = nn.GRU(6, 2, bias=False)
            self.c, self.d = nn.RNN(2, 3, nonlinearity="relu"), nn.LSTM(3, 4, proj_size=2)
            self.e, self.f, self.g = nn.LSTMCell(2, 3), nn.GRUCell(3, 3, bias=False), nn.RNNCell(3, 2)

        def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None, h0: Tensor | None = None):
            y, (h, c) = self.a(x, state)
            y, g = self.b(y, hx=h0)
            y, r = self.c(y)
            y, s = self.d(y)
            h1, c1 = self.e(y[0])
            h1, c1 = self.e(y[0], (h1, c1))
            h2 = self.f(h1, self.f(h1))
            return y, h, c, g, r, s, self.g(h2), self.g(h2[0])

    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.LSTM(4, 3, batch_first=True, bidirectional=True), nn.GRU(6, 2)

        def packed(self, x: Tensor, lengths: Tensor, is_sorted: bool) -> rnn.PackedSequence:
            return rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=is_sorted)

        def forward(self, x: Tensor, lengths: Tensor, is_sorted: bool = False):
            packed = self.packed(x, lengths, is_sorted)
            packed, state = self.a(packed)
            found = self.b(packed)
            again, _ = self.b(found[0].data.relu() if x.dim() > 3 else rnn.pad_packed_sequence(packed)[0])
            packed = self.b(packed, found[1])[0]
            y, n = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=5)
            return y, n, state, found[1], again, packed.batch_sizes

    ids, image = torch.arange(6).reshape(2, 3), torch.linspace(-1, 1, 128).reshape(2, 1, 8, 8)
    x, one = torch.linspace(-2, 2, 48).reshape(3, 4, 4), torch.ones(4, 3, 3)
    steps = [(x, torch.tensor([3, 1, 2])), (x, torch.tensor([4, 4, 1]), True)]
    return {
        "recurrent": (Recurrent, [(x,), (x, (one, one * 2)), (x, None, torch.ones(1, 4, 2))]),
        "packed": (Packed, steps),
        "net": (Net, [(ids,), (ids, False), (ids, True, torch.ones(2, 4) * 3)]),
        "images": (Images, [(image,)]),
    }


def scripted(torch: Any) -> dict[str, tuple[Any, Any]]:
    """Name -> (what was scripted, the arguments of its calls)."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (function, calls) in functions(torch).items():
            found[name] = torch.jit.script(function), calls
        for name, (cls, calls) in modules(torch).items():
            torch.manual_seed(0)
            found[name] = torch.jit.script(cls().eval()), calls
    return found


def told(value: Any) -> Any:
    """A result in words that are equal for both."""
    if hasattr(value, "dtype"):
        return [str(value.dtype), list(value.shape), [round(float(n), 4) + 0.0 for n in value.reshape(-1).tolist()]]
    if isinstance(value, (list, tuple)):
        return [told(one) for one in value]
    return [type(value).__name__, str(value)]
