"""`torch.profiler`: events of programs, their tree and sums, tables as PyTorch writes them, traces."""

from __future__ import annotations

import doctest
import gzip
import json
import math
import sys
import threading
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch._C._profiler import _ExperimentalConfig
from mindtorch.profiler import ProfilerActivity, profile, profiler_util, record_function, schedule

SNAPSHOTS = Path(__file__).parent / "snapshots"


def _names(profiler):
    return [event.name for event in profiler.events()]


def _train(model, x):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    with record_function("forward"):
        loss = model(x).relu().sum()
    loss.backward()
    optimizer.step()


# What PyTorch writes


@pytest.mark.parametrize("kind", ["stacks", "flops"])
def test_tables_averages_and_schedules_are_pytorchs(monkeypatch, kind):
    monkeypatch.syspath_prepend(SNAPSHOTS)
    from profiler_events import described

    expected = json.loads((SNAPSHOTS / "profiler_tables.json").read_text())[kind]
    found = described(profiler_util, schedule, flops=kind == "flops")
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == value, name


# The tree


def test_events_nest_and_times_add_up():
    model, x = torch.nn.Linear(3, 4), torch.randn(2, 3)
    _train(model, x)
    with profile(profile_memory=True, record_shapes=True) as profiler:
        _train(model, x)
    events = profiler.events()
    top = [event for event in events if event.cpu_parent is None]
    assert math.isclose(events.self_cpu_time_total, sum(event.cpu_time_total for event in top))
    for event in events:
        for child in event.cpu_children:
            assert child.cpu_parent is event
            assert event.time_range.start <= child.time_range.start <= child.time_range.end <= event.time_range.end
        assert event.self_cpu_time_total >= 0
    named = {event.name: event for event in events}
    assert named["aten::relu"].cpu_parent is named["forward"]
    assert named["aten::linear"].input_shapes[:2] == [[2, 3], [4, 3]]
    assert {"Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"} <= named.keys()
    inner = named["AddmmBackward0"]
    assert inner.cpu_parent is named["autograd::engine::evaluate_function: AddmmBackward0"]
    assert inner.sequence_nr == named["aten::linear"].sequence_nr


def test_memory_of_results_is_counted_and_given_back():
    with profile(profile_memory=True) as profiler:
        with record_function("whole"):
            x = torch.zeros(1000)
            y = x + 1
            del x
        del y
    events = {event.name: event for event in profiler.events()}
    assert events["aten::zeros"].cpu_memory_usage == 4000
    assert (events["whole"].cpu_memory_usage, events["whole"].self_cpu_memory_usage) == (4000, -4000)
    assert events["[memory]"].cpu_memory_usage == -4000


def test_views_and_inplace_calls_take_no_memory():
    x = torch.ones(10)
    with profile(profile_memory=True) as profiler:
        x.view(2, 5).t().add_(1)
    assert all(event.cpu_memory_usage == 0 for event in profiler.events())


def test_operations_are_counted():
    a = torch.ones(7, 7)
    convolution = torch.nn.Conv2d(3, 6, 3, stride=2, padding=1)
    with profile(with_flops=True) as profiler:
        a @ a, a * a, a + a, torch.bmm(a[None], a[None]), convolution(torch.ones(2, 3, 9, 9))
    found = {event.name: event.flops for event in profiler.events() if event.flops}
    expected = {"aten::mm": 686, "aten::conv2d": 16200, "aten::mul": 49, "aten::add": 49, "aten::bmm": 686}
    assert found == expected  # as PyTorch counts them


def test_stacks_name_functions_and_modules():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())

    def step():
        return model(torch.ones(1, 2))

    with profile(with_stack=True, experimental_config=_ExperimentalConfig(verbose=True)) as profiler:
        step()
    relu = next(event for event in profiler.events() if event.name == "aten::relu")
    assert relu.stack[:2] == ["nn.Module: ReLU_0", "nn.Module: Sequential_0"] and relu.stack[2].endswith(": step")
    assert not any("mt_core" in event.name or "<recorder" in event.name for event in profiler.events())
    assert sys.getprofile() is None
    assert "Source Location" in profiler.key_averages(group_by_stack_n=2).table()


# When it watches


def test_nothing_is_watched_before_and_after():
    x = torch.ones(2)
    engine, loader = torch.autograd.backward, torch.utils.data.dataloader._BaseDataLoaderIter.__next__
    with profile() as profiler:
        x + 1
    x + 1
    assert _names(profiler) == ["aten::add"]
    assert torch.utils.data.dataloader._BaseDataLoaderIter.__next__ is loader and torch.autograd.backward is engine
    with pytest.raises(ZeroDivisionError), profile() as profiler:
        x * 2
        1 / 0  # noqa: B018
    assert _names(profiler) == ["aten::mul"]
    with profile() as later:
        x - 1
    assert _names(later) == ["aten::sub"]


