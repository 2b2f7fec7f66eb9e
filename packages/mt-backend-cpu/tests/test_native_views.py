"""Views and indices that the native library makes in one step are those that the core makes."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import mt_core
from mt_backend_cpu.native import library
from mt_core.dispatch.registry import find_overload
from mt_core.dispatch.views import basic_index
from mt_core.tensor_index import applied

pytestmark = pytest.mark.skipif(library is None, reason="kernels run on NumPy alone, as MINDTORCH_NATIVE=0 asks")


def tensors() -> list[Any]:
    base = mt_core.arange(120).reshape(2, 3, 4, 5)
    return [
        base, base.transpose(1, 3), base[:, :, ::2], base[1:, 1:2].expand(1, 6, 4, 5), base[:, :0], base[0, 0],
        base.reshape(-1), base.reshape(120, 1), base.to(mt_core.bfloat16).permute(3, 0, 2, 1), mt_core.tensor(3.0),
        base.reshape(1, 2, 1, 60, 1), base.as_strided((3, 2), (0, 7), 4), mt_core.empty(0),
    ]  # fmt: skip


def told(view: Any, base: Any) -> Any:
    """All that two views must agree in."""
    if isinstance(view, tuple):
        return [told(one, base) for one in view]
    return (
        tuple(view.shape), view.stride(), view.storage_offset(), view._keys, view._dtype, view._base is base._base
        or view._base is base, view._cell is base._cell, view.float().flatten().tolist(),
    )  # fmt: skip


def outcome(call: Any, self: Any, *args: Any) -> Any:
    try:
        return told(call(self, *args), self)
    except Exception as error:  # noqa: BLE001 - whatever it is, both must raise it
        return type(error), str(error)


def rule_behind(executor: Any) -> Any:
    """What decides where no function of the library does."""
    while hasattr(executor, "otherwise"):
        executor = executor.otherwise
    return executor


DIMS = range(-5, 6)
BOUNDS = (0, 1, 2, -1, -3, 7, -9, 2**63 - 1, -(2**63))
CALLS: dict[str, list[tuple[Any, ...]]] = {
    "unsqueeze": [(d,) for d in DIMS],
    "select.int": list(itertools.product(DIMS, (0, 1, -1, 4, -7))),
    "slice.Tensor": [
        (d, a, b, step)
        for d, a, b, step in itertools.product((0, 1, -1, 6), (None, *BOUNDS), (None, *BOUNDS), (1, 2, 9, 2**40, 0))
    ],
    "expand": [
        (sizes, False)
        for sizes in [
            (2, 3, 4, 5), (1, 2, 3, 4, 5), (7, 1, 2, -1, 4, 5), (-1, -1, -1, -1), (3, 4, 5), (6, 120, 4), (1, 120),
            (1, 1), (), (2, 0), (-1,), (-1, 3), (1, 2, 3, 60, 2), (2**40, 2**40, 2, 3, 4, 5), (-2, 120), [120, 7],
        ]
    ],
    "permute": [(list(p),) for p in itertools.permutations(range(4))] + [([0],), ([],), ([0, 0],), ([-1, 0],), ([4],)],
    "transpose.int": list(itertools.product(DIMS, DIMS)),
    "t": [()],
    "squeeze": [()],
    "squeeze.dim": [(d,) for d in DIMS],
    "diagonal": list(itertools.product((0, 1, -1, 3, -4, 50), (0, 1, -1), (0, 1, 2, -2))),
    "unfold": list(itertools.product((0, 1, -1, 5), (-1, 0, 1, 2, 4, 200), (0, 1, 3, 99))),
    "unbind.int": [(d,) for d in DIMS],
    "split.Tensor": list(itertools.product((-1, 0, 1, 2, 50), (0, 1, -1, 6))),
    "split_with_sizes": [([1, 1], 0), ([2, 1], 1), ((1, 2, 1), -2), ([0, 2], 0), ([3], 0), ([-1, 3], 0), ([5, 55], -2)],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_views_are_those_of_the_rule(name: str) -> None:
    overload, made = find_overload(name), 0
    for self, args in itertools.product(tensors(), random.Random(name).sample(CALLS[name], min(60, len(CALLS[name])))):
        executor = overload.cache[self._keys]
        expected = outcome(rule_behind(executor), self, *args)
        assert outcome(executor, self, *args) == expected, (self.shape, self.stride(), args)
        made += self._array.size > 0 and overload.cache[self._keys].otherwise is not None and len(expected) != 2
    assert made > 5 or name in ("t", "squeeze", "split_with_sizes", "expand", "permute", "unfold")


def items(generator: random.Random) -> Any:
    kind = generator.randrange(9)
    if kind < 3:
        return generator.choice((0, 1, -1, 2, -2, 5))
    if kind < 7:
        bounds = (None, None, 0, 1, -1, 2, -7, 60, 2**70)
        return slice(generator.choice(bounds), generator.choice(bounds), generator.choice((None, None, 1, 2, 3, 200)))
    return generator.choice((None, Ellipsis))


def test_basic_indices_are_those_of_operators_one_after_another() -> None:
    generator, made = random.Random(7), 0
    cases = tensors()
    for _ in range(1500):
        self = generator.choice(cases)
        key = tuple(items(generator) for _ in range(generator.randrange(5)))
        key = key[0] if len(key) == 1 and generator.randrange(2) else key

        def step_by_step(self: Any, key: Any) -> Any:
            view, indices = applied(self, key)
            assert not indices
            return mt_core.alias(view) if view is self else view

        expected = outcome(step_by_step, self, key)
        short = basic_index(self._keys)(self, key)
        if short is not None:
            made += 1
            assert told(short, self) == expected, (self.shape, self.stride(), key)
        assert outcome(lambda self, key: self[key], self, key) == expected, (self.shape, self.stride(), key)
    assert made > 500


@pytest.mark.parametrize(
    "key", [True, (0, True), [0, 1], "a", (1.0,), (mt_core.tensor(1),), (slice(None, None, -1),), (slice("a"),)]
)
def test_other_indices_are_left_to_the_core(key: Any) -> None:
    x = mt_core.arange(6).reshape(2, 3)
    assert basic_index(x._keys)(x, key) is None


def test_tensors_that_are_watched_are_indexed_operator_by_operator() -> None:
    x = mt_core.ones(2, 3).requires_grad_()
    assert x[0, 1:].grad_fn.name() == "SliceBackward0"
    with mt_core.no_grad():
        assert x[0, 1:].requires_grad and x[0, 1:].grad_fn is None
        y = mt_core.ones(2, 3)
        assert told(y[0, 1:], y) == told(y[0][1:], y)
    with mt_core.inference_mode():
        y = mt_core.ones(2, 3)
        assert y[0, 1:].is_inference()


def test_writes_through_indices_are_seen_and_counted() -> None:
    x = mt_core.zeros(2, 3)
    x[0, 1:] = 2.0
    x[..., 0] = mt_core.tensor([5.0, 6.0])
    x[1, None, ::2][0, 1] = 7.0
    assert x.tolist() == [[5.0, 2.0, 2.0], [6.0, 0.0, 7.0]]
    assert x._version == 3
