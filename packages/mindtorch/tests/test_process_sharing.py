"""What goes through the queues and pipes of `multiprocessing`: memory is shared, what autograd knows stays behind."""

from __future__ import annotations

import glob
import os
import pickle
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import numpy as np
import pytest

import mindtorch as torch
import mindtorch.multiprocessing as mp


@pytest.fixture(autouse=True)
def _same_strategy_afterwards():
    yield
    mp.set_sharing_strategy("file_descriptor")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_is_sent_is_shared_both_ways(method: str) -> None:
    """By both strategies; a fresh process needs a main module, which a test is not."""
    program = Path(__file__).with_name("sharing_program.py")
    done = subprocess.run([sys.executable, program, method], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr


def test_named_files_go_with_the_last_that_refers_to_them() -> None:
    mp.set_sharing_strategy("file_system")
    names = f"/dev/shm/torch_{os.getpid()}_*"
    before = set(glob.glob(names))
    storage = torch.arange(4.0).untyped_storage().share_memory_()
    data = bytes(ForkingPickler.dumps(storage))
    assert len(set(glob.glob(names)) - before) == 1
    assert pickle.loads(data) is storage
    _, name, nbytes = storage._share_filename_cpu_()
    other = torch.UntypedStorage._new_shared_filename_cpu(b"", name, nbytes)
    other[0] = 9
    assert storage[0] == 9 and other.tolist() == storage.tolist()
    del storage
    assert len(set(glob.glob(names)) - before) == 1
    del other
    assert set(glob.glob(names)) == before
    with pytest.raises(RuntimeError, match="unable to open shared memory object"):
        torch.UntypedStorage._new_shared_filename_cpu(b"", name, nbytes)


def test_descriptors_reach_the_memory() -> None:
    storage = torch.arange(4.0).untyped_storage()
    descriptor, nbytes = storage._share_fd_cpu_()
    other = torch.UntypedStorage._new_shared_fd_cpu(descriptor, nbytes)
    other[0] = 9
    assert storage[0] == 9 and storage.is_shared() and nbytes == 16
    with pytest.raises(RuntimeError, match="shared by the other strategy"):
        storage._share_filename_cpu_()
    assert torch.UntypedStorage._new_using_fd_cpu(3).is_shared()
    assert torch.UntypedStorage._new_using_filename_cpu(3).is_shared()


def test_what_has_a_history_stays_in_its_process() -> None:
    computed = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        ForkingPickler.dumps(computed)
    assert pickle.loads(ForkingPickler.dumps(computed.detach())).tolist() == [2, 2]
    assert pickle.loads(pickle.dumps(computed)).tolist() == [2, 2]  # a plain pickle stays in no process


def test_a_process_that_imports_nothing_itself_is_told_what_to_do(run_python) -> None:
    """As from a notebook: no main module whose imports the new process would repeat."""
    run_python("""
        import multiprocessing, operator
        import mindtorch as torch, mindtorch.nn

        process = multiprocessing.get_context("spawn").Process(target=torch.nn.Linear(2, 2), args=(torch.ones(1, 2),))
        process.start()
        process.join()
        assert process.exitcode == 0
    """)


def test_tensors_beyond_their_storage_are_told_apart(tmp_path) -> None:
    """A storage that has become too small: geometry stays, memory is freed, nothing is written that cannot be read."""
    whole = torch.arange(10.0)
    tail, head = whole[5:], whole[:2]
    whole.untyped_storage().resize_(8)
    assert (tail.storage_offset(), tail.shape, tail.stride(), head.tolist()) == (5, (5,), (1,), [0, 1])
    for describe in (
        lambda: torch.save(tail, tmp_path / "f"),
        lambda: pickle.dumps(tail),
        lambda: ForkingPickler.dumps(tail),
    ):
        with pytest.raises(
            RuntimeError, match=r"setStorage: sizes \[5\], .* offset 5, .* size of 40 are out of bounds"
        ):
            describe()
    whole.untyped_storage().resize_(40)
    tail.fill_(3)
    assert whole[5:].tolist() == [3] * 5 and head.tolist() == [0, 1]


def test_shrinking_frees_memory(run_python) -> None:
    run_python("""
        import mindtorch as torch
        from mt_backend_cpu.memory import release_memory

        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * 4096

        whole = torch.ones(25_000_000)
        tail = whole[1:]
        before = resident()
        whole.untyped_storage().resize_(0)
        release_memory()  # which keeps it for large tensors to come
        assert before - resident() > 90_000_000 and tail.shape == (24_999_999,)
    """)


def test_memory_that_numpy_has_is_not_resized() -> None:
    for view in (lambda t: t.numpy(), lambda t: np.asarray(t), lambda t: t[2:].numpy()):
        tensor = torch.arange(10.0)
        alias = view(tensor)
        same = tensor.detach()
        assert not tensor.untyped_storage().resizable()
        for resize in (
            lambda tensor=tensor: tensor.resize_(20),
            lambda same=same: same.resize_(20),
            lambda tensor=tensor: tensor.untyped_storage().resize_(8),
        ):
            with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
                resize()
        assert alias[-1] == 9 and tensor.resize_(3).tolist() == [0, 1, 2]
