"""`torch.futures`: results that come later."""

from __future__ import annotations

import threading

import pytest

import mindtorch as torch
from mindtorch.futures import Future, collect_all, wait_all


def test_a_result_is_waited_for_across_threads() -> None:
    future: Future[int] = Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match="no value yet"):
        future.value()
    timer = threading.Timer(0.02, future.set_result, (9,))
    timer.start()
    assert future.wait() == 9 and future.done() and future.value() == 9
    timer.join()


def test_callbacks_are_called_once_in_their_order_and_late_ones_at_once() -> None:
    future: Future[str] = Future()
    seen: list[object] = []
    future.add_done_callback(lambda f: seen.append(("first", f.value())))
    following = future.then(lambda f: seen.append("second") or f.value() + "!")
    assert not following.done() and not seen
    future.set_result("a")
    future.add_done_callback(lambda f: seen.append("late"))
    assert seen == [("first", "a"), "second", "late"] and following.wait() == "a!"


def test_an_exception_is_raised_to_all_who_ask() -> None:
    future: Future[int] = Future()
    chained = future.then(lambda f: f.value() + 1)
    rescued = future.then(lambda f: "called")
    with pytest.raises(AssertionError, match="not an Exception"):
        future.set_exception(3)  # type: ignore[arg-type]
    future.set_exception(ValueError("bad"))
    for failed, kind in ((future, ValueError), (chained, RuntimeError)):
        assert failed.done()
        for ask in (failed.wait, failed.value):
            with pytest.raises(kind, match="bad"):
                ask()
    assert rescued.wait() == "called"


def test_a_future_is_done_once() -> None:
    future: Future[int] = Future()
    future.set_result(1)
    for again in (lambda: future.set_result(2), lambda: future.set_exception(KeyError())):
        with pytest.raises(RuntimeError, match="can only be marked completed once"):
            again()
    assert future.value() == 1


def test_what_a_done_callback_raises_is_reported_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    reported, seen = [], []
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.append(args.exc_type))
    future: Future[int] = Future()
    future.add_done_callback(lambda f: 1 / 0)
    future.add_done_callback(seen.append)
    future.set_result(1)
    assert reported == [ZeroDivisionError] and seen == [future]


def test_all_are_collected_when_the_last_is_done() -> None:
    futures: list[Future[int]] = [Future(), Future()]
    together = collect_all(futures)
    futures[1].set_result(2)
    assert not together.done()
    futures[0].set_exception(KeyError("k"))
    assert together.done() and all(a is b for a, b in zip(together.wait(), futures, strict=True))
    with pytest.raises(KeyError):
        wait_all(futures)
    assert collect_all([]).wait() == wait_all([]) == [] and wait_all(futures[1:]) == [2]


def test_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="is not supported by mindtorch"):
        Future(devices=["cuda:0"])
    assert torch.futures.Future is Future
