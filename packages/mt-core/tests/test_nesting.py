"""Operators while other operators run: in threads, in kernels, in signal handlers; and what they see of the caller."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_core import state
from mt_core.devices import backend_key, third_party_keys
from mt_core.dispatch.registry import register_kernel, unregister_kernel
from mt_core.keys import CPU
from mt_core.plugins.discovery import register_backend
from mt_core.testing.null_backend import NullBackend


@contextlib.contextmanager
def kernel(name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Another CPU kernel in front of an operator's own."""
    entered = register_kernel(CPU, (name,), function)
    try:
        yield
    finally:
        unregister_kernel(CPU, name, entered)


@contextlib.contextmanager
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(count: int, run: Callable[[int], None]) -> None:
    """Run in threads that start together; what one raises is raised."""
    start, failures = threading.Barrier(count), []

    def work(number: int) -> None:
        start.wait()
        try:
            run(number)
        except Exception as error:  # noqa: BLE001 - raised by the thread that waits
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# Threads


@pytest.mark.parametrize("often", [False, True])
def test_modes_interned_in_many_threads_are_what_was_asked(often: bool) -> None:
    base = 10_000 if often else 20_000
    found: list[dict[int, int]] = [{} for _ in range(8)]

    def work(number: int) -> None:
        for flags in range(base, base + 300):
            mode = state.intern_mode(0, 0, flags << 1)
            assert state.mode_triple(mode) == (0, 0, flags << 1)
            found[number][flags] = mode

    with switching_often() if often else contextlib.nullcontext():
        in_threads(8, work)
    assert all(codes == found[0] for codes in found)
    assert len(set(found[0].values())) == 300


def test_operators_in_many_threads() -> None:
    def work(number: int) -> None:
        for i in range(50):
            x = mt_core.full((3,), float(number))
            with state.excluding(0):
                assert (x + i).mul_(2).sum().item() == 6 * (number + i)

    with switching_often():
        in_threads(6, work)


FIRST_USE = """
import sys, threading
sys.setswitchinterval(1e-6)
import mt_core
start, failures = threading.Barrier(6), []
def work(n):
    start.wait()
    try:
        x = mt_core.tensor([[4.0, 1.0], [1.0, 3.0]])
        assert mt_core.linalg_det(x).item() > 10.9 and x.softmax(0).shape == (2, 2) and x.sort()[0][0, 0] == 1
    except BaseException as error:
        failures.append(repr(error))
threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
print(failures or "fine")
"""


def test_families_are_loaded_once_in_many_threads() -> None:
    made = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, timeout=120)
    assert made.stdout.strip() == "fine", made.stdout + made.stderr


# Kernels


def test_a_kernel_may_call_operators_and_print() -> None:
    seen = []

    def erf(x: np.ndarray) -> np.ndarray:
        inner = mt_core.ones(2) / 0
        seen.append(f"{inner}, {(inner - inner).exp()}")
        return x + mt_core.zeros(x.shape).numpy()

    with kernel("erf", erf):
        assert mt_core.erf(mt_core.tensor([3.0])).tolist() == [3.0]
        assert mt_core.erf_(mt_core.tensor([3.0])).tolist() == [3.0]
    assert seen == ["tensor([inf, inf]), tensor([nan, nan])"] * 2


def test_a_kernel_that_calls_itself() -> None:
    def erf(x: np.ndarray) -> np.ndarray:
        return x if x[0] <= 0 else mt_core.erf(mt_core.tensor(x - 1)).numpy()

    with kernel("erf", erf):
        assert mt_core.erf(mt_core.tensor([5.0])).tolist() == [0.0]


def test_an_error_in_a_kernel_of_a_kernel_is_its_own() -> None:
    def erf(x: np.ndarray) -> np.ndarray:
        raise RuntimeError("cannot enter context: not really")

    with (
        kernel("erf", erf),
        kernel("erfc", lambda x: mt_core.erf(mt_core.tensor(x)).numpy()),
        pytest.raises(RuntimeError, match="not really"),
    ):
        mt_core.erfc(mt_core.ones(1))


CALLER = contextvars.ContextVar("CALLER", default="nobody")


def test_a_kernel_from_outside_sees_the_callers_context() -> None:
    seen = []

    def erf(x: np.ndarray) -> np.ndarray:
        seen.append(CALLER.get())
        CALLER.set("the kernel")
        return x

    with kernel("erf", erf):
        for name in ("first", "second"):
            contextvars.copy_context().run(lambda n=name: (CALLER.set(n), mt_core.erf(mt_core.ones(1))))
    assert seen == ["first", "second"]


