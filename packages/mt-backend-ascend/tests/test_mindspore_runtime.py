"""The runtime over MindSpore: what it asks MindSpore for, by a module in its place; never run on a device.

That the wheel has the names is looked up by `npu/npu_program.py`.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mt_backend_ascend.mindspore_runtime import NAMES, AscendBackend, MindSporeRuntime
from mt_core.plugins import runtime as protocols


class Recorded:
    """An object whose calls are written down, and return what was set."""

    def __init__(self, log: list[Any], name: str, **values: Any) -> None:
        self._log, self._name, self._values = log, name, values
        self.id = values.get("id", 0)

    def __getattr__(self, attribute: str) -> Any:
        def call(*args: Any) -> Any:
            self._log.append((f"{self._name}.{attribute}", *args))
            return self._values.get(attribute)

        return call


@pytest.fixture
def log() -> list[Any]:
    return []


@pytest.fixture
def runtime(log: list[Any], monkeypatch: pytest.MonkeyPatch) -> MindSporeRuntime:
    module = Recorded(log, "runtime")
    numbers = iter(range(1, 10))
    module.Stream = lambda priority: Recorded(log, "stream", id=next(numbers), stream_ptr=-(1 << 62), query=False)
    module.Event = lambda *args: log.append(("Event", *args)) or Recorded(log, "event", query=True, elapsed_time=2.5)
    default = Recorded(log, "default", id=0, stream_ptr=0xFEDCBA9876543210, query=True)
    module.default_stream = module.current_stream = lambda: default
    module.memory_stats = lambda: {
        "total_allocated_memory": 1, "max_allocated_memory": 2, "total_reserved_memory": 3, "max_reserved_memory": 4,
        "other": {},
    }  # fmt: skip
    found = SimpleNamespace(name="Ascend910B3", total_memory=64, free_memory=16)
    backend = AscendBackend("npu")
    stand_in = SimpleNamespace(runtime=module, hal=SimpleNamespace(get_device_properties=lambda index, target: found))
    monkeypatch.setattr(AscendBackend, "mindspore", stand_in)
    return backend.runtime


def test_tells_what_a_report_needs(runtime: MindSporeRuntime, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The chip and the version of CANN, from whichever file tells it."""
    AscendBackend.mindspore.__version__ = "2.10.0"
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    (tmp_path / "runtime").mkdir()
    for name, text in (
        ("runtime/version.info", "timestamp=2026\nVersion=8.5.0.1.220\n"),
        ("version.cfg", "# version: 1.0\nruntime_running_version=[8.3.RC1:8.3.RC1.alpha003]\n"),
    ):
        (tmp_path / name).write_text(text)
        told = dict(AscendBackend("npu").diagnose())
        assert told["devices"] == "MindSpore 2.10.0 on its target Ascend" and told["chip"] == "Ascend910B3"
        assert told["CANN"] in ("8.5.0.1.220", "8.3.RC1:8.3.RC1.alpha003"), told
        (tmp_path / name).unlink()
    assert dict(AscendBackend("npu").diagnose())["CANN"].startswith("not told by any of version.cfg")
    monkeypatch.delenv("ASCEND_HOME_PATH")
    monkeypatch.delenv("ASCEND_TOOLKIT_HOME", raising=False)
    assert "is set" in dict(AscendBackend("npu").diagnose())["CANN"]


def test_has_its_parts_whole(runtime: MindSporeRuntime) -> None:
    for part in ("device control", "streams", "memory statistics"):
        assert all(hasattr(runtime, method) for method in protocols.PARTS[part]), part
    assert len(set(NAMES)) == len(NAMES)


def test_streams_and_events(runtime: MindSporeRuntime, log: list[Any]) -> None:
    assert runtime.current_stream(0).native == 0xFEDCBA9876543210 and runtime.current_stream(0).id == 0
    side = runtime.stream(0, -1)
    assert (side.id, side.priority, side.native) == (1, -1, 3 << 62)  # all 64 bits, without a sign
    start, end = runtime.event(0, True, False, False), runtime.event(0, True, True, False)
    side.wait(start)  # it was not recorded: nothing to wait for
    assert start.query() and [entry for entry in log if entry[0].startswith(("Event", "event"))] == [
        ("Event", True, False), ("Event", True, True),
    ]  # fmt: skip
    with pytest.raises(RuntimeError, match="has not been reached"):
        start.elapsed(end)
    start.record(side)
    end.record(side)
    log.clear()
    side.wait(end)
    assert start.elapsed(end) == 2.5 and not side.query()
    runtime.set_stream(side)
    runtime.synchronize(0)
    assert log == [
        ("event.wait", side.stream), ("event.query",), ("event.query",), ("event.elapsed_time", end.event),
        ("stream.query",), ("runtime.set_cur_stream", side.stream), ("runtime.synchronize",),
    ]  # fmt: skip


def test_memory_and_properties(runtime: MindSporeRuntime) -> None:
    assert runtime.memory_stats(0) == {
        "allocated_bytes.all.current": 1, "allocated_bytes.all.peak": 2, "reserved_bytes.all.current": 3,
        "reserved_bytes.all.peak": 4,
    }  # fmt: skip
    assert runtime.memory_info(0) == (16, 64) and runtime.properties(0).name == "Ascend910B3"


def test_what_mindspore_lacks_is_refused(runtime: MindSporeRuntime) -> None:
    for refused, words in (
        (lambda: runtime.set_device(1), "one device in a process.*ASCEND_RT_VISIBLE_DEVICES"),
        (lambda: runtime.record_stream(None, runtime.current_stream(0)), "no record_stream"),
        (lambda: runtime.external_stream(5, 0), "no streams of others"),
        (lambda: runtime.event(0, False, False, True), "several processes"),
        (lambda: runtime.event(0, False, False, False).native, "address of an event"),
        (lambda: runtime.set_memory_fraction(0.5, 0), "set_memory"),
        (lambda: runtime.reset_accumulated_memory_stats(0), "no sums"),
    ):
        with pytest.raises(NotImplementedError, match=words):
            refused()
