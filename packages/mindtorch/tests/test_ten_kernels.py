"""Networks are trained on a backend that has ten kernels: losses and gradients are the CPU's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch
import mindtorch.nn.functional as F
from mindtorch import nn
from mt_core.plugins.discovery import register_backend
from mt_core.testing.basis_backend import BasisBackend

register_backend(BasisBackend("ten"))


def close(ours: Any, theirs: Any, widen: float = 1) -> None:
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float64: 1e-11}.get(theirs.dtype, 1e-5) * widen
    torch.testing.assert_close(ours.cpu(), theirs, rtol=tolerance, atol=tolerance)


def both(call: Callable[..., Any], *inputs: Any, order: int = 1) -> None:
    """The result of a call and its derivatives of two orders, on the ten kernels and on the CPU."""
    outcomes = []
    for place in ("cpu", "ten"):
        leaves = [x.detach().to(place).requires_grad_(x.is_floating_point()) for x in inputs]
        result = call(*leaves)
        values, asked = [result], [x for x in leaves if x.requires_grad]
        torch.manual_seed(3)
        for _ in range(order):
            weights = torch.randn(result.shape, dtype=torch.float64).to(result.dtype).to(place)
            made = torch.autograd.grad((result * weights).sum(), asked, create_graph=True, allow_unused=True)
            gradients = [g for g in made if g is not None]
            values += gradients
            curved = [g for g in gradients if g.requires_grad]
            if not curved:
                break
            result = curved[0]
        outcomes.append(values)
        assert len(values) > 1
    for theirs, ours in zip(*outcomes, strict=True):
        assert ours.device.type == "ten" and ours.stride() == theirs.stride()
        close(ours.detach(), theirs.detach(), 4)


def drawn(*shape: int, dtype: Any = torch.float32, scale: float = 1) -> Any:
    torch.manual_seed(sum(shape) + len(shape))
    return (torch.randn(*shape, dtype=torch.float64) * scale).to(dtype)


DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scale", [1, 30])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, scale: float, order: int, dtype: Any) -> None:
    x = drawn(4, 5, dtype=dtype, scale=scale)
    both(lambda a: getattr(F, name)(a, -1), x, order=order)
    both(lambda a: getattr(F, name)(a, 0), x.t(), order=order)
    both(lambda a: getattr(F, name)(a, -1, dtype=torch.float64), x, order=order)


def test_softmax_of_large_numbers() -> None:
    x = torch.tensor([[1e4, 1e4 - 1, -1e4], [-torch.inf, 0, 1], [-torch.inf] * 3])
    for name in ("softmax", "log_softmax"):
        ours = getattr(F, name)(x.to("ten"), 1).cpu()
        torch.testing.assert_close(ours, getattr(F, name)(x, 1), equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("order", [1, 2])
def test_layer_norm(order: int, dtype: Any) -> None:
    x, w, b = drawn(3, 4, 5, dtype=dtype), drawn(4, 5, dtype=dtype), drawn(5, 4, dtype=dtype).t()
    both(lambda a: F.layer_norm(a, (5,)), x, order=order)
    both(lambda a, w: F.layer_norm(a, (4, 5), w), x, w, order=order)
    both(lambda a, w, b: F.layer_norm(a, (4, 5), w, b, 1e-3), x, w, b, order=order)
    both(lambda a, w: F.rms_norm(a, (5,), w[0]), x, w, order=order)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("order", [1, 2])
def test_activations(order: int, dtype: Any) -> None:
    x = drawn(6, 7, dtype=dtype, scale=3)
    for function in (
        F.gelu, lambda a: F.gelu(a, approximate="tanh"), F.silu, F.sigmoid, F.tanh, F.relu, F.softplus,
        lambda a: F.softplus(a, 2, 3), lambda a: F.leaky_relu(a, 0.1),
    ):  # fmt: skip
        both(function, x, order=order)


TARGET = torch.tensor([0, 2, -100, 4, 2, 3])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(smoothing: float, reduction: str, dtype: Any) -> None:
    options: dict[str, Any] = {"reduction": reduction, "label_smoothing": smoothing}
    x, weight, target = drawn(6, 5, dtype=dtype), drawn(5, dtype=dtype).abs(), TARGET
    for order in (1, 2):
        both(lambda a, t: F.cross_entropy(a, t, **options), x, target, order=order)
        both(lambda a, t: F.cross_entropy(a, t, ignore_index=2, **options), x, target.clamp(0), order=order)
    both(lambda a, t, w: F.cross_entropy(a, t, w.detach(), **options), x, target, weight)
    shares = drawn(6, 5, dtype=dtype).softmax(1)
    both(lambda a, t, w: F.cross_entropy(a, t, w.detach(), **options), x, shares, weight)
    image, classes = drawn(2, 5, 2, 3, dtype=dtype), torch.arange(12).reshape(2, 2, 3) % 5
    both(lambda a, t, w: F.cross_entropy(a, t, w.detach(), **options), image, classes, weight)
    both(lambda a, t: F.cross_entropy(a, t, **options), x[0], target[1])


@pytest.mark.parametrize("wrong", [5, -1])
def test_classes_that_there_are_not(wrong: int) -> None:
    target = TARGET.clone()
    target[1] = wrong
    for place in ("cpu", "ten"):
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds."):
            F.cross_entropy(drawn(6, 5).to(place), target.to(place))
        with pytest.raises(IndexError, match="index out of range in self"):
            F.embedding(target.clamp(-1).to(place) * 9, drawn(5, 3).to(place))


def test_products_losses_and_tables() -> None:
    both(F.linear, drawn(2, 3, 4), drawn(5, 4), drawn(5), order=2)
    both(torch.matmul, drawn(2, 1, 3, 4), drawn(3, 4, 2), order=2)
    both(lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2), drawn(4), drawn(3, 2), drawn(2, 4), order=2)
    both(F.mse_loss, drawn(3, 4), drawn(4, 3).t(), order=2)
    both(lambda w, i: F.embedding(i, w, padding_idx=2), drawn(5, 3), torch.tensor([[0, 2], [4, 0]]))
    both(lambda a: a.var(1).sqrt() + a.std() + a.mean(0).sum(), drawn(4, 5), order=2)
    both(lambda a: a.logsumexp(0) ** 3 / a.max(), drawn(4, 5))


class Block(nn.Module):
    """Embedding, one transformer block, and a head."""

    def __init__(self, width: int = 8, heads: int = 2, words: int = 11, length: int = 5) -> None:
        super().__init__()
        self.heads = heads
        self.table = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(length, width) * 0.1)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.mixed = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head = nn.Linear(width, words)

    def attend(self, x: Any) -> Any:
        n, length, width = x.shape
        split = self.queries_keys_values(x).view(n, length, 3, self.heads, width // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4).unbind(0)
        scores = queries @ keys.transpose(-2, -1) / (width // self.heads) ** 0.5
        order = torch.arange(length, device=x.device)
        later = order.unsqueeze(0) > order.unsqueeze(1)
        made = scores.masked_fill(later, float("-inf")).softmax(-1) @ values
        return self.mixed(made.transpose(1, 2).reshape(n, length, width))

    def forward(self, words: Any) -> Any:
        x = self.table(words) + self.places
        x = x + self.attend(self.before(x))
        return self.head(x + self.down(F.gelu(self.up(self.between(x)))))


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-2, amsgrad=True),
}


def trained(place: str, optimizer: Callable[[Any], Any]) -> tuple[list[float], list[Any]]:
    """The losses of a few steps, and the gradients of the last."""
    torch.manual_seed(0)
    block = Block()
    words, following = torch.randint(0, 11, (3, 5)), torch.randint(0, 11, (3, 5))
    following[0, 0] = -100
    block, words, following = block.to(place), words.to(place), following.to(place)
    steps, losses = optimizer(block.parameters()), []
    for _ in range(4):
        steps.zero_grad()
        loss = F.cross_entropy(block(words).flatten(0, 1), following.flatten(), label_smoothing=0.1)
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert {p.grad.device.type for p in block.parameters()} == {place}
    return losses, [p.grad.cpu() for p in block.parameters()]


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_a_transformer_block_is_trained(name: str) -> None:
    ours, theirs = (trained(place, OPTIMIZERS[name]) for place in ("ten", "cpu"))
    assert ours[0] == pytest.approx(theirs[0], rel=1e-5) and ours[0][-1] < 0.9 * ours[0][0]
    for gradient, expected in zip(ours[1], theirs[1], strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-5)


def test_losses_of_every_kind() -> None:
    x, y = drawn(3, 4), drawn(4, 3).t()
    shares = torch.sigmoid(y).contiguous()
    for loss in (F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        both(lambda a, b, loss=loss: loss(a, b.detach()), x, y)
    both(lambda a, b: F.binary_cross_entropy_with_logits(a, b.detach()), x, shares, order=2)
    both(lambda a, b: F.binary_cross_entropy(torch.sigmoid(a), b.detach()), x, shares)
    both(lambda a, b: F.kl_div(a.log_softmax(1), b.detach(), reduction="batchmean"), x, shares)
    both(lambda a: F.logsigmoid(a) + F.elu(a) + F.mish(a) + F.hardtanh(a, -0.5, 0.5), x, order=2)
    both(lambda a: F.glu(a, 1), x, order=2)


def test_indices_and_what_is_written_there() -> None:
    x, rows = drawn(4, 5), torch.tensor([2, 0, 2])
    both(lambda a, i: a[i], x, rows)
    both(lambda a, i: a[:, i] * a[i, i].unsqueeze(0), x, rows)
    both(lambda a: a[a.detach() > 0], x)
    both(lambda a, i: a.index_add(0, i, a[:3] * 2), x, rows)
    both(lambda a: a.max(1)[0] + a.amin(1) + a.prod(1), x)
    both(lambda a: torch.where(a > 0, a, 0).tril() + a.triu(1).flip(0).repeat(1, 1), x)

    def written(a: Any) -> Any:
        b = a * 1
        b[a.detach() < 0] = 0.5
        b[1:, ::2] += 2
        return b * F.one_hot(torch.arange(4, device=a.device), 5)

    both(written, x)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 3, 8)),
        (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", norm_first=True), (3, 2, 8)),
        (lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3), nn.ReLU(), nn.RMSNorm(3)), (6, 4)),
        (lambda: nn.Sequential(nn.GroupNorm(2, 4), nn.SiLU(), nn.Flatten(), nn.Softplus()), (2, 4, 3)),
        (lambda: nn.LSTM(4, 5), (3, 2, 4)), (lambda: nn.GRU(4, 5), (3, 2, 4)),
    ],
)  # fmt: skip
def test_modules(make: Callable[[], Any], shape: tuple[int, ...]) -> None:
    """Results, and gradients clipped to a norm."""
    found = []
    for place in ("cpu", "ten"):
        torch.manual_seed(1)
        module = make().to(place)
        made = module(drawn(*shape).to(place))
        made = made[0] if isinstance(made, tuple) else made
        (made * made.detach().cpu().cos().to(place)).sum().backward()
        norm = nn.utils.clip_grad_norm_(module.parameters(), 0.5)
        found.append([made.detach(), norm.detach(), *[p.grad for p in module.parameters()]])
    for theirs, ours in zip(*found, strict=True):
        close(ours, theirs, 10)
