"""Anomaly mode: where errors of backward come from."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import mt_autograd
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise ValueError("no gradient today")


def test_enabling_warns():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), torch.autograd.detect_anomaly():
        assert torch.ones(1, requires_grad=True).mul(2).grad_fn.metadata["traceback_"]


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_error_names_its_forward_call():
    x = torch.ones(1, requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = Failing.apply(x)  # this line is named
        with (
            pytest.raises(ValueError, match="no gradient today"),
            pytest.warns(UserWarning, match="Error detected in FailingBackward. Traceback of forward call") as caught,
        ):
            y.backward()
    assert "y = Failing.apply(x)  # this line is named" in str(caught[0].message)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_forward_outside_of_the_mode():
    y = Failing.apply(torch.ones(1, requires_grad=True))
    with (
        torch.autograd.detect_anomaly(),
        pytest.raises(ValueError),
        pytest.warns(UserWarning, match="Error detected in FailingBackward. No forward pass information available"),
    ):
        y.backward()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nan_is_an_error_unless_told_otherwise():
    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=False):
        (x / x).sum().backward()
    with (
        torch.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match=r"Function 'DivBackward0' returned nan values in its 1th output\."),
    ):
        (x / x).sum().backward()


def test_error_of_a_second_backward_tells_of_the_first():
    x = torch.ones(1, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        (g,) = torch.autograd.grad(x.exp().sum(), x, create_graph=True)
        g.register_hook(lambda h: 1 / 0)
        node = g.grad_fn
    assert "traceback_" in node.metadata
    assert node.metadata["parent_"].name() == "ExpBackward0"
    with pytest.raises(ZeroDivisionError):
        g.sum().backward()


def test_mode_is_left():
    from mt_autograd.anomaly_mode import is_anomaly_enabled

    with torch.autograd.set_detect_anomaly(True):
        assert is_anomaly_enabled()
    assert not is_anomaly_enabled()
    assert (torch.ones(1, requires_grad=True) * 2).grad_fn._hooks is None
    torch.autograd.set_detect_anomaly(True)
    torch.autograd.set_detect_anomaly(False)
    assert not is_anomaly_enabled()


def test_hint_of_a_version_error_changes():
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        a = torch.ones(2, requires_grad=True)
        b = a * 1
        c = b * b
        b.add_(1)
        with pytest.raises(RuntimeError, match="Good luck!"), pytest.warns(UserWarning, match="Error detected in MulB"):
            c.sum().backward()


def has_traceback() -> bool:
    return "traceback_" in (torch.ones(2, requires_grad=True) * 2).grad_fn.metadata


def test_other_threads_are_watched_too():
    """A thread that runs already, one that starts later, and the one that did not throw the switch."""
    asked, told = queue.Queue(), queue.Queue()

    def work():
        while asked.get():
            told.put(has_traceback())

    def ask() -> bool:
        asked.put(True)
        return told.get(timeout=10)

    running = threading.Thread(target=work)
    running.start()
    try:
        assert not ask() and not has_traceback()
        switch = torch.autograd.set_detect_anomaly(True)
        assert ask() and has_traceback()
        with ThreadPoolExecutor(1) as later:
            assert later.submit(has_traceback).result()
            later.submit(switch.__exit__).result()
        assert not ask() and not has_traceback()
    finally:
        torch.autograd.set_detect_anomaly(False)
        asked.put(False)
        running.join()


def test_nan_is_found_in_another_thread():
    def backward() -> str:
        x = torch.zeros(1, requires_grad=True)
        try:
            (x.sqrt() * 0).sum().backward()
        except RuntimeError as error:
            return str(error)
        return "no error"

    with ThreadPoolExecutor(1) as pool, torch.autograd.set_detect_anomaly(True), pytest.warns(UserWarning):
        assert "'SqrtBackward0' returned nan values" in pool.submit(backward).result()
        with torch.autograd.set_detect_anomaly(False):
            assert pool.submit(backward).result() == "no error"
