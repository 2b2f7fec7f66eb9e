"""Run by `test_process_sharing.py`, with a start method: what is sent to a process is shared both ways."""

from __future__ import annotations

import multiprocessing
import sys

import mindtorch as torch
import mindtorch.multiprocessing as mp
import mindtorch.nn as nn


def answer(tasks, answers, parameter, strategy: str) -> None:
    mp.set_sharing_strategy(strategy)
    tensor = tasks.get()
    tensor.add_(1)
    answers.put(tensor[1:])
    first, last = tasks.get()
    first.fill_(7)
    answers.put((last.tolist(), first.untyped_storage() is last.untyped_storage()))
    parameter.data.mul_(2)
    answers.put((type(parameter) is nn.Parameter, parameter.requires_grad))
    answers.put(tasks.get())
    tasks.get()  # until the other side has what it was sent


def ask(method: str, strategy: str) -> None:
    mp.set_sharing_strategy(strategy)
    assert mp.get_sharing_strategy() == strategy and strategy in mp.get_all_sharing_strategies()
    context = multiprocessing.get_context(method)
    tasks, answers = context.Queue(), context.Queue()
    parameter = nn.Parameter(torch.ones(2).share_memory_())
    process = context.Process(target=answer, args=(tasks, answers, parameter, strategy))
    process.start()
    sent = torch.zeros(4)
    tasks.put(sent)
    returned = answers.get(timeout=60)
    assert sent.tolist() == [1, 1, 1, 1] and sent.is_shared() and returned.is_shared()
    returned[0] = 5
    assert sent.tolist() == [1, 5, 1, 1] and returned.untyped_storage() is sent.untyped_storage()
    whole = torch.zeros(4)
    tasks.put((whole, whole[2:]))
    assert answers.get(timeout=60) == ([7, 7], True) and whole.tolist() == [7, 7, 7, 7]
    assert answers.get(timeout=60) == (True, True) and parameter.tolist() == [2, 2]
    values = [
        torch.tensor([1 + 2j]).conj(),
        torch.empty(0, 3),
        torch.ones(2, dtype=torch.bfloat16),
        torch.arange(3)[::2],
    ]
    leaf = torch.ones(2, requires_grad=True)
    tasks.put([*values, leaf])
    *back, leaf_back = answers.get(timeout=60)
    assert [str(value) for value in back] == [str(value) for value in values]
    assert back[3].stride() == (2,) and leaf_back.requires_grad and leaf_back.is_leaf
    tasks.put(None)
    process.join(60)
    assert process.exitcode == 0


if __name__ == "__main__":
    for strategy in ("file_descriptor", "file_system"):
        ask(sys.argv[1], strategy)
