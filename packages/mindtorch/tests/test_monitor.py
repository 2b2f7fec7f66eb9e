"""`torch.monitor`: events, and statistics of windows of time."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from mindtorch import monitor
from mindtorch.monitor import Aggregation, Event, Stat

HOUR = timedelta(hours=1)
ALL = list(Aggregation)


@pytest.fixture
def logged():
    """What is logged meanwhile: name and data."""
    events: list[tuple[str, dict]] = []
    handle = monitor.register_event_handler(lambda event: events.append((event.name, event.data)))
    yield events
    monitor.unregister_event_handler(handle)


def _statistics(values):
    return {
        "value": values[-1], "mean": sum(values) / len(values), "count": len(values), "sum": sum(values),
        "max": max(values), "min": min(values),
    }  # fmt: skip


def test_events_reach_handlers_until_they_are_unregistered(logged):
    later = []
    handle = monitor.register_event_handler(later.append)
    event = Event("epoch", datetime(2026, 1, 1), {"loss": 0.5, "step": 3, "name": "a", "done": True})
    monitor.log_event(event)
    monitor.unregister_event_handler(handle)
    monitor.log_event(event)
    assert later == [event]
    assert logged == [("epoch", {"loss": 0.5, "step": 3, "name": "a", "done": 1.0})] * 2
    with pytest.raises(ValueError, match="not registered"):
        monitor.unregister_event_handler(handle)


@pytest.mark.parametrize(
    "arguments", [("a", 1, {}), ("a", datetime(2026, 1, 1), {"x": [1]}), (1, datetime(2026, 1, 1), {})]
)
def test_events_of_other_values_are_refused(arguments):
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        Event(*arguments)


def test_statistics_are_logged_once_there_are_enough_values(logged):
    stat = Stat("loss", ALL, HOUR, 3)
    values = [4.0, 1.0, 2.5]
    for count, value in enumerate(values):
        assert stat.count == count
        stat.add(value)
    stat.add(100)  # the window has its values
    expected = _statistics(values)
    assert stat.count == 0
    assert {key.name.lower(): value for key, value in stat.get().items()} == expected
    assert logged == [("torch.monitor.Stat", {f"loss.{name}": value for name, value in expected.items()})]


def test_statistics_are_logged_when_the_window_is_over(logged, monkeypatch):
    now = 0
    monkeypatch.setattr(monitor.time, "monotonic_ns", lambda: now)
    stat = Stat("x", [Aggregation.SUM, Aggregation.COUNT], timedelta(milliseconds=10))
    assert stat.get() == {Aggregation.SUM: 0.0, Aggregation.COUNT: 0.0}
    stat.add(1)
    stat.add(2)
    now = 11_000_000
    assert (stat.count, stat.get()) == (0, {Aggregation.SUM: 3.0, Aggregation.COUNT: 2.0})
    now = 55_000_000
    stat.add(5)
    assert logged == [("torch.monitor.Stat", {"x.sum": 3.0, "x.count": 2.0})]


def test_statistics_are_logged_when_the_object_goes(logged):
    stat = Stat("y", [Aggregation.MEAN], HOUR)
    stat.add(4)
    del stat
    empty = Stat("z", [Aggregation.MEAN], HOUR)
    del empty
    assert logged == [("torch.monitor.Stat", {"y.mean": 4.0})]


def test_statistics_are_written_as_scalars():
    class Writer:
        def __init__(self):
            self.scalars = []

        def add_scalar(self, name, value, walltime):
            self.scalars.append((name, value, walltime))

    writer = Writer()
    handler = monitor.TensorboardEventHandler(writer)
    when = datetime(2026, 1, 2)
    handler(Event("other", when, {"a": 1}))
    handler(Event(monitor.STAT_EVENT, when, {"a.sum": 1.5}))
    assert writer.scalars == [("a.sum", 1.5, when.timestamp())]
