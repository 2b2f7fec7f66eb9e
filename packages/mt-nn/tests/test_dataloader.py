"""The data loader, with and without worker processes."""

from __future__ import annotations

import copy
import gc
import json
import multiprocessing
import os
import pickle
import random
import re
import signal
import threading
import time
import warnings
from collections import OrderedDict, namedtuple
from pathlib import Path

import numpy as np
import pytest

import mt_core as mt
from mt_core.random import Generator, manual_seed
from mt_core.testing.simulated_backend import simulated_devices
from mt_nn import data
from mt_nn.data._utils import transport
from mt_nn.data._utils.pin_memory import pin_memory
from mt_nn.data.dataloader import _InfiniteConstantSampler

STREAMS = json.loads((Path(__file__).parent / "snapshots" / "data_streams.json").read_text())

pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="workers get datasets of this module by fork"
)


class Draws(data.Dataset):
    """What each generator of a worker gives."""

    def __len__(self):
        return 9

    def __getitem__(self, index):
        info = data.get_worker_info()
        return (index, info.id, mt.rand(1).item(), random.random(), np.random.rand())


class Computed(data.Dataset):
    """Samples that a function of the index makes."""

    def __init__(self, function, length=6):
        self.function = function
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return self.function(index)


class Stream(data.IterableDataset):
    def __init__(self, count=7, shared=False, length=None):
        self.count, self.shared, self.length = count, shared, length

    def __len__(self):
        if self.length is None:
            raise TypeError("no length")
        return self.length

    def __iter__(self):
        info = data.get_worker_info()
        if info is None or not self.shared:
            return iter(range(self.count))
        return iter(range(info.id, self.count, info.num_workers))


def lists(batches):
    return [batch.tolist() if isinstance(batch, mt.Tensor) else [part.tolist() for part in batch] for batch in batches]


def seeded(seed):
    generator = Generator()
    generator.manual_seed(seed)
    return generator


def forked(dataset, *args, num_workers=2, **options):
    return data.DataLoader(dataset, *args, num_workers=num_workers, multiprocessing_context="fork", **options)


def no_workers_left():
    gc.collect()
    deadline = time.monotonic() + 10
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not multiprocessing.active_children()


# Streams

LOADERS = {
    "loader": lambda: data.DataLoader(range(6), 2),
    "loader, shuffle": lambda: data.DataLoader(range(6), 2, shuffle=True),
    "loader, generator": lambda: data.DataLoader(range(6), 2, shuffle=True, generator=seeded(1)),
    "loader, workers": lambda: forked(Draws(), 2, shuffle=True),
    "loader, persistent": lambda: forked(Draws(), 2, persistent_workers=True),
}


@pytest.mark.parametrize("name", LOADERS)
def test_draws_the_streams_of_pytorch(name):
    wanted, next_number = STREAMS[name]
    manual_seed(5)
    loader = LOADERS[name]()
    assert [lists(loader), lists(loader)] == wanted
    assert mt.rand(()).item() == next_number


# Values


