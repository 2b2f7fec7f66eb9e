"""Processes that share nothing but what they are sent."""

from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch import multiprocessing


def write_number(index, folder):
    (folder / str(index)).write_text(str(index))


def fail_in_the_second(index):
    if index == 1:
        raise ValueError("the second one fails")


def leave(index):
    raise SystemExit(7)


def test_spawn_runs_the_function_in_each_process(tmp_path):
    assert multiprocessing.spawn(write_number, (tmp_path,), nprocs=2, start_method="fork") is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]


def test_an_exception_is_reported_with_its_traceback():
    with pytest.raises(multiprocessing.ProcessRaisedException, match="the second one fails") as failure:
        multiprocessing.start_processes(fail_in_the_second, nprocs=2, start_method="fork")
    assert failure.value.error_index == 1


def test_without_join_the_context_is_returned(tmp_path):
    context = multiprocessing.start_processes(write_number, (tmp_path,), nprocs=1, join=False, start_method="fork")
    assert len(context.pids()) == 1
    while not context.join(timeout=10):
        pass


def test_join_after_all_have_ended_returns_at_once(tmp_path):
    context = multiprocessing.start_processes(write_number, (tmp_path,), nprocs=2, join=False, start_method="fork")
    for process in context.processes:
        process.join()
    assert context.join()


def test_it_is_pythons_multiprocessing_otherwise():
    queue = torch.multiprocessing.get_context("fork").SimpleQueue()
    queue.put(torch.arange(3))
    assert queue.get().tolist() == [0, 1, 2]
    with pytest.raises(AssertionError):
        multiprocessing.set_sharing_strategy("telepathy")
