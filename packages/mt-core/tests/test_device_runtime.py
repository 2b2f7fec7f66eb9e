"""What a backend with a runtime gives its device: order of work, memory, generators, pinned memory, DLPack.

The device is simulated: it does its work as late as it may, and reuses memory as soon as it may.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import mt_core as torch
from mt_core.interop import from_dlpack
from mt_core.plugins import runtime_access as contract
from mt_core.plugins.runtime import PARTS
from mt_core.random import devices as random_devices
from mt_core.random import fork_rng
from mt_core.random.devices import default_generator_of, default_generators, seed_device
from mt_core.streams import Event, Stream
from mt_core.testing.simulated_backend import simulated_devices
from mt_core.testing.simulated_runtime import SimulatedRuntime

with simulated_devices() as BACKEND:
    pass


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    """Two devices ``sim``."""
    with simulated_devices():
        yield


def values(tensor) -> list:
    """The elements as they are in memory now, without waiting for anything."""
    return tensor._array.host.tolist()


def held(index: int = 0) -> int:
    return BACKEND.runtime.memory_stats(index)["allocated_bytes.all.current"]


# Streams and events


def test_work_is_done_when_somebody_waits_for_it():
    x = torch.ones(3, device="sim") * 2
    assert values(x) == [0, 0, 0]
    assert x.cpu().tolist() == [2, 2, 2]


def test_streams_do_not_wait_for_each_other_unless_told():
    x = torch.arange(3.0).to("sim")
    side = Stream("sim")
    with side:
        y = x * 2
    z = y + 1  # on the default stream, which knows nothing of the side stream
    assert z.cpu().tolist() == [1, 1, 1]
    assert not side.query()
    with side:
        side.wait_stream(Stream.of_handle("sim", BACKEND.runtime.default_stream(0)))
        y = x * 2
    BACKEND.runtime.default_stream(0).wait(side.record_event()._handle)
    assert (y + 1).cpu().tolist() == [1, 3, 5]


def test_an_event_is_reached_when_what_was_before_it_is_done():
    stream, event = Stream("sim"), Event("sim")
    assert event.query() and event.event_id == 0
    with stream:
        x = torch.ones(2, device="sim")
    assert stream.record_event(event) is event
    with stream:
        y = x + x
    event.synchronize()
    assert values(x) == [1, 1] and values(y) != [2, 2]
    assert event.query() and not stream.query()
    stream.synchronize()
    assert stream.query() and values(y) == [2, 2]


def test_a_program_that_polls_gets_on():
    torch.ones(2, device="sim")
    stream = Stream.of_handle("sim", BACKEND.runtime.current_stream(0))
    polls = 0
    while not stream.query():
        polls += 1
    assert polls > 0


def test_elapsed_time_counts_the_tasks_between_two_events():
    x = torch.ones(2, device="sim")
    start, end = Event("sim", enable_timing=True), Event("sim", enable_timing=True)
    start.record()
    for _ in range(5):
        x = x * 2
    end.record()
    with pytest.raises(RuntimeError, match="has not been reached"):
        start.elapsed_time(end)
    end.synchronize()
    per_call = start.elapsed_time(end) / 5
    assert per_call >= 1
    assert end.elapsed_time(start) == -start.elapsed_time(end)
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(Event("sim"))
    with pytest.raises(ValueError, match="must be recorded before"):
        start.elapsed_time(Event("sim", enable_timing=True))


def test_a_stream_is_current_inside_its_context_and_so_is_its_device():
    outer, inner = Stream("sim:1"), Stream("sim:1")
    rt = BACKEND.runtime
    with outer:
        assert rt.current_device() == 1
        with inner:
            assert rt.current_stream(1) is inner._handle
        assert rt.current_stream(1) is outer._handle
        with contextlib.suppress(ZeroDivisionError), inner:
            raise ZeroDivisionError
        assert rt.current_stream(1) is outer._handle
    assert rt.current_device() == 0
    assert rt.current_stream(1) is rt.default_stream(1)


def test_streams_say_what_they_are():
    stream = Stream("sim:1", priority=-1)
    assert (stream.device, stream.device_index, stream.device_type) == (torch.device("sim:1"), 1, 20)
    assert stream.stream_id > 0 and stream.native_handle > 0
    same = Stream.of_handle("sim", stream._handle)
    assert same == stream and hash(same) == hash(stream) and Stream("sim:1") != stream
    assert repr(stream) == f"torch.Stream device_type=sim, device_index=1, stream_id={stream.stream_id}"
    assert repr(Event("sim")) == "torch.Event device_type=sim, device_index=0, event_flag=0, event_id=0"
    with pytest.raises(RuntimeError, match="does not match recording stream's device"):
        Event("sim:0").record(stream)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        Stream("sim:2")


def test_the_accelerator_is_the_default_device_of_streams_and_of_bare_indices():
    assert torch.device(1) == torch.device("sim:1")
    assert Stream().device == Event().device == torch.device("sim:0")
    BACKEND.devices = 0
    assert Stream().device == torch.device("cpu")
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        torch.device(1)


def test_the_cpu_has_one_stream_and_no_events():
    stream = Stream("cpu")
    assert (stream.device_index, stream.stream_id, stream.query()) == (-1, 0, True)
    with stream:
        stream.synchronize()
    for refused in (stream.record_event, lambda: stream.wait_stream(stream), Event("cpu").record):
        with pytest.raises(RuntimeError, match="cpu backend doesn't support events"):
            refused()
    with pytest.raises(RuntimeError, match="native handle"):
        stream.native_handle  # noqa: B018


def test_copies_between_devices_wait_for_each_other():
    x = torch.ones(3).to("sim:0")
    y = x.to("sim:1")  # x has not been written yet
    x.fill_(9)  # nor has it been read
    z = torch.empty(3, device="sim:0").copy_(y)
    BACKEND.runtime.synchronize(0)
    assert (values(x), values(z)) == ([9, 9, 9], [1, 1, 1])
    assert y.cpu().tolist() == [1, 1, 1]


def test_a_backward_waits_for_the_streams_of_the_forward():
    pytest.importorskip("mt_autograd")
    x = torch.ones(3).to("sim").requires_grad_(True)
    side = Stream("sim")
    side.wait_stream(Stream.of_handle("sim", BACKEND.runtime.default_stream(0)))
    with side:
        y = x.exp()
    y.backward(torch.ones(3).to("sim"))  # on the default stream, with what the side stream has yet to save
    with side:
        z = x.grad * 1  # nor does the side stream overtake the gradient
    side.synchronize()
    assert values(z) == pytest.approx([np.e] * 3)


def test_a_backward_may_be_recorded():
    pytest.importorskip("mt_autograd")
    other = Stream("sim")
    with other:
        x = torch.ones(3).to("sim").requires_grad_(True)
    other.synchronize()
    graph = BACKEND.runtime.graph()
    with Stream("sim"):
        graph.capture_begin(None, "global")
        x.exp().backward(torch.ones_like(x))
        graph.capture_end()
    graph.replay()
    assert x.grad.cpu().tolist() == pytest.approx([np.e] * 3)


def test_a_device_without_an_index_is_the_current_one():
    x = torch.ones(3).to("sim:1")
    assert x.to("sim:1") is x and x.to("sim").device == torch.device("sim:0")
    with Stream("sim:1"):
        assert x.to("sim") is x
        assert torch.ones(1).to("sim").device == torch.device("sim:1")


def test_what_is_current_is_a_threads_own():
    rt, seen = BACKEND.runtime, []
    with Stream("sim:1") as stream:
        thread = threading.Thread(target=lambda: seen.append((rt.current_device(), rt.current_stream(1))))
        thread.start()
        thread.join()
        assert rt.current_stream(1) is stream._handle
    assert seen == [(0, rt.default_stream(1))]


# Memory


def test_memory_is_counted_reused_and_given_back():
    rt = BACKEND.runtime
    before = held()
    x = torch.empty(1024, device="sim")
    assert held() == before + 4096
    y = x[10:]
    del x
    assert held() == before + 4096
    address = y.data_ptr() - 40
    del y
    assert held() == before
    assert torch.empty(1000, device="sim").data_ptr() == address
    assert rt.memory_stats(0)["reserved_bytes.all.current"] >= 4096
    rt.empty_cache()
    assert rt.memory_stats(0)["reserved_bytes.all.current"] == held()


def test_the_allocator_hands_memory_out_again_unless_a_stream_was_recorded():
    side = Stream("sim")

    def use(record: bool) -> list:
        x = torch.full((4,), 3.0, device="sim")
        BACKEND.runtime.synchronize(0)
        with side:
            y = x * 10
        if record:
            x.record_stream(side)
        del x
        z = torch.full((4,), 5.0, device="sim")
        z.cpu()
        side.synchronize()
        return values(y)

    assert use(record=False) == [50] * 4
    assert use(record=True) == [30] * 4


def test_recording_a_stream_of_another_device():
    with pytest.raises(RuntimeError, match="stream of sim:1 cannot use the memory of a tensor on sim:0"):
        torch.ones(2, device="sim").record_stream(Stream("sim:1"))
    with pytest.raises(NotImplementedError, match="aten::record_stream.*'CPU'"):
        torch.ones(2).record_stream(Stream("sim"))


def test_a_limit_of_memory_is_kept():
    rt = BACKEND.runtime
    rt.set_memory_fraction(0.5, 1)
    half = rt.total_memory // 2
    kept = torch.empty(half, dtype=torch.uint8, device="sim:1")
    with pytest.raises(contract.OutOfMemoryError, match=f"Tried to allocate 512 bytes. Device 1 .* {half}"):
        torch.empty(1, dtype=torch.uint8, device="sim:1")
    assert torch.empty(half, dtype=torch.uint8, device="sim:0").nbytes == kept.nbytes


# Generators and random numbers

DRAWS = [
    lambda where: torch.rand(5, device=where),
    lambda where: torch.randn(2, 9, device=where),
    lambda where: torch.randint(3, 100, (4,), device=where),
    lambda where: torch.randperm(6, device=where),
    lambda where: torch.empty(3, 4, device=where).t().normal_(),
    lambda where: torch.empty(4, dtype=torch.float16, device=where).exponential_(),
    lambda where: torch.empty(4, dtype=torch.complex64, device=where).uniform_(),
    lambda where: torch.empty(20, device=where).bernoulli_(0.3),
    lambda where: torch.bernoulli(torch.full((9,), 0.4).to(where)),
    lambda where: torch.multinomial(torch.tensor([0.1, 0.5, 0.4]).to(where), 2),
    lambda where: torch.poisson(torch.full((5,), 3.0).to(where)),
    lambda where: torch.binomial(torch.full((5,), 9.0).to(where), torch.full((5,), 0.5).to(where)),
    lambda where: torch.dropout(torch.ones(30).to(where), 0.5, True),
    lambda where: torch.empty(3, dtype=torch.int32, device=where).random_(7),
    lambda where: torch.normal(0.0, 2.0, (4,), device=where),
    lambda where: torch.rand_like(torch.empty(4, device=where)),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_device_without_random_kernels_draws_the_numbers_of_the_cpu(draw):
    torch.manual_seed(11)
    expected = draw("cpu")
    state = torch.random.get_rng_state()
    torch.manual_seed(11)
    drawn = draw("sim:0")
    assert drawn.device == torch.device("sim:0")
    assert drawn.dtype is expected.dtype and drawn.stride() == expected.stride()
    assert torch.equal(drawn.cpu(), expected)
    # The streams are apart: the CPU's was not touched, the device's is where the CPU's went.
    assert torch.equal(torch.rand(3), torch.rand(3, generator=torch.Generator().manual_seed(11)))
    assert torch.equal(default_generator_of("sim", 0).get_state(), state)


def test_each_device_has_a_stream_of_its_own():
    torch.manual_seed(3)
    first = torch.rand(4, device="sim:0").cpu()
    assert torch.equal(torch.rand(4, device="sim:1").cpu(), first)
    assert not torch.equal(torch.rand(4, device="sim:0").cpu(), first)
    seed_device("sim", 5, 1)
    assert default_generator_of("sim", 1).initial_seed() == 5
    assert default_generator_of("sim", 0).initial_seed() == 3


def test_a_generator_belongs_to_a_device():
    generator = torch.Generator("sim:1").manual_seed(4)
    assert generator.device == torch.device("sim:1")
    drawn = torch.rand(3, device="sim:1", generator=generator)
    assert torch.equal(drawn.cpu(), torch.rand(3, generator=torch.Generator().manual_seed(4)))
    twin = generator.clone_state()
    assert twin.device == generator.device
    assert torch.equal(
        torch.rand(2, device="sim:1", generator=twin).cpu(), torch.rand(2, device="sim:1", generator=generator).cpu()
    )
    with pytest.raises(RuntimeError, match="Expected a 'sim' device type for generator but found 'cpu'"):
        torch.rand(3, device="sim", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'sim'"):
        torch.rand(3, generator=generator)
    with pytest.raises(RuntimeError, match="found one of 'sim:1'"):
        torch.rand(3, device="sim:0", generator=generator)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.Generator("sim:7")
    with pytest.raises(RuntimeError, match="does not use offset"):
        generator.get_offset()


def test_fork_rng_keeps_the_streams_of_the_devices_that_it_is_given():
    torch.manual_seed(3)
    expected = [torch.rand(2, device=f"sim:{i}").cpu() for i in range(2)]
    torch.manual_seed(3)
    with fork_rng(devices=["sim:0", 1], device_type="sim"):
        torch.rand(9, device="sim:0"), torch.rand(9, device="sim:1"), torch.rand(9)
    with fork_rng(devices=range(2)):
        torch.manual_seed(99)
    assert all(torch.equal(torch.rand(2, device=f"sim:{i}").cpu(), expected[i]) for i in range(2))


@pytest.fixture
def unused(monkeypatch) -> None:
    """No device has drawn a number yet."""
    monkeypatch.setattr(random_devices, "_generators", {})


@pytest.mark.usefixtures("unused")
def test_a_seed_holds_for_a_device_that_is_used_later(monkeypatch):
    torch.manual_seed(21)
    assert not random_devices._generators
    assert torch.equal(torch.rand(3, device="sim").cpu(), torch.rand(3))
    for seeds, expected in (
        ([(5, None)], [5, 5]),
        ([(5, None), (6, 1)], [5, 6]),
        ([(6, 1), (5, None)], [5, 5]),
        ([(6, 1), (7, 1)], [21, 7]),
    ):
        monkeypatch.setattr(random_devices, "_generators", {})
        torch.manual_seed(21)
        for seed, index in seeds:
            seed_device("sim", seed, index)
        assert [generator.initial_seed() for generator in default_generators("sim")] == expected


def test_random_numbers_of_a_refused_call_are_not_drawn():
    torch.manual_seed(3)
    x = torch.ones(2, device="sim")
    with pytest.raises(RuntimeError, match="normal expects std >= 0.0"):
        x.normal_(0, -1)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.empty(1, device="sim").expand(3).normal_()
    assert x.cpu().tolist() == [1, 1] and x._version == 0
    assert torch.equal(x.uniform_().cpu(), torch.rand(2))
    assert x._version == 1


@pytest.mark.usefixtures("unused")
@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_draws_a_devices_numbers_again(reentrant):
    checkpoint = pytest.importorskip("mt_autograd.checkpoint").checkpoint
    torch.manual_seed(5)
    for _ in range(2):  # the second time the device is in use already
        x = torch.ones(50).to("sim").requires_grad_(True)
        y = checkpoint(lambda x: torch.dropout(x, 0.5, True), x, use_reentrant=reentrant)
        after = default_generator_of("sim").get_state()
        y.backward(torch.ones(50).to("sim"))
        assert x.grad.cpu().tolist() == y.cpu().tolist()
        assert torch.equal(default_generator_of("sim").get_state(), after)


class CountingEngine:
    """Follows `Engine`, counts what it draws, and draws nothing on the host."""

    def __init__(self, seed: int) -> None:
        self.seed, self.offset, self.lock = seed, 0, threading.Lock()

    def reseed(self, seed: int) -> None:
        self.seed, self.offset = seed, 0

    def get_state(self) -> np.ndarray:
        return np.array([self.seed, self.offset], "<u8").view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        if state.size != 16:
            raise RuntimeError("RNG state is wrong size")
        self.seed, self.offset = state.view("<u8").tolist()


class CountingRuntime(SimulatedRuntime):
    """A runtime with generators of its own."""

    def engine(self, index: int, seed: int) -> CountingEngine:
        return CountingEngine(seed)


@pytest.mark.usefixtures("unused")
def test_a_runtime_may_bring_its_own_generators(monkeypatch):
    monkeypatch.setattr(BACKEND, "runtime", CountingRuntime())
    torch.manual_seed(7)
    default = default_generator_of("sim", 1)
    assert isinstance(default.engine, CountingEngine) and default.initial_seed() == 7
    generator = torch.Generator("sim").manual_seed(9)
    generator.set_offset(32)
    state = generator.get_state()
    assert state.numel() == 16 and state.device == torch.device("cpu")
    generator.seed()
    assert generator.get_offset() == 0
    generator.set_state(state)
    assert (generator.initial_seed(), generator.get_offset()) == (9, 32)
    with pytest.raises(NotImplementedError, match=r"uniform_ has no kernel for device 'sim'.*must give a kernel"):
        torch.rand(3, device="sim")


# Pinned memory


def test_pinned_memory_is_the_accelerators():
    x = torch.arange(6.0).view(2, 3).t()
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned()
    assert pinned[1:].is_pinned() and pinned.untyped_storage().is_pinned()
    assert pinned.pin_memory() is pinned
    assert torch.equal(pinned, x) and pinned.stride() == x.stride() and not pinned.is_contiguous()
    assert x.untyped_storage().pin_memory().is_pinned()
    BACKEND.devices = 0
    assert not pinned.is_pinned()
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        x.pin_memory()


@pytest.mark.parametrize(
    "make",
    [torch.empty, torch.zeros, torch.rand, torch.arange, torch.eye, torch.hann_window, torch.randperm],
)
def test_factories_pin_what_they_make(make):
    assert make(3, pin_memory=True).is_pinned()
    assert not make(3).is_pinned()
    assert not make(3, pin_memory=True, device="meta").is_pinned()
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.zeros(3, pin_memory=True, device="sim")
    assert torch.tensor([1, 2], pin_memory=True).is_pinned()
    BACKEND.devices = 0
    with pytest.raises(RuntimeError, match="pin_memory=True requires a CUDA or other accelerator backend"):
        make(3, pin_memory=True)


def test_gradients_pass_a_pinned_copy():
    pytest.importorskip("mt_autograd")
    x = torch.ones(3, requires_grad=True)
    pinned = x.pin_memory()
    assert pinned.grad_fn.name() == "PinMemoryBackward0"
    (pinned * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_copies_of_pinned_memory_do_not_keep_the_host_waiting():
    host = torch.ones(3, pin_memory=True)
    there = host.to("sim", non_blocking=True)
    host.fill_(7)  # too early: the copy has not been done
    assert there.cpu().tolist() == [7, 7, 7]

    back = (there * 2).to("cpu", non_blocking=True)
    assert back.is_pinned() and back.tolist() == [0, 0, 0]
    BACKEND.runtime.synchronize(0)
    assert back.tolist() == [14, 14, 14]

    host.fill_(3)
    there.copy_(host, non_blocking=True)
    host.fill_(4)
    assert there.cpu().tolist() == [4, 4, 4]


@pytest.mark.parametrize("pin", [False, True])
def test_saved_tensors_wait_on_the_host(pin, monkeypatch):
    graph = pytest.importorskip("mt_autograd.graph")
    pinned, plain = [], BACKEND.runtime.pin
    monkeypatch.setattr(BACKEND.runtime, "pin", lambda nbytes: pinned.append(nbytes) or plain(nbytes))
    x = torch.ones(3).to("sim").requires_grad_(True)
    with graph.save_on_cpu(pin_memory=pin):
        y = x.exp()
    assert pinned == [12] * pin
    y.backward(torch.ones(3).to("sim"))
    assert torch.allclose(x.grad.cpu(), torch.ones(3).exp())


def test_copies_of_ordinary_memory_are_done_at_once():
    host = torch.ones(3)
    there = host.to("sim", non_blocking=True)
    host.fill_(7)
    assert there.cpu().tolist() == [1, 1, 1]
    assert not (there * 2).to("cpu").is_pinned()
    assert (there * 2).to("cpu", torch.float64, non_blocking=True).tolist() == [2, 2, 2]


# Graphs


def test_a_graph_does_again_what_was_recorded():
    rt = BACKEND.runtime
    x = torch.ones(3, device="sim")
    rt.synchronize(0)
    graph, stream = rt.graph(), rt.stream(0, 0)
    rt.set_stream(stream)
    graph.capture_begin(None, "global")
    assert rt.is_capturing(stream) and Stream.of_handle("sim", stream).is_capturing()
    y = x * 2
    y.add_(x)
    with pytest.raises(RuntimeError, match="operation not permitted when stream is capturing"):
        y.cpu()
    graph.capture_end()
    assert not rt.is_capturing(stream)
    stream.synchronize()
    assert values(y) == [0, 0, 0]
    for factor in 1, 5:
        x.fill_(factor)
        graph.replay()
        assert y.cpu().tolist() == [3 * factor] * 3


# DLPack


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.complex64, torch.float8_e4m3fn])
@pytest.mark.parametrize("index", [0, 1])
def test_dlpack_hands_over_device_memory(dtype, index):
    x = torch.arange(6).to(dtype).to(f"sim:{index}").view(2, 3).t()
    assert x.__dlpack_device__() == (12, index)
    for source in x, x.__dlpack__(), x.__dlpack__(max_version=(1, 0)):
        y = from_dlpack(source)
        assert y.device == x.device and y.dtype is dtype
        assert (y.shape, y.stride(), y.data_ptr()) == (x.shape, x.stride(), x.data_ptr())
    y.copy_(torch.arange(6).to(dtype).view(3, 2))
    assert torch.equal(x.cpu().to(torch.complex64), torch.arange(6).view(3, 2).to(torch.complex64))


def test_the_memory_lives_as_long_as_what_was_made_on_it():
    x = torch.full((4,), 3.0, device="sim")
    y = from_dlpack(x)
    x.cpu()
    del x
    assert y.cpu().tolist() == [3, 3, 3, 3]


def test_dlpack_orders_the_streams_of_the_two():
    default, side = BACKEND.runtime.default_stream(0).native, Stream("sim")
    x = torch.ones(3, device="sim")
    x.cpu()

    def received(**stream: int | None) -> list:
        with side:
            capsule = (x * 2).__dlpack__(**stream)
        return (from_dlpack(capsule) * 10).cpu().tolist()

    assert received(stream=default) == received(stream=None) == [20, 20, 20]
    with side:
        y = x * 3
    assert (from_dlpack(y) + 1).cpu().tolist() != [4, 4, 4], "y was made on a stream that is not current any more"
    with side:
        received = from_dlpack(x * 4)
        assert (received + 1).cpu().tolist() == [5, 5, 5]


def test_a_producer_is_told_which_stream_will_read():
    told, x = [], torch.ones(3, device="sim:1")

    class Producer:
        def __dlpack_device__(self) -> tuple[int, int]:
            return x.__dlpack_device__()

        def __dlpack__(self, **options: object) -> object:
            told.append(options)
            return x.__dlpack__()

    side = Stream("sim:1")
    with side:
        from_dlpack(Producer())
    from_dlpack(Producer())
    assert [options["stream"] for options in told] == [
        side.native_handle,
        BACKEND.runtime.default_stream(1).native,
    ]


def test_dlpack_of_what_no_backend_takes():
    capsule = torch.ones(2, device="sim").__dlpack__()
    BACKEND.devices = 0
    with pytest.raises(BufferError, match="DLPack memory of device type 12 cannot be used"):
        from_dlpack(capsule)
    with pytest.raises(ValueError, match="Unknown device type meta for Dlpack"):
        torch.empty(2, device="meta").__dlpack_device__()


# What is missing


def test_a_backend_without_a_runtime_says_so(monkeypatch):
    x = torch.ones(2, device="sim")
    monkeypatch.setattr(BACKEND, "runtime", None)
    assert contract.runtime_of("sim") is None
    assert contract.accelerator_type() is None, "a third party's device without a runtime is no accelerator"
    for use, part in (
        (lambda: Stream("sim"), "torch.Stream needs streams"),
        (lambda: Event("sim"), "torch.Event needs streams"),
        (lambda: x.record_stream(None), "Tensor.record_stream needs streams"),
    ):
        with pytest.raises(NotImplementedError, match=f"{part}, and the backend of device 'sim' has no device runtime"):
            use()
    assert torch.rand(2, device="sim:1").device == torch.device("sim:1")
    assert from_dlpack(x).cpu().tolist() == [1, 1]


def test_a_runtime_may_lack_parts(monkeypatch):
    class Partial:
        current_device = staticmethod(lambda: 0)
        stream = staticmethod(lambda index, priority: None)

    monkeypatch.setattr(BACKEND, "runtime", Partial())
    with pytest.raises(NotImplementedError, match="the device runtime of 'sim' lacks external_stream, default_stream"):
        Stream("sim")
    with pytest.raises(NotImplementedError, match="Tensor.pin_memory needs pinned memory.*lacks pin, is_pinned"):
        torch.ones(2).pin_memory()
    assert torch.rand(2, device="sim").to("cpu", non_blocking=True).is_pinned() is False


def test_there_is_nothing_to_run_without_devices():
    BACKEND.devices = 0
    for use in (lambda: Stream("sim"), lambda: torch.Generator("sim")):
        with pytest.raises(RuntimeError, match="'sim'"):
            use()
    with pytest.raises(RuntimeError, match="META device type not an accelerator"):
        torch.Generator("meta")


def test_the_protocol_lists_what_the_simulation_has():
    lacking = {part: contract._lacking(BACKEND.runtime, part) for part in PARTS}
    assert lacking == {part: ["engine"] if part == "generators" else [] for part in PARTS}
    assert PARTS["pinned memory"] == ("pin", "is_pinned", "copy_from_host", "copy_to_host")
