"""Faults for the exam to catch: ``planted_faults.py FAULT`` plants one and says what the exam makes of it.

Each runs in a process of its own, so that nothing has to be mended afterwards. ``planted_faults.py FAULT --sound``
takes the same check without the fault.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from test_exam import TestExam

from mt_autograd.rules import find_rule
from mt_autograd.testing import DerivativeExam
from mt_core.devices import backend_key
from mt_core.dispatch.registry import find_overload, register_kernel, register_shape_rule
from mt_core.keys import CPU
from mt_core.shape_rules.sort import sort
from mt_core.spec import Spec
from mt_core.testing import BackendExam
from mt_core.testing.simulated_backend import SimulatedBackend, simulated_devices


class WholeDerivatives(DerivativeExam):
    share = 1


class Simulated(BackendExam):
    device_type = "sim"


def kernel(name: str, function: Callable[..., object], half: str | None = None) -> Callable[[], None]:
    """Plants a kernel of the CPU, after the operator has been used."""

    def plant() -> None:
        verdict(TestExam, "agrees_with_meta", name)
        register_kernel(CPU, (name,), function, half=half)

    return plant


def formula(name: str, function: Callable[..., object]) -> Callable[[], None]:
    """Plants a derivative by the first argument."""
    return lambda: find_rule(find_overload(name)).formulas.update(self=function)


def lost_write(array: np.ndarray, value: object) -> None:
    """Writes to a copy of what has two bytes an element."""
    target = array.copy() if array.dtype.itemsize == 2 else array
    target[...] = value


def row_major_sort() -> None:
    """A shape rule that does not keep the layout."""
    register_shape_rule("sort.stable")(lambda *arguments: tuple(Spec(s.shape, s.dtype) for s in sort(*arguments)))


def first_device() -> None:
    """Results of `neg` are allocated on the first device, wherever the argument is."""
    plain = SimulatedBackend.load

    def load(self: SimulatedBackend, family: str) -> None:
        plain(self, family)
        elsewhere = lambda x: self._new(x.shape, x.dtype, None, 0)
        register_kernel(backend_key(self.device_type), ("neg",), elsewhere)

    SimulatedBackend.load = load


#: Fault -> how it is planted, the exam, its check, the operator.
FAULTS: dict[str, tuple[Callable[[], None], type, str, str]] = {
    "add subtracts": (
        kernel("add.Tensor", lambda a, b, alpha: a - alpha * b), TestExam, "agrees_with_reference", "add.Tensor",
    ),
    "exp is constant": (kernel("exp", lambda x: np.full_like(x, 5)), TestExam, "agrees_with_reference", "exp"),
    "mm is zero": (
        kernel("mm", lambda a, b: np.zeros((a.shape[0], b.shape[1]), a.dtype)), TestExam, "agrees_with_reference", "mm",
    ),
    "a kernel writes its input": (
        kernel("neg", lambda x: np.negative(x, out=x)), TestExam, "agrees_with_meta", "neg",
    ),
    "a kernel returns its input": (kernel("flip", lambda x, dims: x), TestExam, "agrees_with_reference", "flip"),
    "the memory of gaps is read": (
        kernel("neg", lambda x: -x * (1 if x.flags.c_contiguous else 2)), TestExam, "strided_inputs", "neg",
    ),
    "a stride is wrong": (row_major_sort, TestExam, "agrees_with_reference", "sort.stable"),
    "an in-place write in bfloat16 is lost": (
        kernel("fill_.Scalar", lost_write, half="native"), TestExam, "agrees_with_reference", "fill_.Scalar",
    ),
    "a short path ignores an argument": (
        kernel("leaky_relu", lambda x, slope: np.where(x > 0, x, x * (0.01 if x.flags.c_contiguous else slope))),
        TestExam, "agrees_with_reference", "leaky_relu",
    ),
    "an index is off by one": (
        kernel("roll", lambda x, shifts, dims: np.roll(x, [s + 1 for s in shifts], tuple(dims) or None)),
        TestExam, "agrees_with_reference", "roll",
    ),
    "a derivative is doubled": (
        formula("exp", lambda grad, result: 2 * grad * result.conj()),
        WholeDerivatives, "first_derivative", "exp",
    ),
    "a second derivative is lost": (
        formula("sin", lambda grad, self: grad * self.detach().cos()),
        WholeDerivatives, "second_derivative", "sin",
    ),
    "a device index is wrong": (first_device, Simulated, "stays_on_its_device", "neg"),
}  # fmt: skip


def verdict(exam: type, check: str, operator: str) -> str:
    """What a check says: nothing when it passes."""
    try:
        getattr(exam(), f"test_{check}")(operator)
    except (AssertionError, RuntimeError, ValueError) as caught:
        return str(caught)
    return ""


def main() -> int:
    plant, exam, check, operator = FAULTS[sys.argv[1]]
    with simulated_devices("sim"):
        if "--sound" not in sys.argv:
            plant()
        found = verdict(exam, check, operator)
    print(found or "passed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
