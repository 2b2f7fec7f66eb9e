# ruff: noqa: B007, C416, C419, F841, RUF059, UP031 (programs are written as the language has it)
"""Programs that PyTorch writes to archives: its scripting compiler reads this source."""

import enum
import math
from typing import Any, Final, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    a: Tensor
    n: int = 3


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.n = start
        self.names: list[str] = []

    def add(self, k: int, name: str | None = None) -> int:
        self.n += k
        if name is not None:
            self.names.append(name)
        return self.n

    def __len__(self) -> int:
        return len(self.names)


@torch.jit.interface
class Iface(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Sub(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x) * self.k


class Everything(nn.Module):
    scale: Final[float]
    impl: Iface
    color: Color

    def __init__(self):
        super().__init__()
        self.scale = 2.5
        self.layers = nn.ModuleList([Sub(1), Sub(2)])
        self.d = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Tanh()})
        self.impl = Sub(5)
        self.names = ["x", "y"]
        self.table: dict[str, int] = {"x": 1, "y": 2}
        self.color = Color.BLUE
        self.opt: Tensor | None = None
        self.register_buffer("step", torch.zeros((), dtype=torch.long))
        self.lstm = nn.LSTM(4, 3, batch_first=True)
        self.register_buffer("np_", torch.ones(2), persistent=False)

    @torch.jit.export
    def other(
        self, x: Tensor, n: int = 4, s: str = "abc'\n", t: tuple[int, float] = (1, 2.5)
    ) -> dict[str, list[Tensor]]:
        out: dict[str, list[Tensor]] = {}
        for i in range(n):
            if i == 2:
                continue
            if i > 3:
                break
            out["k%d" % i] = [x + i, x * t[1]]
        k = 0
        while k < 5 and bool(x.sum() > k):
            k += 1
            x = x - 1
        out[s] = [x]
        for key, v in self.table.items():
            out[key] = [x * v]
        return out

    def forward(self, x: Tensor, y: Tensor | None = None, u: int | float | None = None) -> tuple[Tensor, Pair, str]:
        self.step += 1
        for l in self.layers:
            x = l(x)
        for name, l in self.d.items():
            x = l(x)
        x = self.impl.forward(x)
        if y is not None:
            x = x + y
        else:
            x = x - 1
        c = Counter(3)
        c.add(2, "hello")
        c.add(1)
        if isinstance(u, int):
            x = x + u
        elif isinstance(u, float):
            x = x * u
        s = f"n={c.n} {len(c)} {self.scale} {x.shape}" if x.dim() > 5 else f"n={c.n} {self.names}"
        if x.numel() > 1000:
            raise ValueError("too big %d" % x.numel())
        assert x.dim() >= 2, "need two"
        out, (h, cc) = self.lstm(x.unsqueeze(0))
        x[0, 1:3] = 0
        x[:, ::2] += 1.0
        z = torch.zeros([2, 3], dtype=torch.int64, device=x.device)
        ll = [i * 2 for i in [1, 2, 3]]
        ll.append(4)
        ll[1] = 7
        a, b = torch.split(x, 2, dim=-1)
        if self.color == Color.BLUE:
            x = x + 0.5
        fut = torch.jit.fork(torch.relu, x)
        w = torch.jit.wait(fut)
        print("hi", c.n, x.size(0))
        m = x[..., None][x.unsqueeze(-1) > 0]
        k = {"a": 1}
        q = k.get("b", 3)
        with torch.no_grad():
            x = x * 2
        st = s.split(" ")[0].upper() + s[1:3] + str(3) + ",".join(["a", "b"])
        inf = float("inf")
        x = torch.clamp(x, min=-inf)
        return x + out.squeeze(0).sum() + torch.tensor([1.0, 2.0]).sum() + w + a.sum(), Pair(x, len(ll)), st


def integers(x: int, y: int):
    return (
        x**y,
        x // y,
        x % y,
        -x // y,
        x / y,
        x * y * x * x * x * x,
        2**y,
        float(x) ** y,
        math.sqrt(float(abs(x))),
        math.log(float(abs(x))),
    )


