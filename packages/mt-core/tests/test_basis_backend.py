"""Ten kernels carry out what is written in them: results, strides and refusals are the CPU's.

The exam is for the class: every operator that has an explicit composite besides a rule, on a backend without kernels
for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_core.api import _functions as ops
from mt_core.autograd_state import no_grad
from mt_core.devices import backend_key
from mt_core.dispatch.lookup import kernels_of
from mt_core.dispatch.registry import COMPOSITES, KERNELS, Overload, find_overload, forget_all
from mt_core.keys import CPU
from mt_core.plugins.coverage import coverage
from mt_core.testing import BackendExam
from mt_core.testing.arguments import REFUSALS, Arguments, samples_on
from mt_core.testing.basis_backend import BASIS, OfTheBasis, written_operators
from mt_core.testing.proofs import registered_proof
from mt_core.testing.sample import declared_operators

registered_proof("basis")
#: Of the checks that say less, one operator in so many is examined by default.
SHARE = 3


class TestBasisBackend(OfTheBasis, BackendExam):
    device_type = "basis"

    def operators(self, check: str) -> list[str]:
        found = super().operators(check)
        return found if check in ("test_agrees_with_reference", "test_agrees_with_meta") else found[::SHARE]


def test_the_backend_has_the_ten_kernels_and_no_others() -> None:
    for overload in declared_operators():
        overload.cache[backend_key("basis")] if overload.name in BASIS else None
    assert set(KERNELS[backend_key("basis")]) == BASIS


def test_what_is_written_in_others_is_shown_as_composite() -> None:
    table = coverage("basis")
    states = {name: found.state for name, found in table.items()}
    # Operators with a namespace are those that other tests have defined, for every device.
    assert {name for name, state in states.items() if state == "native" and "::" not in name} == BASIS
    assert {states[o.name] for o in written_operators() if o.name not in BASIS} == {"composite"}
    for name in ("log", "_softmax", "native_layer_norm", "gelu", "nll_loss_forward", "_linear_of_rows"):
        assert table[name] == ("composite", "mt-core") and states.get(f"{name}.out", "derived") == "derived"


#: What is written once for every backend, the CPU included: lines mapped by index and weights, channels dealt out.
SHARED = re.compile(
    r"_?upsample_.*|(reflection|replication)_pad.*|_adaptive_avg_pool.*|max_unpool.*|pixel_(un)?shuffle"
    r"|(native_)?channel_shuffle|affine_grid_generator|_lstm_steps|_recurrent_steps(_backward)?"
)


def test_the_cpu_needs_none_of_them() -> None:
    """Its kernels take every call: a composite would be slower, and stand before what derives from another form."""
    for overload in written_operators():
        has_kernel = any(kernel.accepts.everything() for kernel in kernels_of(overload, CPU))
        assert has_kernel is not bool(SHARED.fullmatch(overload.name)), overload.name


@pytest.fixture
def composites() -> Iterator[Callable[[str, Callable[..., Any]], None]]:
    """Puts another function in the place of a composite, for one test."""
    kept = {}

    def replace(name: str, function: Callable[..., Any]) -> None:
        assert name in {o.name for o in written_operators()}
        kept.setdefault(name, COMPOSITES[name].function)
        COMPOSITES[name].function = function
        forget_all()

    yield replace
    for name, function in kept.items():
        COMPOSITES[name].function = function
    forget_all()


def test_no_composite_comes_back_to_itself(composites: Any) -> None:
    """Else a backend with some of the kernels, and not others, would go round in circles."""
    inside: list[str] = []
    calls: dict[str, set[str]] = {}

    def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            for outer in inside:
                calls.setdefault(outer, set()).add(name)
            inside.append(name)
            try:
                return function(*args)
            finally:
                inside.pop()

        return run

    for overload in written_operators():
        composites(overload.name, noting(overload.name, COMPOSITES[overload.name].function))
    for overload in written_operators():
        run_all(overload)
    assert len(calls) > 50 and "log" in calls["_log_softmax"]
    assert {name: called for name, called in calls.items() if name in called} == {}


def run_all(overload: Overload) -> None:
    with no_grad():
        for sample in samples_on(overload, "basis"):
            bound = Arguments(overload, sample).bound
            try:
                overload.call(*bound)
            except REFUSALS:
                continue


@pytest.mark.parametrize("name", ["mean.dim", "sub.Tensor", "native_layer_norm", "arange"])
def test_the_meta_device_asks_the_rule_alone(composites: Any, name: str) -> None:
    def refused(*args: Any) -> Any:
        raise AssertionError("the composite was entered")

    composites(name, refused)
    for sample in samples_on(find_overload(name), "meta"):
        with mt_core.device("meta"):
            try:
                find_overload(name).call(*Arguments(find_overload(name), sample).bound)
            except REFUSALS:
                continue


FAULTS: dict[str, Callable[..., Any]] = {
    "sub.Tensor": lambda self, other, alpha: ops.add(self, other, alpha=-1),
    "ge.Tensor": lambda self, other: ops.gt(self, other),
    "log": lambda self: self,
    "_softmax": lambda self, dim, half: ops._softmax(self, 0, half),
    "gelu_backward": lambda grad, self, approximate: ops.gelu_backward(grad, self, approximate="none"),
    "native_layer_norm": lambda input, shape, weight, bias, eps: (input, input, input),
    "nll_loss_forward": lambda self, target, weight, reduction, ignore: ops.nll_loss_forward(
        self, target, weight, reduction, -1
    ),
    "mean.dim": lambda self, dim, keepdim, dtype: ops.sum(self, dim, keepdim),
    "index_select": lambda self, dim, index: ops.cat([self] * index.numel(), dim).narrow(dim, 0, index.numel()),
    "_linear_of_rows": lambda bias, input, weight: ops.matmul(input, weight.t()),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_wrong_composite_fails_the_exam(composites: Any, name: str) -> None:
    right, wrong = COMPOSITES[name].function, FAULTS[name]
    depth = 0

    def once(*args: Any) -> Any:
        """The fault, whose parts are right."""
        nonlocal depth
        depth += 1
        try:
            return wrong(*args) if depth == 1 else right(*args)
        finally:
            depth -= 1

    composites(name, once)
    with pytest.raises((AssertionError, RuntimeError)):
        TestBasisBackend().test_agrees_with_reference(name)


@pytest.mark.parametrize("of", [lambda t: t, lambda t: t.view(t.shape)])
def test_a_result_is_no_argument(composites: Any, of: Callable[[Any], Any]) -> None:
    """A composite may hand back what it was given: the result has memory of its own."""
    composites("cat", lambda tensors, dim: of(tensors[0]))
    composites("mean", lambda self, dtype: of(self))
    for name in ("cat", "mean"):
        x = mt_core.ones(3 if name == "cat" else ()).to("basis")
        made = ops.cat([x], 0) if name == "cat" else ops.mean(x)
        made.zero_()
        assert x.sum().item() == x.numel()


def test_halves_are_rounded_once() -> None:
    """Composites get them in float32."""
    x = mt_core.linspace(-4, 4, 101).to(mt_core.bfloat16)
    for name in ("gelu", "silu", "tanh", "log1p"):
        call = getattr(ops, name)
        exact = call(x.double().abs()).to(mt_core.bfloat16)
        made = call(x.to("basis").abs()).cpu()
        apart = (made.double() - exact.double()).abs() / exact.double().abs().clamp_min(1e-30)
        assert apart.max().item() < 2.0**-7 and (made == exact).double().mean().item() > 0.95


# Functions that are approximated


def spread(d: type, seed: int) -> np.ndarray:
    """Positive numbers of all exponents, subnormal ones and many near 1 among them."""
    draw = np.random.default_rng(seed)
    bits = {np.float32: np.uint32, np.float64: np.uint64}[d]
    anywhere = draw.integers(1, int(np.array(np.inf, d).view(bits)), 20000, dtype=bits).view(d)
    near_one = (1 + (draw.random(20000) - 0.5) * 10.0 ** draw.uniform(-17, 0, 20000)).astype(d)
    subnormal = draw.integers(1, 1 << 20, 500, dtype=bits).view(d)
    return np.concatenate([anywhere, near_one, subnormal, np.array([0.5, 1, 2, np.finfo(d).max], d)])


def ulps(got: np.ndarray, exact: np.ndarray) -> float:
    """The largest error in units of the last place of what is exact."""
    unit = np.maximum(np.spacing(np.abs(exact).astype(got.dtype)), np.finfo(got.dtype).smallest_subnormal)
    return float(np.max(np.abs(got.astype(np.longdouble) - exact) / unit))


#: name -> the largest error in float32 and float64.
BOUNDS = {"log": (0.9, 1.3), "log2": (2.5, 2.5), "log10": (2.5, 3), "sqrt": (0.8, 0.8)}


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="NumPy has no wider floats here")
@pytest.mark.parametrize("name", sorted(BOUNDS))
@pytest.mark.parametrize("d", [np.float32, np.float64])
def test_functions_of_positive_numbers_err_by_little(name: str, d: type) -> None:
    y = spread(d, 11)
    got = getattr(mt_core, name)(mt_core.tensor(y).to("basis")).cpu().numpy()
    assert ulps(got, getattr(np, name)(y.astype(np.longdouble))) <= BOUNDS[name][d is np.float64]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="NumPy has no wider floats here")
@pytest.mark.parametrize("name", ["log1p", "expm1", "tanh"])
@pytest.mark.parametrize("d", [np.float32, np.float64])
def test_functions_near_zero_err_by_little(name: str, d: type) -> None:
    draw = np.random.default_rng(12)
    x = ((draw.random(30000) - 0.5) * 2 * 10.0 ** draw.uniform(-30, 1.5, 30000)).astype(d)
    x = x[x > -1] if name == "log1p" else x
    got = getattr(mt_core, name)(mt_core.tensor(x).to("basis")).cpu().numpy()
    assert ulps(got, getattr(np, name)(x.astype(np.longdouble))) <= 5


@pytest.mark.parametrize("name", ["log", "log2", "log10", "log1p", "expm1", "tanh", "sqrt", "sigmoid", "abs", "sign"])
@pytest.mark.parametrize("d", [mt_core.float32, mt_core.float64, mt_core.float16])
def test_special_numbers(name: str, d: Any) -> None:
    x = mt_core.tensor([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0], dtype=d)
    got, wanted = (getattr(mt_core, name)(t).cpu().to(mt_core.float64).numpy() for t in (x.to("basis"), x))
    np.testing.assert_allclose(got, wanted, rtol=4 * mt_core.finfo(d).eps)
    there = ~np.isnan(got)
    np.testing.assert_array_equal(np.signbit(got[there]), np.signbit(wanted[there]))


NUMBERS = {
    mt_core.float32: [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45, 1.0000001],
    mt_core.int8: [-128, -127, -1, 0, 1, 127], mt_core.uint8: [0, 1, 127, 128, 255], mt_core.bool: [False, True],
    mt_core.int64: [-(2**63), -(2**62), -1, 0, 2**53, 2**53 + 1, 2**63 - 1],
}  # fmt: skip


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum"])
@pytest.mark.parametrize("d", list(NUMBERS), ids=str)
def test_every_number_beside_every_other(name: str, d: Any) -> None:
    """Differences overflow, wrap around, or are not numbers; comparisons are right all the same."""
    column = mt_core.tensor(NUMBERS[d], dtype=d)
    row = column.unsqueeze(1)
    got = getattr(mt_core, name)(row.to("basis"), column.to("basis")).cpu()
    np.testing.assert_array_equal(got.numpy(), getattr(mt_core, name)(row, column).numpy())
    if name in ("maximum", "minimum"):
        return
    for number in (0, 1, float("inf"), float("nan"), -0.5):
        got = getattr(column.to("basis"), name)(number)
        assert got.tolist() == getattr(column, name)(number).tolist(), number


def test_conjugates_of_a_part_of_memory_read_that_part() -> None:
    """The operator that stands for the key is made of views here, which begin where the memory does."""
    whole = mt_core.arange(6.0).view(3, 2) * (1 + 2j)
    for part in (whole[1:], whole[:, 1], whole[1:, 1:]):
        on_basis = whole.to("basis").as_strided(part.shape, part.stride(), part.storage_offset())
        assert mt_core.equal((on_basis.conj() * 1).cpu(), part.conj() * 1)
        assert mt_core.equal(on_basis.conj().imag.clone().cpu(), part.conj().imag.clone())
