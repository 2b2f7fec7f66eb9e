"""Random programs of operators that distributed tensors have rules for; a program is its seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import mindtorch as torch
from mindtorch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from mindtorch.nn import functional as F

#: Sizes that 2, 3 or 4 ranks share evenly, unevenly, or not at all.
SIZES = (1, 2, 3, 4, 5, 6)


def _same(x: Any, draw: random.Random) -> Callable[[Any], Any] | None:
    return draw.choice(
        [
            torch.tanh,
            torch.sigmoid,
            torch.neg,
            torch.square,
            F.gelu,
            F.silu,
            torch.cos,
            lambda t: t * 0.5 + 1,
            lambda t: 2 - t / 3,
            lambda t: t.clamp(-0.5, 0.5),
            lambda t: torch.where(t > 0, t, t * 0.1),
            lambda t: t.masked_fill(t < -1, 0.25),
            lambda t: t.clone(),
            lambda t: t.abs().sqrt() + 0.1,
            lambda t: t.contiguous(),
        ]
    )


def _dim(x: Any, draw: random.Random) -> int | None:
    return draw.randrange(x.ndim) if x.ndim else None


def _reduced(x: Any, draw: random.Random) -> Callable[[Any], Any] | None:
    dim, keep = _dim(x, draw), draw.random() < 0.5
    if dim is None:
        return None
    kinds: list[Callable[[Any], Any]] = [
        lambda t: t.sum(dim, keepdim=keep),
        lambda t: t.mean(dim, keepdim=keep),
        lambda t: t.amax(dim, keepdim=keep),
        lambda t: t.logsumexp(dim, keepdim=keep),
        lambda t: t.norm(dim=dim, keepdim=keep),
        lambda t: t.min(dim, keepdim=keep).values,
        lambda t: t.prod(dim, keepdim=keep),
        lambda t: t.sum(),
        lambda t: t.mean(),
    ]
    if x.shape[dim] > 1:
        kinds.append(lambda t: t.var(dim, keepdim=keep))
    return draw.choice(kinds)


def _along(x: Any, draw: random.Random) -> Callable[[Any], Any] | None:
    dim = _dim(x, draw)
    if dim is None:
        return None
    return draw.choice(
        [
            lambda t: t.softmax(dim),
            lambda t: t.log_softmax(dim),
            lambda t: t.cumsum(dim),
            lambda t: t.flip(dim),
            lambda t: t.sort(dim).values,
            lambda t: F.layer_norm(t, t.shape[-1:]),
            lambda t: t.topk(1, dim).values,
        ]
    )


def _viewed(x: Any, draw: random.Random) -> Callable[[Any], Any] | None:
    if x.ndim == 0:
        return lambda t: t.unsqueeze(0)
    a, b = draw.randrange(x.ndim), draw.randrange(x.ndim)
    low, high = min(a, b), max(a, b)
    order = list(range(x.ndim))
    draw.shuffle(order)
    kinds: list[Callable[[Any], Any]] = [
        lambda t: t.transpose(a, b),
        lambda t: t.permute(order),
        lambda t: t.flatten(low, high),
        lambda t: t.reshape(-1),
        lambda t: t.squeeze(a),
    ]
    if x.ndim < 4:
        kinds.append(lambda t: t.unsqueeze(a))
        count = draw.choice(SIZES)
        kinds.append(lambda t: t.unsqueeze(a).expand(*t.shape[:a], count, *t.shape[a:]))
        if x.shape[a] % 2 == 0:
            kinds.append(lambda t: t.unflatten(a, (2, t.shape[a] // 2)))
            kinds.append(lambda t: t.reshape(*t.shape[:a], t.shape[a] // 2, 2, *t.shape[a + 1 :]))
    return draw.choice(kinds)


def _parted(x: Any, draw: random.Random) -> Callable[[Any], Any] | None:
    dim = _dim(x, draw)
    if dim is None or x.shape[dim] < 2:
        return None
    start = draw.randrange(x.shape[dim] - 1)
    stop = draw.randrange(start + 1, x.shape[dim] + 1)
    indices = torch.tensor([draw.randrange(x.shape[dim]) for _ in range(draw.choice((1, 3)))])
    return draw.choice(
        [
            lambda t: t.narrow(dim, start, stop - start),
            lambda t: t.select(dim, start),
            lambda t: t.split(2, dim)[0],
            lambda t: t.chunk(2, dim)[-1],
            lambda t: t.unbind(dim)[-1],
            lambda t: t.index_select(dim, _like(indices, t)),
        ]
    )


def _pair(x: Any, y: Any, draw: random.Random) -> Callable[[Any, Any], Any] | None:
    try:
        torch.broadcast_shapes(x.shape, y.shape)
    except RuntimeError:
        return None
    kinds: list[Callable[[Any, Any], Any]] = [
        torch.add,
        torch.sub,
        torch.mul,
        torch.maximum,
        lambda s, t: s / (t.square() + 1),
        lambda s, t: s.lerp(t, 0.25),
        lambda s, t: torch.where(s > t, s, t),
    ]
    if x.shape == y.shape and x.ndim:
        kinds += [lambda s, t: torch.cat([s, t], 0), lambda s, t: F.mse_loss(s, t)]
        if x.ndim < 4:
            kinds.append(lambda s, t: torch.stack([s, t], -1))
    return draw.choice(kinds)


def _product(x: Any, y: Any, draw: random.Random) -> Callable[[Any, Any], Any] | None:
    if x.ndim > 1 and y.ndim == 2 and x.shape[-1] == y.shape[-1]:
        return F.linear
    if x.ndim == y.ndim == 2 and x.shape[0] == y.shape[0]:
        return lambda s, t: s.t() @ t
    if x.ndim == y.ndim == 3 and x.shape[0] == y.shape[0] and x.shape[2] == y.shape[1]:
        return torch.bmm
    if x.ndim == y.ndim == 2 and x.shape[1] == y.shape[0]:
        return torch.matmul
    return None


def _written(x: Any, draw: random.Random) -> Callable[[Any], Any] | None:
    def write(t: Any) -> Any:
        t = t + 1  # a sum that is to be done is done: nothing else than sums could be written to it
        t.add_(1).mul_(0.5)
        return t

    return write


def _like(indices: Any, other: Any) -> Any:
    """Indices, on all ranks where the others are distributed."""
    if not isinstance(other, DTensor):
        return indices
    return distribute_tensor(indices, other.device_mesh, src_data_rank=None)


ONE = (_same, _reduced, _along, _viewed, _parted, _written)


class Program:
    """Steps, each on results of those before; made on ordinary tensors, run on any.

    Parameters
    ----------
    seed
        Of the draw.
    length
        How many steps.
    """

    def __init__(self, seed: int, length: int = 6) -> None:
        draw = random.Random(seed)
        generator = torch.Generator().manual_seed(seed)
        self.inputs = [
            torch.randn([draw.choice(SIZES) for _ in range(draw.choice((1, 2, 2, 3)))], generator=generator)
            for _ in range(2)
        ]
        self.inputs.append(torch.randn(self.inputs[0].shape, generator=generator))
        self.steps: list[tuple[Any, list[int]]] = []
        known = list(self.inputs)
        while len(self.steps) < length:
            a, b = draw.randrange(len(known)), draw.randrange(len(known))
            kind = draw.choice((*ONE, _pair, _pair, _product, _product))
            many = kind in (_pair, _product)
            step: Any = kind(known[a], known[b], draw) if many else kind(known[a], draw)  # type: ignore[operator]
            if step is None:
                continue
            at = [a, b] if many else [a]
            result = step(*(known[i] for i in at))
            if result.numel() > 400 or result.numel() == 0:
                continue
            self.steps.append((step, at))
            known.append(result)

    def run(self, given: list[Any], move: Callable[[Any], Any] = lambda tensor: tensor) -> list[Any]:
        """The last three results and the gradients of a weighted sum of them."""
        known = list(given)
        for step, at in self.steps:
            known.append(move(step(*(known[i] for i in at))))
        total, results = 0.0, []
        for result in known[-3:]:
            whole = result.full_tensor() if isinstance(result, DTensor) else result
            weights = torch.arange(1.0, whole.numel() + 1).reshape(whole.shape) / whole.numel()
            total = total + (whole * weights).sum()
            results.append(whole.detach())
        if total.requires_grad:
            total.backward()
        grads = [one.grad.full_tensor() if isinstance(one.grad, DTensor) else one.grad for one in given]
        return results + grads


def placements(draw: random.Random, ndim: int, dims: int) -> list[Any]:
    """Somewhere to lie on a mesh."""
    return [draw.choice([Replicate(), *map(Shard, range(ndim))]) for _ in range(dims)]


def differences(mesh: Any, seeds: range) -> list[str]:
    """Programs whose values or gradients are others on a mesh than in one process, and those that raise."""
    wrong = []
    for seed in seeds:
        program, draw = Program(seed), random.Random(seed)
        wanted = program.run([value.clone().requires_grad_() for value in program.inputs])
        spread = [
            distribute_tensor(
                value.clone().requires_grad_(), mesh, placements(draw, value.ndim, mesh.ndim), src_data_rank=None
            )
            for value in program.inputs
        ]

        def move(tensor: Any, draw: random.Random = draw) -> Any:
            return (
                tensor.redistribute(placements=placements(draw, tensor.ndim, mesh.ndim))
                if draw.random() < 0.2
                else tensor
            )

        try:
            got = program.run(spread, move)
        except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError) as error:
            wrong.append(f"{seed}: {type(error).__name__}: {str(error)[:200]}")
            continue
        for number, (one, other) in enumerate(zip(got, wanted, strict=True)):
            if (one is None) != (other is None) or (
                one is not None and not torch.allclose(one, other, rtol=1e-4, atol=1e-4, equal_nan=True)
            ):
                wrong.append(f"{seed}: result {number} differs")
                break
    return wrong