def test_errors_of_operators_end_their_events():
    with profile() as profiler:
        with pytest.raises(RuntimeError):
            torch.ones(2) @ torch.ones(3)
        torch.ones(1)
    assert profiler.events()[-1].cpu_parent is None


def test_other_threads_are_not_watched():
    with profile() as profiler:
        thread = threading.Thread(target=lambda: torch.ones(2) * 3)
        thread.start()
        thread.join()
        torch.ones(1)
    assert _names(profiler) == ["aten::ones"]


def test_queued_calls_are_timed_when_they_run():
    x = torch.ones(3)
    with profile() as profiler, torch.pipeline():
        y = (x + 1) * 2
        assert y.sum().item() == 12
    assert _names(profiler) == ["aten::add", "aten::mul", "aten::sum"]


def test_steps_follow_the_schedule():
    ready = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda p: ready.append((p.step_num, [event.trace_name for event in p.events()])),
    ) as profiler:
        for _ in range(9):
            torch.ones(2)
            profiler.step()
    ones = "aten::ones"
    assert ready == [
        (4, ["ProfilerStep#2", ones, "ProfilerStep#3", ones]),
        (8, ["ProfilerStep#6", ones, "ProfilerStep#7", ones]),
    ]


def test_a_profiler_is_not_entered_twice_or_inside_of_another():
    watcher = torch.autograd.profiler.profile()
    with watcher:
        with pytest.raises(RuntimeError, match="not reentrant"):
            watcher.__enter__()
        with pytest.raises(RuntimeError, match="already enabled"), profile():
            pass
    assert watcher.function_events == []


def test_devices_that_are_not_watched_are_warned_of():
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with pytest.warns(UserWarning), pytest.raises(AssertionError, match="No activities specified"):
        profile(activities=[ProfilerActivity.CUDA])
    with pytest.raises(NotImplementedError, match="profile_all_threads"):
        _ExperimentalConfig(profile_all_threads=True)


def test_record_function_ends_with_a_future():
    future = torch.futures.Future()
    with profile() as profiler:
        with record_function("waits") as mark:
            done = mark._call_end_callbacks_on_future(future)
        torch.ones(1)
        future.set_result(5)
        assert done.wait() == 5
    events = {event.name: event for event in profiler.events()}
    assert events["aten::ones"].cpu_parent is events["waits"]


# Files


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_chrome_traces(tmp_path, name):
    with profile(record_shapes=True, profile_memory=True) as profiler:
        profiler.add_metadata("note", "here")
        (torch.ones(2, 3, requires_grad=True) * 2).sum().backward()
    path = str(tmp_path / name)
    profiler.export_chrome_trace(path)
    with gzip.open(path, "rt") if name.endswith("gz") else open(path) as file:
        trace = json.load(file)
    assert (trace["note"], trace["record_shapes"], trace["schemaVersion"]) == ("here", 1, 1)
    entries = trace["traceEvents"]
    multiplied = next(entry for entry in entries if entry["name"] == "aten::mul")
    assert multiplied["args"]["Input Dims"] == [[2, 3], []] and multiplied["dur"] > 0
    arrows = [(entry["ph"], entry["ts"]) for entry in entries if entry.get("cat") == "fwdbwd"]
    assert ("s", multiplied["ts"]) in arrows and len(arrows) == 4
    assert sum(entry["args"]["Bytes"] for entry in entries if entry["name"] == "[memory]") >= 0


def test_stacks_and_tensorboard_traces_are_files(tmp_path):
    handler = torch.profiler.tensorboard_trace_handler(str(tmp_path / "runs"), "worker", use_gzip=True)
    config = _ExperimentalConfig(verbose=True)
    with profile(with_stack=True, experimental_config=config, on_trace_ready=handler) as profiler:
        torch.ones(2)
    (file,) = (tmp_path / "runs").iterdir()
    assert file.name.startswith("worker.") and file.name.endswith(".pt.trace.json.gz")
    profiler.export_stacks(str(tmp_path / "stacks"))
    assert all(line.rpartition(" ")[2].isdigit() for line in (tmp_path / "stacks").read_text().splitlines())


def test_the_page_says_what_happens():
    page = Path(__file__).parents[3] / "docs" / "profiler.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_autograd_tells_whether_a_profiler_watches():
    assert torch.autograd.kineto_available() is torch.autograd.profiler.kineto_available() is False
    with torch.autograd.profiler.profile():
        assert torch.autograd._profiler_enabled()
    assert not torch.autograd._profiler_enabled()
