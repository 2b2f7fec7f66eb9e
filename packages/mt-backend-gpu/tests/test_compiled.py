"""CUDA sources run on the CPU, a fiber for each thread: values, barriers, races, and what plans launches."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mt_backend_gpu.compiled import attention, elementwise, indexing, join, loss, norm, optimizers, reduction, softmax
from mt_backend_gpu.compiled.layout import collapse, divided, divisor, packed, row_major

_spec = importlib.util.spec_from_file_location("cpu_machine", Path(__file__).with_name("cpu_machine.py"))
assert _spec is not None and _spec.loader is not None
_tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_tool)
COMPILER, CpuMachine, KernelFault = _tool.COMPILER, _tool.CpuMachine, _tool.KernelFault

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++ to compile the CUDA sources with")

#: What is launched here, by family; what is not listed is compiled one by one.
INSTANCES = Path(__file__).with_name("snapshots") / "compiled_instances.json"
BF16 = np.dtype(ml_dtypes.bfloat16)
TOLERANCE = {"float32": 3e-6, "float64": 1e-14, "bfloat16": 2e-2, "float16": 3e-3}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CpuMachine]:
    made = CpuMachine(tmp_path_factory.mktemp("cuda_cpu"), together=json.loads(INSTANCES.read_text()))
    yield made
    assert not made.words.any(), "a kernel found an index outside its bounds"


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(0)


def agree(got: Any, want: Any, factor: float = 1.0) -> None:
    """Elements agree within the tolerance of the result's dtype, relative to the largest."""
    tolerance = TOLERANCE.get(got.dtype.name, 0) * factor
    got, want = got.astype(np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape
    assert np.abs(got - want).max(initial=0) <= tolerance * max(np.abs(want).max(initial=0), 1e-30)


# ---- layouts ----


def test_divisors_divide() -> None:
    rng = np.random.default_rng(1)
    for value in (*range(1, 70), 2**31 - 1, *rng.integers(1, 2**31, 300).tolist()):
        factor, shift = divisor(value)
        assert factor < 2**32
        for n in (0, 1, value - 1, value, 2**31 - 1, *rng.integers(0, 2**31, 30).tolist()):
            assert ((n * factor >> 32) + n) >> shift == n // value


def test_dimensions_collapse() -> None:
    assert collapse((4, 5, 6), row_major((4, 5, 6))) == ((120,), ((1,),))
    assert collapse((4, 1, 6), (6, 99, 1), (0, 7, 1)) == ((6, 4), ((1, 6), (1, 0)))
    assert collapse((4, 5), (1, 4), (1, 4)) == ((20,), ((1,), (1,)))
    assert collapse((), ()) == ((), ((),))


def test_layouts_refuse_what_they_cannot_hold() -> None:
    with pytest.raises(ValueError, match=r"2\*\*31"):
        packed(((1 << 16, 1 << 15), ((1, 1 << 20),)))
    with pytest.raises(ValueError, match="13 dimensions"):
        packed(((2,) * 13, (tuple(3**k for k in range(13)),)))


@pytest.mark.parametrize("sizes", [(5, 7, 3), (2,) * 15, (1000, 3), (3, 1000)])
def test_what_a_layout_does_not_hold_is_divided_and_nothing_is_left_out(sizes: tuple[int, ...]) -> None:
    strides = (
        tuple(np.cumprod((3, *sizes[:-1])).tolist()),
        tuple(np.cumprod((1, *(n + 1 for n in sizes[:-1]))).tolist()),
    )
    wanted = np.array([np.indices(sizes).reshape(len(sizes), -1).T @ np.array(own) for own in strides])
    found = []
    for (inner, steps), count, begins in divided((sizes, strides), most=64):
        assert count == math.prod(inner) <= 64 and len(inner) <= 12 and packed((inner, steps))
        at = np.indices(inner).reshape(len(inner), -1).T
        found.append([begin + at @ np.array(own, int) for begin, own in zip(begins, steps, strict=True)])
    pairs = np.concatenate([np.stack(part) for part in found], axis=1)
    assert sorted(pairs.T.tolist()) == sorted(wanted.T.tolist())


def test_arrays_that_are_divided_are_computed_whole(machine: CpuMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "divided", lambda dims: divided(dims, most=50))
    x, y = np.arange(600.0, dtype=np.float32).reshape(20, 30)[::2, ::3], np.arange(10.0, dtype=np.float32)
    assert (elementwise.pointwise(machine, "add", x, y) == x + y).all()


# ---- values ----


@pytest.mark.parametrize("dtype", [np.dtype("float32"), BF16], ids=str)
def test_elementwise(machine: CpuMachine, numbers: np.random.Generator, dtype: Any) -> None:
    """Broadcasting, strides, odd starts, numbers, casts."""
    x, y = numbers.standard_normal((33, 41)).astype(dtype), numbers.standard_normal(41).astype(dtype)
    wide, other = x.astype(np.float64), y.astype(np.float64)
    agree(elementwise.pointwise(machine, "add_scaled", x, y, numbers=[2.0]), wide + 2 * other)
    agree(elementwise.pointwise(machine, "mul", x.T, x.T), (wide * wide).T)
    agree(
        elementwise.pointwise(machine, "add", x.reshape(-1)[1:], x.reshape(-1)[:-1]),
        wide.reshape(-1)[1:] + wide.reshape(-1)[:-1],
    )
    agree(elementwise.pointwise(machine, "number_left<sub>", x, numbers=[0, 0, 0, 1.0]), 1 - wide)
    agree(elementwise.pointwise(machine, "gelu", x), wide * 0.5 * (1 + np.vectorize(math.erf)(wide / 2**0.5)))
    less = elementwise.pointwise(machine, "lt", x, y, result=np.dtype(bool))
    assert np.array_equal(less, x < y)
    agree(elementwise.pointwise(machine, "where", less, x, y, common=dtype), np.where(x < y, wide, other))
    out = machine.empty((41, 33), np.dtype("float32")).T
    agree(elementwise.copy_into(machine, out, y), np.broadcast_to(other, (33, 41)))
    agree(elementwise.fill(machine, out, 2.5), np.full((33, 41), 2.5))


def test_integers(machine: CpuMachine) -> None:
    a, b = np.arange(-20, 20), np.array([3, -3, 7, -1] * 10)
    expected = {
        "floor_divide": a // b,
        "remainder_": a % b,
        "fmod_": np.fmod(a, b),
        "trunc_divide": np.trunc(a / b).astype(int),
        "bitwise_xor": a ^ b,
        "maximum": np.maximum(a, b),
        "shift_right": a >> np.abs(b),
        "shift_left": a << np.abs(b),
    }
    for name, want in expected.items():
        given = np.abs(b) if name.startswith("shift") else b
        assert np.array_equal(elementwise.pointwise(machine, name, a, given), want), name


@pytest.mark.parametrize("columns", [5, 64, 333, 2048, 5000])
def test_softmax(machine: CpuMachine, numbers: np.random.Generator, columns: int) -> None:
    x, grad = numbers.standard_normal((2, 5, columns)).astype(np.float32)
    shifted = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    want = shifted / shifted.sum(1, keepdims=True)
    got = softmax.softmax(machine, x, 1, log=False)
    agree(got, want)
    logs = softmax.softmax(machine, x, -1, log=True)
    agree(logs, np.log(want))
    inner = np.ascontiguousarray(x.T)
    agree(softmax.softmax(machine, inner, 0, log=False), want.T)
    wide = grad.astype(np.float64)
    agree(
        softmax.softmax_backward(machine, grad, got, 1, log=False),
        want * (wide - (wide * want).sum(1, keepdims=True)),
        3,
    )
    agree(softmax.softmax_backward(machine, grad, logs, 1, log=True), wide - want * wide.sum(1, keepdims=True), 3)


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_reductions(machine: CpuMachine, numbers: np.random.Generator, dims: tuple[int, ...]) -> None:
    x = numbers.standard_normal((33, 70, 5)).astype(np.float32)
    wide = x.astype(np.float64)
    agree(reduction.reduce(machine, "sum", x, dims), wide.sum(dims), 3)
    agree(reduction.reduce(machine, "variance", x, dims, correction=1.0), wide.var(dims, ddof=1), 3)
    agree(reduction.reduce(machine, "amax", x.T, [2 - d for d in dims], keepdim=True), wide.max(dims, keepdims=True).T)


def test_extremes_find_the_first_place_and_nan(machine: CpuMachine) -> None:
    x = np.zeros((5, 300), np.float32)
    x[1, [7, 200]] = 3
    x[2, 150] = np.nan
    x[3, [20, 21]] = -1
    assert reduction.reduce(machine, "argmax", x, (1,), result=np.dtype("int64")).tolist() == [0, 7, 150, 0, 0]
    assert reduction.reduce(machine, "argmin", x, (1,), result=np.dtype("int64")).tolist() == [0, 0, 150, 20, 0]
    assert np.isnan(reduction.reduce(machine, "amax", x, (1,))[2])


def test_many_parts_are_joined(machine: CpuMachine, numbers: np.random.Generator) -> None:
    x = numbers.standard_normal(20000).astype(np.float32)
    agree(reduction.reduce(machine, "mean", x, (0,)), x.astype(np.float64).mean(), 100)
    assert ("reduction", "join_parts<mean, float, float>") in machine.launches


@pytest.mark.parametrize("columns", [64, 333, 5000])
def test_layer_norm(machine: CpuMachine, numbers: np.random.Generator, columns: int) -> None:
    x, grad = numbers.standard_normal((2, 70, columns)).astype(np.float32)
    weight, bias = numbers.standard_normal((2, columns)).astype(np.float32)
    wide = x.astype(np.float64)
    scale = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    normal = (wide - wide.mean(1, keepdims=True)) * scale
    got, mean, rstd = norm.layer_norm(machine, x, columns, weight, bias, 1e-5)
    agree(got, normal * weight + bias, 3)
    of_input, of_weight, of_bias = norm.layer_norm_backward(
        machine, grad, x, columns, mean, rstd, weight, bias, (True,) * 3
    )
    g = grad.astype(np.float64) * weight
    agree(of_input, scale * (g - g.mean(1, keepdims=True) - normal * (g * normal).mean(1, keepdims=True)), 3)
    agree(of_weight, (grad * normal).sum(0), 5)
    agree(of_bias, grad.astype(np.float64).sum(0), 5)


def test_batch_and_group_norm(machine: CpuMachine, numbers: np.random.Generator) -> None:
    x = numbers.standard_normal((3, 6, 4, 5)).astype(np.float32)
    weight = numbers.standard_normal(6).astype(np.float32)
    wide, mean, variance = x.astype(np.float64), np.zeros(6, np.float32), np.ones(6, np.float32)
    got, *_ = norm.batch_norm(machine, x, weight, None, mean, variance, True, 0.1, 1e-5)
    normal = (wide - wide.mean((0, 2, 3), keepdims=True)) / np.sqrt(wide.var((0, 2, 3), keepdims=True) + 1e-5)
    agree(got, normal * weight[:, None, None], 3)
    agree(variance, 0.9 + 0.1 * wide.var((0, 2, 3), ddof=1), 3)
    rows = wide.reshape(3, 2, -1)
    normal = ((rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)).reshape(x.shape)
    agree(norm.group_norm(machine, x, 2, weight, None, 1e-5)[0], normal * weight[:, None, None], 3)


def test_losses(machine: CpuMachine, numbers: np.random.Generator) -> None:
    logits = numbers.standard_normal((9, 1000)).astype(BF16)
    target = numbers.integers(0, 1000, 9)
    target[3] = -100
    wide, rows = logits.astype(np.float64), np.arange(9)
    logs = np.log(np.exp(wide).sum(1))
    want = np.where(target == -100, 0, 0.9 * (logs - wide[rows, target]) + 0.1 * (logs - wide.mean(1)))
    got, log_sums = loss.cross_entropy(machine, logits, target, -100, 0.1)
    agree(got, want, 3)
    agree(log_sums, logs, 3)
    values = np.ascontiguousarray((wide - logs[:, None]).astype(np.float32))
    kept = target != -100
    mean, total = loss.nll_loss(machine, values, target, None, loss.MEAN, -100)
    agree(mean, -values[rows[kept], target[kept]].astype(np.float64).mean(), 3)
    assert total == kept.sum()


def test_indexing(machine: CpuMachine, numbers: np.random.Generator) -> None:
    table, index = numbers.standard_normal((50, 24)).astype(BF16), numbers.integers(0, 50, (4, 5))
    assert np.array_equal(indexing.take_rows(machine, table, index), table[index])
    sums = machine.zeros((50, 24), np.dtype("float32"))
    want = np.zeros((50, 24))
    np.add.at(want, index, table[index].astype(np.float64))
    agree(indexing.add_rows(machine, table[index].copy(), index, sums), want)
    x = numbers.standard_normal((4, 6, 7)).astype(np.float32)
    a, b = numbers.integers(-6, 6, (2, 1)), numbers.integers(0, 7, 3)
    assert np.array_equal(indexing.index_get(machine, x, [None, a, b]), x[:, a, b])
    assert np.array_equal(indexing.index_get(machine, x, [b % 4, None, b]), x[b % 4, :, b])
    along = numbers.integers(0, 6, (4, 3, 7))
    assert np.array_equal(indexing.gather(machine, x, 1, along), np.take_along_axis(x, along, 1))
    assert np.array_equal(join.cat(machine, [x, x[:, :2].copy(), x], 1), np.concatenate([x, x[:, :2], x], 1))


def test_an_index_outside_its_bounds_is_kept_for_the_host(tmp_path: Path) -> None:
    machine = CpuMachine(tmp_path)
    got = indexing.take_rows(machine, np.ones((5, 8), np.float32), np.array([4, 5, 9]))
    assert machine.words.tolist() == [indexing.ROWS_SITE, 5]
    assert got.tolist() == [[1] * 8, [0] * 8, [0] * 8]


def test_adamw(machine: CpuMachine, numbers: np.random.Generator) -> None:
    sizes = (10, 5000, 0, 9000, *[3] * 50)
    parameters = [numbers.standard_normal(size) for size in sizes]
    before, gradients = [p.copy() for p in parameters], [p * 0.5 for p in parameters]
    firsts, seconds, steps = ([np.zeros_like(p) for p in parameters] for _ in range(3))
    steps = [np.array(1, np.float32) for _ in parameters]
    optimizers.adam(
        machine,
        parameters,
        gradients,
        firsts,
        seconds,
        None,
        steps,
        rate=0.1,
        beta1=0.9,
        beta2=0.999,
        decay=0.01,
        eps=0,
        decoupled=True,
        maximize=False,
    )
    for after, old in zip(parameters, before, strict=True):
        assert np.allclose(after, old * (1 - 0.001) - 0.1 * np.sign(old), rtol=1e-12)


def test_attention(machine: CpuMachine, numbers: np.random.Generator) -> None:
    """Two heads share a head of keys; the last tiles are not full; the width is padded."""
    query, key, value, grad = (numbers.standard_normal((1, h, 70, 24)).astype(BF16) for h in (2, 1, 1, 2))
    scale = 24**-0.5
    q, k, v, g = (x.astype(np.float64) for x in (query, key, value, grad))
    scores = np.where(np.tril(np.ones((70, 70), bool)), q @ k.transpose(0, 1, 3, 2) * scale, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    assert attention.accepts(query, key, value)
    out, log_sums = attention.attention(machine, query, key, value, None, True, scale)
    agree(out, weights @ v)
    slopes = g @ v.transpose(0, 1, 3, 2)
    slopes = weights * (slopes - (slopes * weights).sum(-1, keepdims=True))
    made = attention.attention_backward(machine, grad, query, key, value, out, log_sums, None, True, scale)
    agree(made[0], slopes @ k * scale)
    agree(made[1], (slopes.transpose(0, 1, 3, 2) @ q * scale).sum(1, keepdims=True))
    agree(made[2], (weights.transpose(0, 1, 3, 2) @ g).sum(1, keepdims=True))


# ---- barriers and races ----


FAULTY = """
__global__ void diverging(float* x) { if (threadIdx.x < 32) __syncthreads(); x[threadIdx.x] = 1; }
__global__ void racing(float* x) {
    __shared__ float room[64];
    room[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = room[63 - threadIdx.x];
}
__global__ void ordered(float* x) {
    __shared__ float room[64];
    room[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = room[63 - threadIdx.x];
}
__global__ void blocks_racing(float* x) { x[threadIdx.x] = blockIdx.x; }
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> CpuMachine:
    """A machine that follows every access."""
    return CpuMachine(tmp_path_factory.mktemp("races"), races=True)


def test_planted_faults_are_found(watched: CpuMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "source", lambda family: '#include "cuda_cpu.h"\n' + FAULTY)
    watched.prepare("faulty", ["diverging", "racing", "ordered", "blocks_racing"])
    x = watched.zeros((64,), np.dtype("float32"))

    def run(name: str, blocks: int = 1) -> None:
        watched.launcher("faulty", name, "P")(blocks, 1, 1, 64, 1, 0, watched.address(x))

    run("ordered")
    with pytest.raises(KernelFault, match="different barriers"):
        run("diverging")
    with pytest.raises(KernelFault, match="a thread writes what another reads|reads what another writes"):
        run("racing")
    with pytest.raises(KernelFault, match="two threads write"):
        run("blocks_racing", 2)


def test_no_races(watched: CpuMachine, numbers: np.random.Generator) -> None:
    """Kernels with barriers; `nox -s cuda` follows all of them."""
    x = numbers.standard_normal((3, 2100)).astype(np.float32)
    softmax.softmax(watched, x, 1, log=False)
    reduction.reduce(watched, "sum", x, (0, 1))
    reduction.reduce(watched, "variance", x, (0,))
    with pytest.raises(KernelFault, match="arguments do not fit"):
        watched.launcher("softmax", "softmax_rows<float, float, false, 4, 4>", "qP")(1, 1, 1, 32, 1, 0, 1, 0)