def test_a_kernel_from_outside_warns_of_nothing_and_leaves_the_error_state() -> None:
    with kernel("erf", lambda x: x / 0), np.errstate(all="raise"):
        assert mt_core.erf(mt_core.ones(1)).tolist() == [float("inf")]
        assert set(np.geterr().values()) == {"raise"}


# Signals


needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no interval timers")


@needs_timer
@pytest.mark.parametrize("name", ["exp", "mm", "sum", "sub_.Tensor", "cat"])
def test_a_signal_handler_may_call_operators_while_a_kernel_runs(name: str) -> None:
    """The signal is sent by the kernel itself, so that the handler surely runs within it."""
    handled = []

    def handle(*_: Any) -> None:
        v = mt_core.ones(3)
        handled.append((v + 0).mul_(2).sum().item())

    def interrupted(*args: Any) -> Any:
        signal.raise_signal(signal.SIGALRM)
        return np.add(args[0], 0) if not isinstance(args[0], list) else args[0][0] + 0

    x = mt_core.ones(2, 2)
    calls = {
        "exp": lambda: x.exp(), "mm": lambda: x @ x, "sum": lambda: x.sum(0), "sub_.Tensor": lambda: x.sub_(x),
        "cat": lambda: mt_core.cat([x, x]),
    }  # fmt: skip
    previous = signal.signal(signal.SIGALRM, handle)
    try:
        with kernel({"sum": "sum.dim_IntList", "sub_.Tensor": "sub.Tensor"}.get(name, name), interrupted):
            with contextlib.suppress(ValueError, RuntimeError):  # the kernel's shapes are not the point
                calls[name]()
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert handled and set(handled) == {6.0}


@needs_timer
def test_a_signal_handler_may_call_operators_at_any_time() -> None:
    handled = []

    def handle(*_: Any) -> None:
        handled.append((mt_core.ones(3) + 0).exp().sum().item())

    previous = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        x, end = mt_core.ones(20, 20), time.monotonic() + 5
        while len(handled) < 40 and time.monotonic() < end:
            assert ((x @ x) / 20 - x).abs().sum().item() == 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert len(handled) >= 10 and len(set(handled)) == 1


WHILE_LOADING = """
import importlib, signal, sys
import mt_core
handled, told = [], []
def handle(*_):
    try:
        handled.append((mt_core.ones(2) + 1).exp_().sum().item())
    except RuntimeError as error:
        assert "is being loaded" in str(error), error
        told.append(error)
signal.signal(signal.SIGALRM, handle)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(ROOM):
            signal.raise_signal(signal.SIGALRM)
sys.meta_path.insert(0, Interrupt())
x = (mt_core.ones(2) + 1).exp_().sum().item()
again = (mt_core.ones(2) + 1).exp_().sum().item()
print("fine" if (told or handled) and {*handled, again} == {x} else (handled, told))
"""


@needs_timer
@pytest.mark.parametrize(
    "room",
    [
        "mt_core.declarations.elementwise",
        "mt_core.shape_rules.reduction",
        "mt_backend_cpu.kernels.",
        "mt_core.contract_kernels.",
    ],
)
def test_a_signal_while_a_family_is_loaded(room: str) -> None:
    """The handler needs the very family that is half loaded: it is told so, and nothing is spoilt."""
    code = f"ROOM = {room!r}\n{WHILE_LOADING}"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert made.stdout.strip() == "fine", made.stdout + made.stderr[-1500:]


# Device types of third parties


def test_any_number_of_third_party_types() -> None:
    names = ["".join(("kind", chr(97 + n // 10), chr(97 + n % 10))) for n in range(40)]
    for name in names:
        register_backend(NullBackend(name))
    made = [mt_core.empty(2, device=name) for name in names]
    assert [(x + x).device.type for x in made] == names
    assert len({backend_key(name) for name in names}) == 40 and len(third_party_keys()) >= 40
    for one, other in itertools.pairwise(made):
        first, second = one.device.type, other.device.type
        with pytest.raises(RuntimeError, match=f"found at least two devices, {first}.*{second}") as caught:
            one + other
        assert "PRIVATE" not in str(caught.value)
        for call in (lambda a, b: mt_core.cat([a, b]), lambda a, b: a.add_(b), mt_core.dot):
            with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
                call(one, other)
    assert (made[-1] + mt_core.tensor(1.0)).device.type == names[-1]


def test_a_missing_kernel_names_the_type() -> None:
    class Without(NullBackend):
        def load(self, family: str) -> None:
            pass

    register_backend(Without("without"))
    with pytest.raises(NotImplementedError, match=r"op aten::erf with keys .*without"):
        mt_core.empty(2, device="without").erf()
