"""Chains of elementwise calls reach a backend that fuses, and what it gives is what the calls give one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mt_core.devices import backend_key
from mt_core.dispatch.lookup import backend_for
from mt_core.dispatch.registry import find_overload
from mt_core.meta_array import contiguous_strides
from mt_core.plugins.fusion import FusedCall, FusedInput, Given
from mt_core.tensor import new_tensor
from mt_core.testing.proofs import registered_proof

registered_proof("boxed")


class Fuser:
    """The ``fuse`` of a backend: carries chains out by operators, and notes what it is told."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.key = backend_key(device)
        self.backend = backend_for(self.key)
        self.chains: list[tuple[FusedCall, ...]] = []
        self.inputs: list[tuple[FusedInput, ...]] = []
        self.wanted: list[tuple[int, ...]] = []
        self.takes: Callable[[tuple[FusedCall, ...]], bool] = lambda calls: True

    def __call__(self, calls: tuple[FusedCall, ...], inputs: tuple[FusedInput, ...]) -> Callable[..., Any] | None:
        if not self.takes(calls):
            return None
        self.chains.append(calls)
        self.inputs.append(inputs)

        def run(arrays: list[Any], wanted: tuple[int, ...]) -> list[Any]:
            self.wanted.append(wanted)
            given = [self.tensor(array, about) for array, about in zip(arrays, inputs, strict=True)]
            results: list[Any] = []
            for call in calls:
                found = [(results if a.is_result else given)[a.place] if isinstance(a, Given) else a
                         for a in call.arguments]  # fmt: skip
                results.append(find_overload(call.operator).call(*found))
            return [results[i]._array for i in wanted]

        return run

    def tensor(self, array: Any, about: FusedInput) -> Any:
        assert tuple(array.shape) == about.shape
        strided = about.strides != contiguous_strides(about.shape)
        return new_tensor(array, about.dtype, self.key | strided)


@pytest.fixture(params=["cpu", "boxed"])
def fuser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fuser]:
    found = Fuser(request.param)
    monkeypatch.setattr(found.backend, "fuse", found, raising=False)
    yield found


def chain(x: Any, y: Any) -> Any:
    z = (x * 2 + y).tanh()
    return z, (z.abs() + 1).sqrt() / y


def names(calls: tuple[FusedCall, ...]) -> list[str]:
    return [call.operator for call in calls]


CHAIN = ["mul.Scalar", "add.Tensor", "tanh", "abs", "add.Scalar", "sqrt", "div.Tensor"]


def test_a_chain_arrives_whole_and_gives_the_same(fuser: Fuser) -> None:
    x, y = torch.randn(3, 4, device=fuser.device), torch.rand(4, device=fuser.device) + 1
    expected = [t.tolist() for t in chain(x, y)]
    with torch.pipeline() as pipeline:
        found = chain(x, y)
    assert [t.tolist() for t in found] == expected
    (calls,) = fuser.chains
    assert [name.partition(".")[0] for name in names(calls)] == [name.partition(".")[0] for name in CHAIN]
    assert pipeline.fused == len(CHAIN)
    assert fuser.wanted == [(2, 6)]
    assert [about.shape for about in fuser.inputs[0]] == [(3, 4), (4,)]
    assert calls[1].arguments[:2] == (Given(True, 0), Given(False, 1))
    assert calls[6].shape == (3, 4)
    assert calls[6].dtype == torch.float32


def test_results_are_wanted_that_others_need(fuser: Fuser) -> None:
    x = torch.ones(2, 2, device=fuser.device)
    with torch.pipeline():
        y = x + 1
        z = (y * 2).sum()
        w = x.exp() * 3
        del y
    assert (z.item(), len(w)) == (16, 2)
    assert [names(calls)[0].partition(".")[0] for calls in fuser.chains] == ["add", "exp"]
    assert fuser.wanted == [(1,), (1,)]


def test_what_a_backend_declines_is_carried_out_call_by_call(fuser: Fuser) -> None:
    fuser.takes = lambda calls: False
    x = torch.ones(2, device=fuser.device)
    with torch.pipeline() as pipeline:
        y = (x + 1) * 2
    assert y.tolist() == [4, 4]
    assert pipeline.fused == 0


def test_what_is_recorded_written_drawn_or_read_otherwise_is_no_part_of_a_chain(fuser: Fuser) -> None:
    x = torch.ones(2, device=fuser.device)
    w = torch.ones(2, device=fuser.device, requires_grad=True)
    with torch.pipeline():
        recorded = (x * w + 1).exp()
        written = x.add_(1).mul_(2)
        conjugated = torch.ones(2, dtype=torch.complex64, device=fuser.device).conj()
        product = conjugated * conjugated
        drawn = torch.bernoulli(x * 0).add(0)
    assert recorded.requires_grad
    assert written is x
    assert product.tolist() == [1, 1]
    assert drawn.tolist() == [0, 0]
    assert fuser.chains == []


def test_states_are_not_mixed(fuser: Fuser) -> None:
    x = torch.ones(2, device=fuser.device)
    with torch.pipeline():
        a = x + 1
        b = a * 2
        with torch.inference_mode():
            c = b + 1
            d = c * 2
    assert [len(calls) for calls in fuser.chains] == [2, 2]
    assert d.is_inference()
    assert not b.is_inference()
    assert d.tolist() == [10, 10]


def test_random_chains_give_what_single_calls_give(fuser: Fuser) -> None:
    rng = np.random.default_rng(0)
    unary = ["sin", "abs", "neg", "sigmoid", "square", "floor"]
    binary = ["add", "mul", "copysign", "maximum", "lt", "atan2"]
    for _ in range(30):
        plan = [(rng.integers(2), rng.integers(6), rng.integers(100), rng.integers(100)) for _ in range(8)]

        def run(plan: list[Any] = plan) -> list[Any]:
            torch.manual_seed(0)
            known = [torch.randn(2, 3), torch.randn(3, 1).t(), torch.arange(6).reshape(2, 3), torch.randn(())]
            known = [t.to(fuser.device) for t in known]
            for is_binary, operator, first, second in plan:
                x, y = known[first % len(known)], known[second % len(known)]
                made = getattr(torch, binary[operator])(x, y) if is_binary else getattr(x * 1.0, unary[operator])()
                known.append(made)
            return known

        expected = run()
        with torch.pipeline():
            found = run()
        assert [t.tolist() for t in found] == [t.tolist() for t in expected]
        assert [(t.dtype, t.shape) for t in found] == [(t.dtype, t.shape) for t in expected]
    assert len(fuser.chains) >= 30


def test_a_chain_that_fails_names_a_call_of_it(fuser: Fuser, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaking(calls: Any, inputs: Any) -> Any:
        def run(arrays: Any, wanted: Any) -> Any:
            raise FloatingPointError("broken")

        return run

    monkeypatch.setattr(fuser.backend, "fuse", breaking)
    with pytest.raises(FloatingPointError, match="broken\n.*aten::mul"), torch.pipeline():
        y = (torch.ones(2, device=fuser.device) + 1) * 2
    with pytest.raises(RuntimeError, match="has no value"):
        y.tolist()