def floats(x: float, y: float):
    return (
        x // y,
        x % y,
        round(x),
        int(x),
        math.floor(x),
        math.ceil(x),
        x**y,
        x / y,
        x * y,
        min(x, y),
        max(x, y),
        x < y,
        abs(x),
        math.fmod(x, y),
        math.atan2(x, y),
    )


def texts(x: str):
    return (
        x[1:3],
        x[-1],
        x.split(),
        x.split(","),
        x.find("b"),
        x.upper(),
        x.strip(),
        x.replace("b", "zz"),
        x.center(9, "*"),
        x.zfill(9),
        len(x),
        x < "b",
        x == "abc",
        x.count("a"),
        x.startswith("a"),
        x.endswith("c"),
        x.rsplit("b"),
        x.partition("b"),
        x.isdigit(),
        x.title(),
        x.splitlines(),
        x.lstrip("a"),
        x.rfind("c"),
        x.expandtabs(),
        [c for c in x],
        x.ljust(5),
        x.swapcase(),
        x.capitalize(),
        "b" in x,
        ord(x[0]),
        x + x,
        x.join(["a", "b"]),
    )


def bits(x: int, y: int):
    return (
        x << y,
        x >> y,
        x & y,
        x | y,
        x ^ y,
        -x,
        abs(x),
        divmod(x, y),
        min(x, y),
        max(x, y),
        hex(x),
        bin(x),
        chr(abs(x) + 60),
        str(x),
        bool(x),
        float(x),
    )


def lists(x: list[int]):
    x.append(3)
    x.sort()
    y = x.copy()
    y.reverse()
    y.insert(0, 9)
    y.extend([1, 2])
    z = y.pop()
    w = y.pop(0)
    i = y.index(3)
    c = y.count(3)
    y.remove(1)
    del y[0]
    y += [4]
    q = [a * 2 for a in y]
    s = 0
    for i, (a, b) in enumerate(zip(x, q)):
        s += i * a - b
    for k in range(len(x), 0, -2):
        s += k
    return (
        x,
        y,
        z,
        w,
        i,
        c,
        sorted(y),
        x + y,
        x * 2,
        x == y,
        3 in x,
        len(x),
        y[::-1],
        y[1:],
        sum(x),
        any([a > 2 for a in x]),
        max(x),
        list(range(3)),
        [1] * 3,
        q,
        s,
        y[-1],
        [float(a) for a in x],
    )


def dicts(d: dict[str, int], k: str):
    d["z"] = 3
    o: dict[int, list[str]] = {}
    for key, v in d.items():
        if v in o:
            o[v].append(key)
        else:
            o[v] = [key]
    a = d.get(k, 7)
    b = d.get(k)
    e = {"a": 1.5, k: 2.5}
    d2 = d.copy()
    d2.update({"m": 4})
    d2.pop("m")
    f = {key: v + 1 for key, v in d.items()}
    s = [key for key in d]
    g = d2.setdefault("hh", 3)
    del d2["hh"]
    return d, o, a, b, e, len(d), list(d.keys()), list(d.values()), k in d, f, s, d2, g


def raising(l: list[int], d: dict[str, int], i: int):
    if i == 0:
        return l[7]
    if i == 1:
        return d["nope"]
    if i == 2:
        raise ValueError("v " + str(i))
    if i == 3:
        raise RuntimeError("r")
    if i == 4:
        raise NotImplementedError
    assert i != 5, "five"
    if i == 6:
        return int("abc")
    return 1 // (i - 7)


def optionals(x: Tensor | None, n: int | None, l: list[int | None]):
    assert x is not None
    a, b = x.shape[:2]
    t = 0
    for i in l:
        if i is not None:
            t += i
    if n is None:
        n = 5
    y = x if n > 4 else x + 1
    return y * n, a, b, t