@pytest.mark.parametrize("num_workers", [0, 1, 2, 3])
@pytest.mark.parametrize("options", [{"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}])
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_workers_change_no_value(num_workers, options):
    dataset = data.TensorDataset(mt.arange(10), mt.arange(20).reshape(10, 2) / 3)
    wanted = lists(data.DataLoader(dataset, **options))
    extra = {"multiprocessing_context": "fork"} if num_workers else {}
    loader = data.DataLoader(dataset, num_workers=num_workers, **extra, **options)
    assert lists(loader) == wanted
    assert len(loader) == len(wanted)
    assert no_workers_left()


def test_spawned_workers():
    dataset = data.TensorDataset(mt.arange(6), mt.rand(6, 3))
    loader = data.DataLoader(dataset, 2, num_workers=1, multiprocessing_context="spawn")
    assert lists(loader) == lists(data.DataLoader(dataset, 2))


def test_a_batch_sampler_of_ones_own():
    assert lists(data.DataLoader(range(10), batch_sampler=[[1, 2], [7]])) == [[1, 2], [7]]
    assert lists(forked(range(10), batch_sampler=[[1, 2], [7]])) == [[1, 2], [7]]


def test_a_dataset_may_fetch_a_batch_as_a_whole():
    class Whole(Computed):
        def __getitems__(self, indices):
            return [-index for index in indices]

    for loader in (data.DataLoader(Whole(None), 3), forked(Whole(None), 3)):
        assert lists(loader) == [[0, -1, -2], [-3, -4, -5]]


def test_in_order_or_as_they_come():
    def slow_when_even(index):
        time.sleep(0.4 if index % 2 == 0 else 0)
        return index

    assert lists(forked(Computed(slow_when_even))) == [[i] for i in range(6)]
    as_they_come = lists(forked(Computed(slow_when_even), in_order=False))
    assert sorted(as_they_come) == [[i] for i in range(6)]
    assert as_they_come[0] == [1]


# Streams of samples


def test_every_worker_iterates_a_stream_of_its_own():
    assert lists(data.DataLoader(Stream(), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert lists(forked(Stream(), 3)) == [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5], [6], [6]]
    assert lists(forked(Stream(), 3, drop_last=True)) == [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5]]
    assert no_workers_left()


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_may_share_a_stream(persistent):
    loader = forked(Stream(11, shared=True), 2, persistent_workers=persistent)
    for _ in range(3):
        assert sorted(value for batch in lists(loader) for value in batch) == list(range(11))


def test_the_length_of_a_stream_is_what_it_promises():
    assert len(data.DataLoader(Stream(length=5), 2)) == 3
    assert len(data.DataLoader(Stream(length=5), 2, drop_last=True)) == 2
    with pytest.raises(TypeError, match="no length"):
        len(data.DataLoader(Stream()))
    loader = data.DataLoader(Stream(length=5), None)
    assert len(loader) == 5
    batches = iter(loader)
    with pytest.warns(UserWarning, match=r"was reported to be 5\(when accessing len\(dataloader\)\), but 6 samples"):
        assert [next(batches) for _ in range(6)] == list(range(6))


# Errors


def test_an_error_arrives_with_its_type_and_traceback_and_the_epoch_goes_on():
    def refuse_two(index):
        if index == 2:
            raise ValueError("no two")
        return index

    batches = iter(forked(Computed(refuse_two)))
    assert [next(batches).item(), next(batches).item()] == [0, 1]
    with pytest.raises(
        ValueError, match="Caught ValueError in DataLoader worker process 0.\nOriginal Traceback"
    ) as error:
        next(batches)
    assert 'raise ValueError("no two")' in str(error.value)
    assert [batch.item() for batch in batches] == [3, 4, 5]


def test_an_error_leaves_no_worker_to_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        raised = False
        try:
            list(forked(Computed(lambda index: int("no"))))
        except ValueError:  # whose frames pytest.raises would keep
            raised = True
        deadline = time.monotonic() + 10
        while multiprocessing.active_children() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert raised and not multiprocessing.active_children()
    finally:
        gc.enable()


def test_a_key_error_shows_its_traceback_in_lines():
    def refuse(index):
        return {}["missing"]

    with pytest.raises(KeyError) as error:
        list(forked(Computed(refuse)))
    assert str(error.value).startswith("Caught KeyError in DataLoader worker process 0.\nOriginal Traceback")


class NeedsTwo(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


def test_an_error_that_cannot_be_made_from_a_message_becomes_a_runtime_error():
    def refuse(index):
        raise NeedsTwo(1, 2)

    with pytest.raises(RuntimeError, match="Caught NeedsTwo in DataLoader worker process 0"):
        list(forked(Computed(refuse)))


def test_an_error_of_a_local_class_becomes_a_runtime_error():
    def refuse(index):
        class Local(Exception):
            pass

        raise Local

    with pytest.raises(RuntimeError, match="Caught Local in DataLoader worker process"):
        list(forked(Computed(refuse)))


def test_a_batch_that_cannot_be_sent_is_an_error():
    with pytest.raises((AttributeError, pickle.PicklingError), match="in DataLoader worker process"):
        list(forked(Computed(lambda index: lambda: index), batch_size=None))
    grown = mt.ones(2).requires_grad_() * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        list(forked(Computed(lambda index: grown), batch_size=None))


def test_an_error_of_the_init_function():
    with pytest.raises(ZeroDivisionError, match="Caught ZeroDivisionError in DataLoader worker process 0"):
        list(forked(range(3), worker_init_fn=lambda worker_id: 1 / 0))


def test_a_stop_iteration_ends_the_epoch():
    def stop(index):
        raise StopIteration

    assert list(data.DataLoader(Computed(stop))) == []
    assert list(forked(Computed(stop))) == []


OUT_OF_MEMORY = "Bus error. It is possible that dataloader's workers are out of shared memory."


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        (lambda: os._exit(3), r"exited unexpectedly with exit code 3. Details are lost due to multiprocessing. "),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "is killed by signal: Killed. $"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "is killed by signal: Segmentation fault. $"),
        (lambda: os.kill(os.getpid(), signal.SIGBUS), f"is killed by signal: {OUT_OF_MEMORY}"),
        (lambda: os._exit(0), None),
    ],
)
def test_a_worker_that_dies(end, cause):
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as error:
        list(forked(Computed(lambda index: end()), num_workers=1))
    assert no_workers_left()
    if cause is None:
        assert error.value.__cause__ is None
    else:
        assert re.search(rf"^DataLoader worker \(pid \d+\) {cause}", str(error.value.__cause__))


def test_a_worker_that_takes_too_long():
    loader = forked(Computed(lambda index: time.sleep(60)), num_workers=1, timeout=0.2)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.2 seconds"):
        next(iter(loader))


# Processes


def test_workers_end_with_the_epoch_and_with_its_iterator():
    loader = forked(range(20))
    list(loader)
    assert no_workers_left()
    batches = iter(loader)
    next(batches)
    assert len(multiprocessing.active_children()) == 2
    del batches
    assert no_workers_left()


def test_a_worker_with_a_full_pipe_ends_too():
    """It holds messages that nobody reads, more than fit into a pipe."""
    loader = forked(Computed(lambda index: "x" * 20_000, 100), batch_size=None, num_workers=1, prefetch_factor=60)
    batches = iter(loader)
    next(batches)
    time.sleep(0.3)
    start = time.monotonic()
    del batches
    assert no_workers_left()
    assert time.monotonic() - start < 4


def test_persistent_workers_live_on():
    loader = forked(Computed(lambda index: os.getpid(), 4), persistent_workers=True)
    first = {batch.item() for batch in loader}
    assert {batch.item() for batch in loader} == first
    stopped_early = iter(loader)
    next(stopped_early)
    assert {batch.item() for batch in loader} == first
    assert len(first) == 2
    del loader, stopped_early
    assert no_workers_left()


def test_what_a_worker_knows_about_itself():
    def describe(index):
        info = data.get_worker_info()
        return [info.id, info.num_workers, info.seed, os.getpid()]

    dataset = Computed(describe, 2)
    found = [next(zip(*batch)) for batch in forked(dataset)]
    assert [(int(number), int(count)) for number, count, *_ in found] == [(0, 2), (1, 2)]
    assert found[1][2] - found[0][2] == 1
    assert int(found[0][3]) != os.getpid()
    assert data.get_worker_info() is None


def test_the_init_function_runs_in_every_worker():
    def mark(worker_id):
        os.environ["MARK"] = f"{worker_id}"

    assert [batch[0] for batch in forked(Computed(lambda index: os.environ["MARK"], 2), worker_init_fn=mark)] == [
        "0",
        "1",
    ]


# Transport


def over_a_pipe(value):
    ours, theirs = multiprocessing.Pipe(duplex=True)
    sender = threading.Thread(target=transport.send, args=(theirs, value))
    sender.start()
    try:
        return transport.receive(ours)
    finally:
        sender.join()
        ours.close()
        theirs.close()


@pytest.mark.parametrize("count", [0, 1, 5, 60_000])
@pytest.mark.parametrize("dtype", [mt.float32, mt.bfloat16, mt.bool, mt.int64, mt.complex64, mt.float8_e5m2])
def test_tensors_travel_as_they_are(dtype, count):
    tensor = mt.arange(count).remainder(2).to(dtype)
    found = over_a_pipe([tensor, {"again": tensor}])
    assert found[0] is found[1]["again"], "the same object stays the same"
    assert found[0].dtype == dtype
    assert mt.equal(found[0].to(mt.complex64), tensor.to(mt.complex64))


@pytest.mark.parametrize("shape", [(), (4, 5), (300, 200), (2, 3, 4, 5)])
def test_layout_and_requires_grad_stay(shape):
    tensor = mt.rand(shape)
    order = tuple(reversed(range(len(shape))))
    for view in (tensor, tensor.permute(order), tensor.permute((*order[1:], *order[:1]))):
        leaf = view.detach().requires_grad_()
        found = over_a_pipe(leaf)
        assert found.stride() == leaf.stride()
        assert found.requires_grad
        assert mt.equal(found, leaf)


def test_a_view_brings_only_its_own_elements():
    (found,) = over_a_pipe((mt.rand(1000, 1000)[::100, 3],))
    assert found.untyped_storage().nbytes() == 40


def test_what_arrives_can_be_written_to():
    for count in (3, 50_000):
        tensor, array = over_a_pipe((mt.zeros(count), np.zeros(count)))
        tensor += 1
        array += 1
        assert tensor.sum().item() == count
        assert array.sum() == count


def test_memory_that_is_shared_on_purpose_stays_shared():
    counter = mt.zeros(2).share_memory_()
    list(forked(Computed(lambda index: counter.add_(1).clone(), 4), num_workers=1))
    assert counter.tolist() == [4.0, 4.0]
    sent = over_a_pipe(counter)
    sent += 1
    assert counter.tolist() == [5.0, 5.0]


def test_an_attribute_of_a_tensor_travels_too():
    tensor = mt.ones(2)
    tensor.note = "kept"
    assert over_a_pipe(tensor).note == "kept"


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        ({"shuffle": True, "sampler": [1]}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler option is mutually exclusive with batch_size"),
        ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
        ({"num_workers": 1, "multiprocessing_context": "x"}, "should specify a valid start method in"),
    ],
)
def test_refuses_options_that_contradict_each_other(options, message):
    with pytest.raises(ValueError, match=message):
        data.DataLoader(range(3), **options)


