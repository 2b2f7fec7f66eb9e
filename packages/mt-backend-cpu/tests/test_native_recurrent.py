"""Recurrent networks by the native library: all steps at once are what they are one by one, and so are gradients."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core as mt
from mt_autograd import grad
from mt_core.dispatch.lookup import composite_of
from mt_core.dispatch.registry import find_overload

if importlib.util.find_spec("mt_backend_cpu._native") is None:
    pytest.skip("the native library was not built", allow_module_level=True)

native = importlib.import_module("mt_backend_cpu.native")
if native.library is None:
    pytest.skip("the native library is not used", allow_module_level=True)

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
#: Hidden size, sizes of the steps: of a vector and less, of panels and less, of several groups of samples.
SIZES = [(1, [1, 1]), (16, [5, 5, 3, 3, 1]), (20, [9, 9, 9]), (70, [13, 7, 7, 2]), (200, [3, 2])]


@pytest.fixture(autouse=True)
def library() -> Iterator[Any]:
    module = native.library
    level, threads = module.level(), module.num_threads()
    yield module
    module.use_level(level)
    module.set_num_threads(threads)


class Case:
    """Arguments of all steps, drawn."""

    def __init__(self, kind: str, hidden: int, sizes: list[int], padded: bool, bias: bool, backwards: bool) -> None:
        self.draw = np.random.default_rng(3)
        width, batch = GATES[kind] * hidden, sizes[0]
        rows = (len(sizes), batch) if padded else (sum(sizes),)
        self.kind, self.hidden = kind, hidden
        self.sizes: list[int] = [] if padded else sizes
        self.backwards = backwards
        self.inputs, self.state, self.cell = self.of(*rows, width), self.of(batch, hidden), self.of(batch, hidden)
        self.weight = self.of(width, hidden, by=0.7 / hidden**0.5)
        self.bias = self.of(width) if bias else None

    def of(self, *shape: int, by: float = 1.0) -> Any:
        return mt.tensor((self.draw.standard_normal(shape) * by).astype(np.float32))

    def forward(self, run: Any) -> Any:
        rest = self.weight, self.bias, self.backwards, True
        if self.kind == "lstm":
            return run("_lstm_steps")(self.inputs, self.sizes, self.state, self.cell, *rest)
        return run("_recurrent_steps")(self.kind, self.inputs, self.sizes, self.state, *rest)

    def backward(self, run: Any, made: Any) -> Any:
        lstm = self.kind == "lstm"
        draw, self.draw = self.draw, np.random.default_rng(4)
        arriving = self.of(*made[0].shape), self.of(*made[1].shape), self.of(*made[1].shape) if lstm else None
        self.draw = draw
        cell, cells = (self.cell, made[4]) if lstm else (None, None)
        states, activated = (made[0], made[3]) if lstm else (made[3], made[2])
        return run("_recurrent_steps_backward")(
            self.kind, *arriving, self.sizes, self.state, cell, self.weight, states, activated, cells, self.backwards
        )

    def widened(self) -> Case:
        for name in ("inputs", "state", "cell", "weight", "bias"):
            value = getattr(self, name)
            setattr(self, name, None if value is None else value.double())
        narrow = self.of
        self.of = lambda *shape, by=1.0: narrow(*shape, by=by).double()  # type: ignore[method-assign]
        return self


def called(name: str) -> Any:
    return find_overload(name).call


def composed(name: str) -> Any:
    return composite_of(find_overload(name)).function


def cases() -> Iterator[Any]:
    for number, (hidden, sizes) in enumerate(SIZES):
        for kind in GATES:
            flags = [bool(number + len(kind) >> bit & 1) for bit in range(2)]
            yield kind, hidden, sizes, flags[0], flags[1], not flags[0]
            yield kind, hidden, sizes, not flags[0], flags[1], flags[1]


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_all_steps_are_the_steps_in_double_precision(library: Any, case: Any) -> None:
    exact = Case(*case).widened()
    expected = exact.forward(composed)
    of_expected = exact.backward(composed, expected)
    for level in library.levels():
        library.use_level(level)
        given = Case(*case)
        made = given.forward(called)
        for found, wanted in zip((*made, *given.backward(called, made)), (*expected, *of_expected), strict=True):
            assert found.dtype is mt.float32
            assert found.shape == wanted.shape
            assert mt.allclose(
                found.double(),
                wanted,
                rtol=2e-4,
                atol=1e-4 * max(1.0, float(wanted.abs().max() if wanted.numel() else 0)),
            )


@pytest.mark.parametrize("kind", GATES)
def test_a_sample_does_not_depend_on_others_or_on_threads(library: Any, kind: str) -> None:
    case = Case(kind, 70, [11] * 9, True, True, False)
    library.set_num_threads(1)
    alone = case.forward(called)
    of_alone = case.backward(called, alone)
    library.set_num_threads(2)
    for one, other in zip((*alone, *of_alone[:2]), (*(made := case.forward(called)), *case.backward(called, made)[:2])):
        assert mt.equal(one, other)
    case.inputs, case.state, case.cell = (
        case.inputs[:, 4:9].contiguous(),
        case.state[4:9].contiguous(),
        case.cell[4:9].contiguous(),
    )
    assert mt.equal(case.forward(called)[0], alone[0][:, 4:9])


def network(kind: str, size: int, hidden: int, directions: int, d: Any) -> tuple[list[Any], Any]:
    """Parameters of two layers, and a function of the input (N, T, size) and of them: all results."""
    draw = np.random.default_rng(5)
    parameters = []
    for width in [size] * directions + [directions * hidden] * directions:
        rows = GATES[kind] * hidden
        for shape in ((rows, width), (rows, hidden), (rows,), (rows,)):
            parameters.append(mt.tensor(draw.standard_normal(shape) * 0.4, dtype=d).requires_grad_())

    def run(x: Any, *given: Any) -> Any:
        state = mt.zeros(2 * directions, x.shape[0], hidden, dtype=d)
        states = [state, state] if kind == "lstm" else state
        return getattr(mt, kind)(x, states, list(given), True, 2, 0.0, False, directions == 2, True)

    return parameters, run


@pytest.mark.parametrize("kind", GATES)
def test_networks_have_the_gradients_of_their_steps(kind: str) -> None:
    x, found = np.random.default_rng(6).standard_normal((3, 4, 5)), []
    for d in (mt.float32, mt.float64):  # the steps of float64 are taken one by one
        parameters, run = network(kind, 5, 6, 2, d)
        sources = [mt.tensor(x, dtype=d).requires_grad_(), *parameters]
        outputs, *last = run(*sources)
        total = (outputs * outputs).sum() + sum(state.sum() for state in last)
        first = grad(total, sources, create_graph=True)
        found.append((first, grad(sum((g * g).sum() for g in first), sources)))
    for ones, others in zip(*found, strict=True):
        for one, other in zip(ones, others, strict=True):
            assert mt.allclose(one.double(), other, rtol=1e-3, atol=1e-4)


def test_outputs_may_be_written_to_where_pytorchs_may() -> None:
    x = mt.ones(3, 2, 4)
    parameters, run = network("gru", 4, 5, 1, mt.float32)
    run(x, *parameters)[0].mul_(2).sum().backward()
    parameters, run = network("lstm", 4, 5, 1, mt.float32)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        run(x, *parameters)[0].mul_(2).sum().backward()


def test_arguments_that_do_not_fit_are_refused(library: Any) -> None:
    rows = np.zeros((4, 8), np.float32)
    states, weight = np.zeros((2, 2), np.float32), np.zeros((8, 2), np.float32)

    def run(inputs: Any = rows, sizes: Any = (2, 2), state: Any = states, cell: Any = states, w: Any = weight) -> Any:
        return library.recurrent_forward(0, inputs, np.array(sizes, np.int64), state, cell, w, None, False, True)

    assert run()[0].shape == (4, 2)
    for wrong in (
        {"sizes": (2, 1)}, {"sizes": (1, 3)}, {"sizes": ()}, {"sizes": (2, 2, 0)}, {"sizes": (2, 1 << 62)},
        {"cell": states[:1]}, {"w": weight[:4]}, {"inputs": rows[:, :4].copy()}, {"state": states[:0]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="recurrent_forward"):
            run(**wrong)
    for wrong in ({"cell": None}, {"inputs": rows.astype(np.float64)}, {"w": weight[::-1]}):
        with pytest.raises(TypeError, match="recurrent_forward"):
            run(**wrong)
    with pytest.raises(ValueError, match="no kind of network"):
        library.recurrent_forward(4, rows, np.array((2, 2)), states, states, weight, None, False, True)