def tensors(x: Tensor, i: int):
    w = x[0], x[1:2, None], x[..., 0], x[x > 0], x[i], x[torch.tensor([0])], x[:, [0, 1]], x[-1:, ::2], x[None]
    x = x.clone()
    x[0] = 1
    x[x > 0.5] = 2.0
    x[1:, 0] += 3
    x[i, 1] = x[0, 0] * 2
    z = x.T + x.mT
    q = 0
    for row in x:
        q += int(row.sum())
    t = x.to(torch.float64).to("cpu").type(torch.float16).float().to(x.device, torch.int32)
    dt = x.dtype == torch.float32
    k = x.size()[0] + x.ndim + x.numel() + x.dim() + len(x)
    y = F.dropout(x, 0.5, False) + F.interpolate(x[None, None], scale_factor=2.0)[0, 0, :4, :4]
    m = (
        x.max(),
        x.max(dim=1),
        torch.max(x, x + 1),
        x.sum(),
        x.sum(1),
        x.sum(dim=0, keepdim=True),
        x.mean((0, 1)),
        x.argmax(),
        x.std(),
        torch.topk(x, 2),
        x.sort(descending=True)[0],
    )
    a = (
        x.view(-1),
        x.reshape(2, -1),
        x.permute(1, 0),
        x.transpose(0, 1),
        x.unsqueeze(0).squeeze(0),
        x.expand(2, 4, 4),
        x.repeat(1, 2),
        x.flatten(),
        x.unbind(1)[0],
        x.chunk(2, 1)[1],
        x.split([1, 3])[1],
    )
    f = (
        torch.zeros(2, 3),
        torch.ones([2], dtype=torch.int64),
        torch.full((2, 2), 3.5),
        torch.arange(3),
        torch.arange(1, 6, 2),
        torch.linspace(0, 1, 3),
        torch.eye(2),
        torch.zeros_like(x, dtype=torch.bool),
        torch.tensor([[1, 2], [3, 4]], dtype=torch.float),
        torch.tensor(i),
        torch.tensor(2.5),
        torch.tensor([True]),
        x.new_zeros(2),
        x.new_ones([1, 2]),
    )
    c = (
        x + 1,
        1 - x,
        x * 2.5,
        2 / (x.abs() + 1),
        x**2,
        2**x,
        x // 2,
        x % 3,
        -x,
        x > 0,
        x == x,
        ~(x > 0),
        (x > 0) & (x < 1),
        x @ x,
        x.clamp(-1, 1),
        x.clamp(min=0),
        x.abs().sqrt(),
        torch.where(x > 0, x, torch.zeros_like(x)),
        torch.cat([x, x], 1),
        torch.stack([x, x]),
        x.eq(1).any(),
        x.lt(0).all(),
        torch.add(x, x, alpha=2),
        x.masked_fill(x > 0, 0.0),
        torch.einsum("ij,kj->ik", x, x),
    )
    return (
        w,
        z,
        q,
        t,
        dt,
        k,
        y,
        m,
        a,
        f,
        c,
        x.item() if x.numel() == 1 else 1.0,
        x.tolist() if False else 3,
        x.contiguous(),
        x.is_floating_point(),
        x.device,
        x.stride(),
        float(x[0, 0]),
        bool(x[0, 0] > 0),
        int(x.sum()),
    )


def loops(x: Tensor, n: int):
    out: list[Tensor] = []
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if i % 2 == 0:
            continue
        out.append(x * i)
    for j in range(n):
        if j == 3:
            return x + j, out
    return x, out


def written(x: Tensor, o: int | None, d: dict[str, list[float]], fl: list[float]):
    r = [f"{v}" for v in fl]
    return (
        r,
        str(o),
        str(d),
        str(True),
        str((1, "a", 2.0)),
        str(["a"]),
        "{} {}".format("a", ["b"]),
        str(x),
        str([x]),
        str(x.device),
        str((1,)),
        "%s %d" % (fl, 3),
        "%s" % 2.0,
        "%f|%e" % (2.5, 3),
        f"a{o}b{r}",
        str(x[0]),
        str(x[0, 0]),
    )


