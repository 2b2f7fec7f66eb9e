"""Operators on distributed tensors equal those of one process, gradients included, wherever the elements lie."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.distributed.device_mesh import init_device_mesh
from mindtorch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from mindtorch.nn import functional as F
from mt_distributed.testing import run_threads

sys.path.insert(0, str(Path(__file__).parent))

from dtensor_compositions import differences

Case = tuple[Callable[..., Any], list[tuple[int, ...]]]

INDICES = torch.tensor([[0, 3, 1, 4], [2, 2, 0, 1], [4, 0, 3, 3]])
LABELS = torch.tensor([1, 0, 3, 2, 1])
#: Name -> what is computed, and the shapes of the arguments; most sizes cannot be divided among 2 or 4.
CASES: dict[str, Case] = {
    "add": (lambda x, y: x + y, [(5, 4), (5, 4)]),
    "broadcast": (lambda x, y: x * y - 2 * y, [(5, 4, 3), (4, 1)]),
    "scaled": (lambda x, y: (x / 3 + y) * 2 - y, [(4, 6), (4, 6)]),
    "functions": (lambda x: torch.relu(x).exp() + x.sigmoid() * F.gelu(x) + F.silu(x).tanh(), [(5, 3)]),
    "chosen": (lambda x, y: torch.where(x > 0, x, y).clamp(-1, 1).masked_fill(y > 1, 0.5), [(3, 5), (3, 5)]),
    "matmul": (lambda x, y: x @ y, [(5, 4), (4, 3)]),
    "batches": (lambda x, y: x @ y.transpose(1, 2), [(4, 5, 3), (4, 2, 3)]),
    "linear": (F.linear, [(2, 5, 4), (6, 4), (6,)]),
    "einsum": (lambda x, y: torch.einsum("bij,kj->bik", x, y), [(3, 4, 5), (6, 5)]),
    "sum": (lambda x: x.sum(1) + x.sum() + x.sum((0, 2), keepdim=True).squeeze(), [(4, 4, 4)]),
    "mean": (lambda x: x.mean() + x.mean(0), [(6, 5)]),
    "extremes": (lambda x: x.max() + x.amax(0) - x.amin(1, keepdim=True) + x.max(1).values[:, None], [(5, 5)]),
    "spread": (lambda x: x.var(0) + x.std() + x.norm() + x.norm(dim=0), [(5, 4)]),
    "product": (lambda x: x.prod() + x.logsumexp(0), [(3, 4)]),
    "softmax": (lambda x: x.softmax(1) + x.log_softmax(0), [(5, 6)]),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (6,), w, b), [(3, 5, 6), (6,), (6,)]),
    "rms norm": (lambda x, w: F.rms_norm(x, (4,), w), [(5, 4), (4,)]),
    "heads": (lambda x: x.view(3, 5, 2, 2).transpose(1, 2).reshape(6, 5, 2) * 2, [(3, 5, 4)]),
    "flat": (lambda x: x.flatten(0, 1).unsqueeze(0).squeeze(0).view(2, 3, 4) + x, [(2, 3, 4)]),
    "orders": (lambda x: x.permute(2, 0, 1).transpose(0, 1).contiguous() + x.transpose(1, 2), [(3, 4, 5)]),
    "expanded": (lambda x: x.unsqueeze(0).expand(3, 5, 4) * 2, [(5, 4)]),
    "parts": (lambda x: x[1:3] + x[:2] + x[0] + x.select(1, 2)[:, None].sum() + x[:, 1:].sum(), [(5, 4)]),
    "split": (lambda x: x.split(2, 1)[0] + x.chunk(2, 1)[1] + x.split([1, 3], 1)[0], [(5, 4)]),
    "joined": (lambda x, y: torch.cat([x, y], 1).sum(1) + torch.stack([x, y]).sum((0, 2)), [(5, 4), (5, 4)]),
    "unbound": (lambda x: x.flip(1).unbind(1)[0] + x.cumsum(0).sum(1), [(5, 4)]),
    "triangle": (lambda x: x.tril() + x.triu(1) * 2, [(3, 5, 5)]),
    "embedding": (lambda w: F.embedding(_like(INDICES, w), w), [(5, 6)]),
    "gathered": (lambda x: x.gather(1, _like(INDICES[:, :2], x)) + x.index_select(1, _like(LABELS[:2], x)), [(3, 5)]),
    "cross entropy": (lambda x: F.cross_entropy(x, _like(LABELS, x)), [(5, 4)]),
    "summed entropy": (lambda x: F.cross_entropy(x, _like(LABELS, x), reduction="sum"), [(5, 4)]),
    "losses": (lambda x, y: F.mse_loss(x, y) + F.l1_loss(x, y, reduction="sum"), [(6, 4), (6, 4)]),
    "logits": (lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()), [(4, 4), (4, 4)]),
    "convolution": (lambda x, w, b: F.conv2d(x, w, b, padding=1), [(3, 2, 5, 5), (4, 2, 3, 3), (4,)]),
    "convolutions": (
        lambda x, w, v: F.conv_transpose1d(F.conv1d(x, w, stride=2), v),
        [(2, 4, 7), (3, 4, 2), (3, 2, 2)],
    ),
    "groups of channels": (lambda x, w: F.conv1d(x, w, groups=2), [(5, 4, 6), (2, 2, 3)]),
    "batch norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [(5, 4, 3), (4,), (4,)]),
    "group norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [(5, 4, 3), (4,), (4,)]),
    "instance norm": (lambda x: F.instance_norm(x), [(3, 2, 4)]),
    "largest": (lambda x: F.max_pool2d(x, 2) + F.adaptive_max_pool2d(x, 2), [(3, 5, 4, 4)]),
    "pooled": (
        lambda x: F.avg_pool2d(x, 2) + F.adaptive_avg_pool2d(x, 2) + F.adaptive_avg_pool2d(x, 1),
        [(3, 5, 4, 4)],
    ),
    "pooled lines": (lambda x: F.max_pool1d(x, 2) + F.avg_pool1d(x, 2) + F.lp_pool1d(x, 2, 2), [(3, 5, 4)]),
    "pooled volumes": (lambda x: F.max_pool3d(x, 2) + F.avg_pool3d(x, 2), [(3, 5, 2, 2, 4)]),
    "larger": (
        lambda x: F.interpolate(x, scale_factor=2) + F.interpolate(x, scale_factor=2, mode="bilinear"),
        [(3, 5, 2, 2)],
    ),
    "larger lines": (lambda x: F.interpolate(x, 6, mode="linear") + F.interpolate(x, 6), [(3, 5, 3)]),
    "padded": (lambda x: F.pad(x, (1, 2)) + F.pad(x, (3, 0), value=2.0), [(5, 3, 2)]),
    "rolled": (lambda x: x.roll(1, 0) + x.roll((2, 1), (0, 1)) + x.roll(3), [(5, 4)]),
    "repeated": (lambda x: x.repeat(1, 2) + x.repeat(2, 1, 2)[1], [(5, 4)]),
    "chosen by number": (
        lambda x: x[_like(LABELS, x)] + x[:, _like(INDICES[0], x)[1:2]] + x[_like(INDICES, x)].sum((0, 1)),
        [(5, 4)],
    ),
    "chosen in pairs": (
        lambda x: x[_like(LABELS, x), :, _like(LABELS, x)] + x[:, _like(LABELS, x), _like(LABELS, x)].t(),
        [(5, 5, 5)],
    ),
    "vector": (lambda x, y: x @ y, [(5,), (5, 4)]),
    "inverse": (lambda x: torch.linalg.inv(x + 3 * _like(torch.eye(3), x)), [(5, 3, 3)]),
    "solved": (lambda x, y: torch.linalg.solve(x + 3 * _like(torch.eye(3), x), y), [(3, 3), (3, 2)]),
    "triangular": (lambda x: torch.linalg.cholesky(x @ x.mT + _like(torch.eye(3), x)), [(2, 3, 3)]),
    "determinants": (lambda x: torch.linalg.det(x) + torch.linalg.svdvals(x).sum(-1), [(5, 3, 3)]),
    "attention": (F.scaled_dot_product_attention, [(2, 4, 3, 5), (2, 4, 3, 5), (2, 4, 3, 5)]),
}


def _like(indices: Any, other: Any) -> Any:
    """Indices, on all ranks where the others are distributed."""
    if not isinstance(other, DTensor):
        return indices
    return distribute_tensor(indices, other.device_mesh, src_data_rank=None)


def _values(name: str) -> list[Any]:
    generator = torch.Generator().manual_seed(len(name))
    return [torch.randn(shape, generator=generator) for shape in CASES[name][1]]


def _computed(function: Callable[..., Any], given: list[Any]) -> list[Any]:
    """The result, and the gradients of a weighted sum of it."""
    result = function(*given)
    whole = result.full_tensor() if isinstance(result, DTensor) else result
    weights = torch.arange(1.0, whole.numel() + 1).reshape(whole.shape) / whole.numel()
    (whole * weights).sum().backward()
    grads = [one.grad.full_tensor() if isinstance(one.grad, DTensor) else one.grad for one in given]
    return [whole.detach(), *grads]


def _placements(draw: random.Random, ndim: int, dims: int) -> list[Any]:
    return [draw.choice([Replicate(), *map(Shard, range(ndim))]) for _ in range(dims)]


def _compare(group: Any, sizes: tuple[int, ...], tries: int) -> list[str]:
    mesh = init_device_mesh("cpu", sizes)
    draw, wrong = random.Random(7), []
    for name, (function, _) in CASES.items():
        for _ in range(tries):
            values = _values(name)
            ways = [_placements(draw, value.ndim, len(sizes)) for value in values]
            wanted = _computed(function, [value.clone().requires_grad_() for value in values])
            spread = [
                distribute_tensor(value.clone().requires_grad_(), mesh, way, src_data_rank=None)
                for value, way in zip(values, ways, strict=True)
            ]
            got = _computed(function, spread)
            if not all(torch.allclose(one, other, atol=1e-5) for one, other in zip(got, wanted, strict=True)):
                wrong.append(f"{name} {ways}")
    return wrong


@pytest.mark.parametrize(("sizes", "tries"), [((2,), 1), ((2, 2), 1)])
def test_values_and_gradients(sizes: tuple[int, ...], tries: int) -> None:
    """Each case under placements drawn at random."""
    ranks = 1
    for size in sizes:
        ranks *= size
    assert run_threads(ranks, _compare, sizes, tries) == [[]] * ranks


def test_running_statistics_are_those_of_one_process() -> None:
    """Whatever is split; and those that lie otherwise than the rule needs are refused, not updated in a copy."""
    torch.manual_seed(0)
    x = torch.randn(6, 4, 3)
    alone = torch.nn.BatchNorm1d(4)
    expected = alone(x), alone.eval()(x)

    def run(group: Any) -> None:
        mesh = init_device_mesh("cpu", (2,))
        for way in (Replicate(), Shard(0), Shard(1)):
            for kept in (Replicate(), Shard(0)):
                net = torch.nn.BatchNorm1d(4)
                for name, value in [*net.named_parameters(), *net.named_buffers()]:
                    spread = distribute_tensor(value.detach(), mesh, [kept if value.ndim else Replicate()])
                    if name in net._parameters:
                        spread = torch.nn.Parameter(spread)
                    setattr(net, name, spread)
                given = distribute_tensor(x, mesh, [way])
                trained = net(given)
                trained.sum().backward()
                evaluated = net.eval()(given)
                torch.testing.assert_close(trained.full_tensor(), expected[0])
                torch.testing.assert_close(evaluated.full_tensor(), expected[1])
                torch.testing.assert_close(net.running_mean.full_tensor(), alone.running_mean)
                torch.testing.assert_close(net.running_var.full_tensor(), alone.running_var)

    run_threads(2, run)


def test_a_squeeze_goes_by_the_whole_shape() -> None:
    """A part may be of size one where the whole is not."""

    def run(group: Any) -> None:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(torch.arange(3.0).reshape(3, 1), mesh, [Shard(0)])
        assert torch.equal(x.squeeze(0).full_tensor(), torch.arange(3.0).reshape(3, 1))
        assert torch.equal(x.squeeze().full_tensor(), torch.arange(3.0))
        assert torch.equal(x.squeeze((0, 1)).flip(0).full_tensor(), torch.arange(3.0).flip(0))
        for change in (lambda: x.unsqueeze_(0), lambda: x.t_(), lambda: x.transpose_(0, 1)):
            with pytest.raises(NotImplementedError, match="changes the shape of what it writes to"):
                change()
        assert x.shape == (3, 1)
        assert x.squeeze_(1) is x
        assert torch.equal((x * 2).full_tensor(), torch.tensor([0.0, 2.0, 4.0]))
        assert x.stride() == (1,) == x.to_local().stride()

    run_threads(2, run)


def test_results_are_written_where_they_are_to_be() -> None:
    """Under the placements that are there; what does not fit is refused as by the operator itself."""

    def run(group: Any) -> None:
        mesh = init_device_mesh("cpu", (2,))
        x = torch.arange(6.0).reshape(3, 2)
        for way in (Replicate(), Shard(0), Shard(1)):
            y = distribute_tensor(x, mesh, [Shard(0)])
            for other in (Replicate(), Shard(0), Shard(1)):
                out = distribute_tensor(torch.zeros(3, 2), mesh, [other])
                assert torch.add(y, y.redistribute(mesh, [way]), out=out) is out
                assert torch.equal(out.full_tensor(), 2 * x)
                assert out.placements == (other,)
            values, indices = (
                distribute_tensor(torch.zeros(3, dtype=d), mesh, [Shard(0)]) for d in (None, torch.int64)
            )
            torch.max(y, 1, out=(values, indices))
            assert torch.equal(values.full_tensor(), x[:, 1])
            assert indices.full_tensor().tolist() == [1, 1, 1]
        with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
            torch.add(y, y, out=distribute_tensor(torch.zeros(3, 2, dtype=torch.int64), mesh, [Shard(0)]))
        with pytest.raises(NotImplementedError, match="distributed tensors are not resized"):
            torch.add(y, y, out=distribute_tensor(torch.zeros(0), mesh))

    run_threads(2, run)


def test_extremes_where_a_rank_has_nothing() -> None:
    def run(group: Any) -> None:
        mesh = init_device_mesh("cpu", (4,))
        x = torch.tensor([[3.0, -1.0], [2.0, 5.0], [-7.0, 0.0], [1.0, 1.0], [4.0, 9.0]])
        y = distribute_tensor(x, mesh, [Shard(0)])
        for function in (lambda t: t.amax(0), lambda t: t.amin(0), torch.max, lambda t: t.norm(float("inf"), 0)):
            assert torch.equal(function(y).full_tensor(), function(x))

    run_threads(4, run)


@pytest.mark.parametrize(("sizes", "seeds"), [((2,), range(12)), ((2, 2), range(500, 508))])
def test_random_compositions(sizes: tuple[int, ...], seeds: range) -> None:
    """Programs of several operators, whose results are moved now and then, equal one process; gradients included."""
    ranks = math.prod(sizes)
    found = run_threads(ranks, lambda group: differences(init_device_mesh("cpu", sizes), seeds))
    assert found == [[]] * ranks


def test_sums_to_be_done_go_through_what_is_linear() -> None:
    """And through nothing else; as PyTorch decides."""

    def run(group: Any) -> list[Any]:
        mesh = init_device_mesh("cpu", (2,))
        x = torch.tensor([[1.0, -2.0], [3.0, -4.0]])
        part = DTensor.from_local(x * (group.rank() + 1), mesh, [Partial()])
        functions = [
            lambda p: p + p, lambda p: p * 2, lambda p: -p, lambda p: p.t(), lambda p: p.sum(0), lambda p: p + 1,
            lambda p: p * p, lambda p: p.relu(), lambda p: p @ p, lambda p: p.max(), lambda p: p.softmax(0),
        ]  # fmt: skip
        assert all(torch.allclose(f(part).full_tensor(), f(3 * x)) for f in functions)
        return [f(part).placements[0].is_partial("sum") for f in functions]

    kept = [True, True, True, True, True, False, True, False, True, False, False]
    assert run_threads(2, run)[0] == kept