def test_refuses_options_that_a_stream_cannot_have():
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="DataLoader with IterableDataset: expected unspecified"):
            data.DataLoader(Stream(), **options)
    assert isinstance(data.DataLoader(Stream(), shuffle=False).sampler, _InfiniteConstantSampler)


def test_what_decides_the_order_is_fixed():
    loader = data.DataLoader(range(3))
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, None)
    loader.num_workers = 1
    assert len(list(loader)) == 3


Point = namedtuple("Point", "x y")


def test_batches_are_pinned_for_an_accelerator():
    samples = [{"a": mt.ones(2), "b": (3, "text"), "c": Point(mt.zeros(1), [mt.ones(1), None])}] * 2
    with simulated_devices(), warnings.catch_warnings():
        warnings.simplefilter("error")
        (batch,) = data.DataLoader(samples, 2, pin_memory=True, collate_fn=lambda samples: samples)
        (tensor,) = data.DataLoader(range(3), 3, pin_memory=True)
        (other,) = data.DataLoader(range(3), 3)
        assert tensor.is_pinned() and not other.is_pinned()
        for sample in batch:
            assert sample["a"].is_pinned() and sample["b"] == (3, "text")
            assert isinstance(sample["c"], Point) and sample["c"].x.is_pinned() and sample["c"].y[0].is_pinned()


def test_what_can_pin_itself_is_asked_to():
    class Own:
        def pin_memory(self):
            return "pinned"

    ordered = OrderedDict(a=Own())
    pinned = pin_memory([Own(), b"bytes", {"k": Own()}, (Own(),), range(2), ordered])
    assert pinned == ["pinned", b"bytes", {"k": "pinned"}, ("pinned",), [0, 1], OrderedDict(a="pinned")]
    assert isinstance(ordered["a"], Own)


def test_says_that_memory_is_not_pinned():
    with pytest.warns(UserWarning, match="no accelerator is found, then device pinned memory won't be used"):
        list(data.DataLoader(range(3), pin_memory=True))


def test_warns_of_more_workers_than_processors():
    with pytest.warns(UserWarning, match="This DataLoader will create 10000 worker processes in total"):
        data.DataLoader(range(3), num_workers=10000)


def test_a_loader_can_be_copied_but_not_its_iterator():
    loader = copy.deepcopy(pickle.loads(pickle.dumps(data.DataLoader(range(3), 2))))
    assert lists(loader) == [[0, 1], [2]]
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iter(loader))