def unions(x: int | list[int] | dict[str, int] | tuple[int, str] | float, y: Any):
    if isinstance(x, (int, float)):
        return 1
    if isinstance(x, list):
        return 2
    if isinstance(y, Tensor):
        return y.size(0)
    if torch.jit.isinstance(y, list[str]):
        return 4
    if torch.jit.isinstance(x, dict[str, int]):
        return 3
    return 5


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 4, 3, padding="same", groups=2),
            nn.GELU(),
            nn.GroupNorm(2, 4),
            nn.AdaptiveAvgPool2d((2, 2)),
            nn.Flatten(),
            nn.LayerNorm(16),
            nn.Linear(16, 8),
            nn.Hardtanh(),
            nn.LeakyReLU(0.1),
            nn.Softmax(-1),
            nn.ELU(),
            nn.SiLU(),
            nn.Dropout(0.3),
            nn.PReLU(),
            nn.LogSoftmax(1),
        )

    def forward(self, x):
        return self.conv(x)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True)
        self.b = nn.GRU(6, 5)
        self.c = nn.LSTMCell(5, 2)
        self.e = nn.Embedding(10, 4, padding_idx=0)
        self.r = nn.RNN(6, 2)

    def forward(self, i: Tensor, h: tuple[Tensor, Tensor] | None = None):
        x = self.e(i)
        y, hh = self.a(x, h)
        z, g = self.b(y)
        r, _ = self.r(y)
        c = self.c(z[:, 0])
        return y, hh, z, g, c, r


class Losses(nn.Module):
    def forward(self, x: Tensor, t: Tensor):
        return (
            F.cross_entropy(x, t),
            F.mse_loss(x, x + 1),
            F.nll_loss(x, t),
            F.smooth_l1_loss(x, x * 2),
            F.binary_cross_entropy_with_logits(x, torch.ones_like(x)),
            F.kl_div(x, x, reduction="batchmean"),
            F.pad(x, [1, 2]),
            F.pad(x[None], [1, 1], mode="reflect"),
            F.one_hot(t, 5),
            F.normalize(x),
            F.cosine_similarity(x, x),
            F.embedding(t, x),
            F.glu(x[:, :2]),
            F.softplus(x),
            F.layer_norm(x, [5]),
            F.unfold(x[None, None], [2, 2]),
            F.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2), align_corners=False),
            F.scaled_dot_product_attention(x[None], x[None], x[None]),
            F.interpolate(x[None, None], size=[4, 4], mode="bilinear", align_corners=False),
            F.avg_pool2d(x[None], 2),
            F.conv_transpose2d(x[None, None], torch.ones(1, 1, 2, 2)),
            torch.stft(x.flatten(), 8, return_complex=True, window=torch.ones(8)),
        )


def sizes(x, y):
    return (
        x.view(x.size(0), -1) / x.shape[1] ** 0.5
        + torch.zeros(x.size(0), 1)
        + y.mean() * x.numel()
        + torch.arange(x.shape[1] * x.shape[2]).float()[None]
    )


class OddNames(nn.Module):
    def __init__(s):
        super().__init__()
        s.d = nn.ModuleDict(
            {
                "lambda": nn.Linear(1, 1),
                "a b": nn.Tanh(),
                "print": nn.Tanh(),
            }
        )

    def forward(s, x, async_: int = 3):
        for k, v in s.d.items():
            x = v(x)
        return x + async_, "é\t\x01\"'\\" + str(async_)


def drawn(x: Tensor):
    return (
        torch.rand(2, 2),
        torch.randn(3),
        torch.randint(0, 10, [3]),
        torch.randperm(4),
        torch.bernoulli(torch.full([3], 0.5)),
        F.dropout(x, 0.5, True),
        torch.rand_like(x),
        torch.normal(0.0, 1.0, [2]),
        x.normal_(),
    )


def complexes(x: Tensor, c: complex):
    return (
        c + 1j,
        c * c,
        abs(c),
        torch.complex(x, x),
        torch.view_as_real(torch.complex(x, x)),
        torch.fft.rfft(x) if False else x,
    )


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.LSTM(4, 3, batch_first=True, bidirectional=True)
        self.b = nn.GRU(6, 2, 2)

    def forward(self, x: Tensor, lengths: Tensor, h: tuple[Tensor, Tensor] | None = None, h0: Tensor | None = None):
        p = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        p, state = self.a(p, h)
        q, g = self.b(p, h0)
        y, n = nn.utils.rnn.pad_packed_sequence(q, batch_first=True, padding_value=-1.0, total_length=6)
        return y, n, state, g, p.data, q.batch_sizes, self.b(p.data, h0[:, 0] if h0 is not None else None)
