"""``torch.<device>`` and ``torch.accelerator`` over a device runtime, and what they say where there is none.

The devices are simulated (`mt_core.testing.simulated_runtime`). Their type is ``sim``, a third party's; a test runs
this file once more for each of the types that PyTorch, or a library of its users, has modules for.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mindtorch as torch
from mt_core.plugins.runtime import PARTS
from mt_core.testing.simulated_backend import simulated_devices

HERE = Path(__file__).parent
KIND = os.environ.get("MT_TEST_DEVICE", "sim")

with simulated_devices(KIND) as BACKEND:
    MODULE = getattr(torch, KIND)


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    """Two devices."""
    with simulated_devices(KIND):
        yield


@pytest.mark.skipif(KIND != "sim", reason="this is that run")
@pytest.mark.parametrize("kind", ["cuda", "npu"])
def test_the_modules_of_all_device_types_are_made_alike(kind):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__]
    ran = subprocess.run(
        command, env={**os.environ, "MT_TEST_DEVICE": kind}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout


def on(index: int) -> str:
    return f"{KIND}:{index}"


def values(tensor) -> list:
    """The elements as they are in memory now, without waiting for anything."""
    return tensor._array.host.tolist()


# Devices


def test_the_module_is_found_by_every_name():
    assert torch.get_device_module(KIND) is torch.get_device_module(torch.device(on(1))) is MODULE
    assert torch.get_device_module() is MODULE
    assert importlib.import_module(f"mindtorch.{KIND}") is MODULE
    for part in "memory", "streams", "random", "graphs":
        submodule = importlib.import_module(f"mindtorch.{KIND}.{part}")
        assert getattr(MODULE, part) is submodule
    assert importlib.import_module(f"mindtorch.{KIND}.memory").memory_allocated == MODULE.memory_allocated
    assert not hasattr(MODULE, "nonsense")


def test_there_are_devices():
    assert MODULE.is_available() and MODULE.is_initialized() and MODULE.device_count() == 2
    MODULE.init()
    assert MODULE.get_device_name(1) == MODULE.get_device_properties(on(1)).name == "Simulated device 1"
    assert MODULE.get_device_name() == "Simulated device 0"
    assert MODULE.get_device_capability(torch.device(on(1))) == (1, 1)
    assert MODULE.can_device_access_peer(0, 1) and not MODULE.can_device_access_peer(1, 1)
    assert MODULE.is_bf16_supported() is False


def test_the_current_device_is_where_tensors_are_made():
    assert MODULE.current_device() == 0
    MODULE.set_device(1)
    assert MODULE.current_device() == 1
    assert torch.empty(2, device=KIND).device == torch.device(on(1))
    MODULE.set_device(-1)
    assert MODULE.current_device() == 1
    MODULE.set_device(on(0))
    assert torch.empty(2, device=KIND).device == torch.device(on(0))
    for wrong in 2, on(7):
        with pytest.raises(RuntimeError, match="invalid device ordinal: there are 2 devices"):
            MODULE.set_device(wrong)
    with pytest.raises(ValueError, match=f"Expected a {KIND} device, but got: cpu"):
        MODULE.set_device("cpu")


def test_contexts_change_the_current_device_and_restore_it():
    with MODULE.device(1):
        assert MODULE.current_device() == 1
        with MODULE.device(on(0)), MODULE.device(None), MODULE.device(-1):
            assert MODULE.current_device() == 0
        with MODULE.device_of(torch.ones(1)):
            assert MODULE.current_device() == 1
        with MODULE.device(KIND):
            assert MODULE.current_device() == 1
        try:
            with MODULE.device_of(torch.empty(1, device=on(0))):
                assert MODULE.current_device() == 0
                raise ZeroDivisionError
        except ZeroDivisionError:
            assert MODULE.current_device() == 1
    assert MODULE.current_device() == 0
    with torch.accelerator.device_index(1):
        assert MODULE.current_device() == torch.accelerator.current_device_index() == 1
        with torch.accelerator.device_index(None):
            assert MODULE.current_device() == 1
    assert MODULE.current_device() == 0


def test_synchronize_waits_for_one_device():
    x, y = torch.ones(2).to(on(0)), torch.ones(2).to(on(1))
    assert values(x) != [1, 1] != values(y)
    MODULE.synchronize(1)
    assert values(x) != [1, 1] == values(y)
    MODULE.synchronize()
    assert values(x) == [1, 1]


# Streams


def test_streams():
    side = MODULE.Stream()
    assert isinstance(side, torch.Stream) and side.device == torch.device(on(0))
    assert side != MODULE.current_stream() == MODULE.default_stream()
    assert MODULE.Stream(on(1), priority=-2).priority == -2
    assert getattr(side, f"{KIND}_stream") == side.native_handle
    assert MODULE.ExternalStream(side.native_handle) == MODULE.get_stream_from_external(side.native_handle, 0) == side
    assert repr(side) == f"<torch.{KIND}.Stream device={on(0)} {KIND}_stream={side.native_handle:#x}>"
    x = torch.ones(2, device=KIND)
    with MODULE.stream(side):
        assert MODULE.current_stream() == side and isinstance(MODULE.current_stream(), MODULE.Stream)
        with MODULE.stream(None):
            side.wait_stream(MODULE.default_stream())
            y = x * 3
    assert MODULE.current_stream() == MODULE.default_stream()
    MODULE.current_stream().wait_stream(side)
    assert (y + 1).cpu().tolist() == [4, 4]
    other = MODULE.Stream(1)
    MODULE.set_stream(other)
    assert MODULE.current_device() == 1 and MODULE.current_stream() == torch.accelerator.current_stream() == other
    assert MODULE.current_stream(0) == MODULE.default_stream(0)


def test_events():
    start, end = MODULE.Event(enable_timing=True), MODULE.Event(enable_timing=True)
    assert isinstance(start, torch.Event) and start.query()
    assert repr(start) == f"<torch.{KIND}.Event uninitialized>"
    start.record()
    x = torch.ones(2, device=KIND) * 2
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0 and values(x) == [2, 2]
    side = MODULE.Stream(1)
    event = side.record_event()
    assert isinstance(event, MODULE.Event) and event.device == side.device
    later = MODULE.Event()
    later.record(side)
    assert later.device == torch.device(on(1)), "it goes where it is first recorded"
    with MODULE.device(1):
        y = torch.ones(3, device=KIND)
        marked = MODULE.current_stream().record_event()
        side.wait_event(marked)
        with side:
            z = y + 1
        later.record(side)
    later.synchronize()
    assert values(z) == [2, 2, 2]
    with pytest.raises(NotImplementedError, match="no events for several processes"):
        MODULE.Event(interprocess=True).record()


# Memory


def test_memory_statistics():
    before = MODULE.memory_allocated()
    assert torch.accelerator.memory_allocated() == before
    x = torch.empty(1 << 10, device=KIND)
    assert MODULE.memory_allocated() == MODULE.memory_allocated(on(0)) == before + 4096
    del x
    assert MODULE.memory_allocated() == before
    assert MODULE.max_memory_allocated() >= before + 4096
    assert MODULE.memory_reserved() >= before + 4096
    MODULE.reset_peak_memory_stats()
    assert MODULE.max_memory_reserved() >= MODULE.max_memory_allocated() + 4096
    accelerator = torch.accelerator
    assert accelerator.memory_reserved(0) == MODULE.memory_reserved() > MODULE.memory_allocated()
    assert accelerator.max_memory_reserved(0) == MODULE.max_memory_reserved()
    assert accelerator.max_memory_allocated(0) == MODULE.max_memory_allocated()
    MODULE.empty_cache()
    assert MODULE.memory_reserved() == MODULE.memory_cached() == before
    MODULE.reset_peak_memory_stats()
    assert MODULE.max_memory_allocated() == MODULE.max_memory_reserved() == before
    stats = MODULE.memory_stats()
    assert list(stats) == sorted(stats) and stats == torch.accelerator.memory_stats(0)
    assert MODULE.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["peak"] == before
    assert "allocated_bytes.all.peak" in MODULE.memory_summary(abbreviated=True)
    assert stats["allocated_bytes.all.freed"] >= 4096
    MODULE.reset_accumulated_memory_stats()
    assert MODULE.memory_stats()["allocated_bytes.all.freed"] == 0


def test_memory_limits():
    free, total = MODULE.mem_get_info(1)
    assert (free, total) == torch.accelerator.get_memory_info(on(1)) and 0 < free <= total
    assert total == MODULE.get_device_properties(1).total_memory
    MODULE.set_per_process_memory_fraction(0.25, 1)
    assert MODULE.get_per_process_memory_fraction(1) == 0.25
    with pytest.raises(torch.OutOfMemoryError, match="out of memory. Tried to allocate"):
        torch.empty(total, dtype=torch.uint8, device=on(1))
    with pytest.raises(TypeError, match="Invalid type for fraction argument, must be `float`"):
        MODULE.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match=r"Invalid fraction value: 1.5. Allowed range: 0~1"):
        MODULE.set_per_process_memory_fraction(1.5)


# Random numbers


def test_seeds_and_states_of_each_device():
    torch.manual_seed(8)
    assert MODULE.initial_seed() == 8 and [g.initial_seed() for g in MODULE.default_generators] == [8, 8]
    MODULE.manual_seed(9)
    with MODULE.device(1):
        assert MODULE.initial_seed() == 8
        MODULE.seed()
        assert MODULE.initial_seed() != 8
    assert MODULE.initial_seed() == 9
    MODULE.manual_seed_all(10)
    assert [g.initial_seed() for g in MODULE.default_generators] == [10, 10]
    assert torch.initial_seed() == 8
    state = MODULE.get_rng_state(1)
    x = torch.rand(3, device=on(1)).cpu()
    assert torch.equal(torch.rand(3, device=on(0)).cpu(), x)
    MODULE.set_rng_state(state, on(1))
    assert torch.equal(torch.rand(3, device=on(1)).cpu(), x)
    states = MODULE.get_rng_state_all()
    MODULE.seed_all()
    assert len({g.initial_seed() for g in MODULE.default_generators} - {10}) == 1
    MODULE.set_rng_state_all(states)
    assert all(torch.equal(a, b) for a, b in zip(MODULE.get_rng_state_all(), states, strict=True))
    assert torch.seed() == MODULE.initial_seed()


def test_fork_rng_keeps_all_devices(monkeypatch):
    monkeypatch.setattr(torch.random, "_warned", False)
    torch.manual_seed(5)
    with pytest.warns(UserWarning, match=f"{KIND.upper()} reports that you have 2 available devices"):
        with torch.random.fork_rng(device_type=KIND):
            torch.manual_seed(6)
    with torch.random.fork_rng(devices=range(2), device_type=KIND):
        torch.manual_seed(7)
    assert [g.initial_seed() for g in MODULE.default_generators] == [5, 5]


def test_the_states_of_the_devices_of_tensors():
    checkpoint = torch.utils.checkpoint
    torch.manual_seed(3)
    x, y = torch.ones(2, device=on(1)), torch.ones(2, device=on(0))
    devices, states = checkpoint.get_device_states(1, torch.ones(2), [x, {"y": (y,)}], torch.ones(2, device="meta"))
    assert devices == [1, 0] and all(torch.equal(a, b) for a, b in zip(states, (MODULE.get_rng_state(1),) * 2))
    drawn = [torch.rand(2, device=on(index)).cpu() for index in devices]
    checkpoint.set_device_states(devices, states, device_type=KIND)
    assert [torch.rand(2, device=on(index)).tolist() for index in devices] == [t.tolist() for t in drawn]
    checkpoint.set_device_states(devices[:1], states[:1])
    assert torch.equal(torch.rand(2, device=on(1)).cpu(), drawn[0])
    assert not torch.equal(torch.rand(2, device=on(0)).cpu(), drawn[1])
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        checkpoint.set_device_states([2], states, device_type=KIND)


def test_the_device_type_that_checkpoints_take_by_default(monkeypatch):
    checkpoint = torch.utils.checkpoint
    default = checkpoint.DefaultDeviceType
    monkeypatch.setattr(default, "_default_device_type", None)
    assert default.get_device_type() == torch.accelerator.current_accelerator().type
    assert checkpoint.get_device_states(torch.ones(2), 3) == ([], [])
    default.set_device_type("cpu")
    assert default.get_device_type() == "cpu" and checkpoint.set_device_states([], []) is None
    with pytest.raises(AttributeError, match="module 'torch.cpu' has no attribute 'device'"):
        checkpoint.set_device_states([0], [torch.get_rng_state()])
    default.set_device_type()
    assert default.get_device_type() == "cuda"
    with simulated_devices("other"):
        two = torch.ones(2, device=on(1)), torch.ones(2, device="other")
        with pytest.warns(UserWarning, match="on at least two types of devices"):
            assert checkpoint.get_device_states(*two)[0] == [1]


def test_dropout_of_a_network_on_the_device():
    torch.manual_seed(1)
    expected = torch.nn.functional.dropout(torch.ones(40), 0.25)
    torch.manual_seed(1)
    assert torch.equal(torch.nn.functional.dropout(torch.ones(40).to(KIND), 0.25).cpu(), expected)


# Graphs


def graphs() -> Iterator[tuple]:
    """Each way to record: the graph, and the context that records."""
    graph = MODULE.graphs.__dict__[MODULE.make_graphed_callables.__self__.Graph.__name__]()
    yield graph, MODULE.graph(graph)
    graph = MODULE.graphs.__dict__[MODULE.make_graphed_callables.__self__.Graph.__name__]()
    yield graph, MODULE.graph(graph, pool=MODULE.graph_pool_handle(), stream=MODULE.Stream())


def test_graphs_do_again_what_was_recorded():
    x = torch.ones(3, device=KIND)
    for graph, recording in graphs():
        x.fill_(1)
        assert not MODULE.is_current_stream_capturing()
        with recording:
            assert MODULE.is_current_stream_capturing()
            y = x * 2
        assert not MODULE.is_current_stream_capturing() and graph.pool() is not None
        assert MODULE.current_stream() == MODULE.default_stream()
        MODULE.synchronize()
        assert values(y) != [2, 2, 2]
        for factor in 1, 4:
            x.fill_(factor)
            graph.replay()
            assert y.cpu().tolist() == [2 * factor] * 3
        graph.reset()


def test_graphs_of_the_accelerator():
    x = torch.ones(3, device=KIND)
    graph = torch.accelerator.Graph()
    stream = torch.Stream()
    with stream, graph:
        x += 1
    assert x.cpu().tolist() == [1, 1, 1]
    graph.replay()
    graph.replay()
    assert x.cpu().tolist() == [3, 3, 3]
    with pytest.raises(NotImplementedError, match="keep_graph=True"):
        torch.accelerator.Graph(keep_graph=True)


# Graphed callables


class Scaled(torch.nn.Module):
    """exp(x) * weight, and its double, with the kernels that simulated devices have."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 2.0).to(KIND))
        self.register_buffer("shift", torch.ones(3).to(KIND))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = (x + self.shift).exp() * self.weight
        return {"once": y, "twice": (y + y,)}


def sample(value: float = 0.0, requires_grad: bool = True) -> torch.Tensor:
    return torch.full((3,), float(value)).to(KIND).requires_grad_(requires_grad)


def step(program, value: float) -> list[list[float]]:
    """The results of a call and the gradients that it leads to, and none of it computed before it is asked for."""
    x = sample(value)
    program.weight.grad = None
    results = program(x)
    results["twice"][0].backward(torch.full((3,), 0.5).to(KIND))
    return [t.cpu().tolist() for t in (results["once"], *results["twice"], x.grad, program.weight.grad)]


def test_a_graphed_module_computes_what_the_module_does():
    expected = [step(Scaled(), value) for value in (0.0, 1.0, -2.0)]
    module = Scaled()
    assert MODULE.make_graphed_callables(module, (sample(),), num_warmup_iters=2) is module
    assert module.calls == 3, "each warm-up is a call, and so is the recording"
    assert [step(module, value) for value in (0.0, 1.0, -2.0)] == expected
    assert module.calls == 3
    with torch.no_grad():
        module.weight.mul_(3)
    assert step(module, 1.0)[0] == pytest.approx([3 * v for v in expected[1][0]])
    assert not module(sample(1.0, requires_grad=False).detach())["once"].cpu().isnan().any()


def test_a_graphed_module_replays_in_its_mode_only():
    module = MODULE.make_graphed_callables(Scaled(), (sample(),), 1)
    calls = module.calls
    module.eval()
    step(module, 1.0)
    assert module.calls == calls + 1
    module.train()
    step(module, 1.0)
    assert module.calls == calls + 1
    seen = []
    module.register_forward_hook(lambda *given: seen.append(given))
    step(module, 1.0)
    assert len(seen) == 1 and module.calls == calls + 1


def test_several_graphed_callables_share_a_pool(monkeypatch):
    module, pool, graphs = Scaled(), MODULE.graph_pool_handle(), []
    kind = type(BACKEND.runtime.graph())
    begin = kind.capture_begin

    def capture_begin(graph, pool, mode):
        graphs.append(pool)
        begin(graph, pool, mode)

    monkeypatch.setattr(kind, "capture_begin", capture_begin)
    samples = (sample(1), sample(2)), (sample(),)
    first, second = MODULE.make_graphed_callables((lambda x, y: x * y, module), samples, pool=pool)
    assert second is module and graphs == [pool] * 4
    for value in 1.0, 0.25:
        x, y = sample(value), sample(3.0, requires_grad=True)
        result = first(x, y)
        assert type(result) is torch.Tensor and result.cpu().tolist() == [3 * value] * 3
        second(result)["once"].backward(torch.ones(3).to(KIND))
        grad = (second(first(sample(value), sample(3.0)))["once"] * 3).cpu()
        assert torch.equal(x.grad.cpu(), grad)


def test_results_without_gradients_have_no_backward():
    graphed = MODULE.make_graphed_callables(lambda x: x * 2, (sample(1, requires_grad=False),), 0)
    result = graphed(sample(4, requires_grad=False))
    assert not result.requires_grad and result.cpu().tolist() == [8, 8, 8]


def test_unused_inputs_of_graphed_callables():
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used"):
        MODULE.make_graphed_callables(lambda x, y: x * 2, (sample(), sample()))
    assert not MODULE.is_current_stream_capturing()
    graphed = MODULE.make_graphed_callables(lambda x, y: x * 2, (sample(), sample()), allow_unused_input=True)
    x, y = sample(1), sample(1)
    graphed(x, y).backward(torch.ones(3).to(KIND))
    assert x.grad.cpu().tolist() == [2, 2, 2] and y.grad is None


def test_graphed_callables_cannot_be_differentiated_twice():
    graphed, x = MODULE.make_graphed_callables(lambda x: x * x, (sample(1),)), sample(3)
    ones = torch.ones(3).to(KIND)
    (grad,) = torch.autograd.grad(graphed(x), x, ones.requires_grad_(), create_graph=True)
    assert grad.cpu().tolist() == [6, 6, 6]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.backward(torch.ones(3).to(KIND))


def refused_for_graphs() -> Iterator[tuple]:
    """Callable and arguments that cannot be recorded, and what PyTorch says about them."""
    hooked, trainable = Scaled(), Scaled()
    hooked.register_forward_pre_hook(lambda *given: None)
    trainable.shift.requires_grad_()
    yield hooked, (sample(),), "Modules must not have hooks registered at the time they are passed"
    yield trainable, (sample(),), "only parameters may be trainable. All buffers must have ``requires_grad=False``"
    yield Scaled(), ([sample(), 3],), "sample_args for each callable must contain only Tensors"


def test_what_cannot_be_graphed(monkeypatch):
    for program, arguments, text in refused_for_graphs():
        with pytest.raises(AssertionError, match=text.replace(".", "[.]")):
            MODULE.make_graphed_callables(program, arguments)
    amp = importlib.import_module("mindtorch.amp.autocast_mode")
    monkeypatch.setattr(amp, "is_autocast_enabled", lambda: True)
    with pytest.raises(RuntimeError, match="does not support the autocast caching"):
        MODULE.make_graphed_callables(Scaled(), (sample(),))


# The accelerator


def test_the_accelerator_is_the_device():
    accelerator = torch.accelerator
    assert accelerator.is_available() and accelerator.device_count() == 2
    assert accelerator.current_accelerator() == accelerator.current_accelerator(True) == torch.device(KIND)
    accelerator.set_device_index(1)
    assert accelerator.current_device_index() == accelerator.current_device_idx() == MODULE.current_device() == 1
    x = torch.ones(2, device=KIND)
    accelerator.synchronize()
    assert values(x) == [1, 1]
    stream = torch.Stream(on(1))
    accelerator.set_stream(stream)
    assert accelerator.current_stream() == stream == MODULE.current_stream()
    assert torch.float32 in accelerator.get_device_capability()["supported_dtypes"]
    accelerator.reset_peak_memory_stats()
    assert accelerator.max_memory_allocated() == accelerator.memory_allocated(1)
    accelerator.reset_accumulated_memory_stats(1)
    accelerator.empty_cache()
    assert accelerator.max_memory_reserved() >= accelerator.memory_reserved()
    for wrong in "cpu", "meta":
        with pytest.raises(RuntimeError, match="Accelerator expected"):
            accelerator.synchronize(wrong)
    with pytest.raises(ValueError, match=f"xpu doesn't match the current accelerator {KIND}"):
        accelerator.synchronize("xpu")


# Tensors, modules, sequences


def test_methods_named_after_the_device():
    moved = getattr(torch.ones(2), KIND)()
    assert moved.device == torch.device(on(0)) and getattr(moved, f"is_{KIND}")
    assert not getattr(torch.ones(2), f"is_{KIND}")
    assert getattr(torch.ones(2), KIND)(1, non_blocking=True).device == torch.device(on(1))
    with MODULE.device(1):
        assert getattr(torch.ones(2), KIND)().device == torch.device(on(1))
    with pytest.raises(RuntimeError, match=f"Invalid device, must be {KIND} device"):
        getattr(torch.ones(2), KIND)("cpu")
    layer = getattr(torch.nn.Linear(2, 3), KIND)(1)
    assert {p.device for p in layer.parameters()} == {torch.device(on(1))}
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])
    assert not getattr(packed, f"is_{KIND}") and getattr(getattr(packed, KIND)(), f"is_{KIND}")
    storage = getattr(torch.ones(2).untyped_storage(), KIND)()
    assert storage.device == moved.device and getattr(storage, f"is_{KIND}")


def test_functions_and_classes_can_be_pickled():
    for cls in MODULE.Stream, MODULE.Event, MODULE.device, MODULE.StreamContext:
        assert pickle.loads(pickle.dumps(cls)) is cls
        assert repr(cls) in (f"<class 'mindtorch.{KIND}.{cls.__name__}'>", f"<class 'torch.{KIND}.{cls.__name__}'>")
    assert pickle.loads(pickle.dumps(MODULE.is_available))() is True


@pytest.mark.skipif(KIND != "cuda", reason="other devices have no types of their own")
def test_types_of_cuda_tensors():
    x = torch.cuda.FloatTensor([1, 2])
    assert x.is_cuda and x.cpu().tolist() == [1, 2] and isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(torch.ones(2), torch.cuda.FloatTensor)
    assert torch.cuda.LongStorage(3).device.type == "cuda"


# What is missing

#: Functions that need no runtime, or that raise for another reason.
FREE = {
    "device", "device_count", "device_of", "is_available", "is_initialized", "init", "manual_seed", "manual_seed_all",
    "seed", "seed_all", "initial_seed", "get_rng_state", "get_rng_state_all", "set_rng_state", "set_rng_state_all",
    "stream", "StreamContext", "host_memory_stats", "host_memory_stats_as_nested_dict",
}  # fmt: skip
CALLS = {"can_device_access_peer": (0, 1), "set_device": (0,), "get_stream_from_external": (0,), "graph": (None,),
         "set_stream": (torch.Stream("cpu"),), "set_per_process_memory_fraction": (0.5,),
         "ExternalStream": (0,), "make_graphed_callables": (abs, ())}  # fmt: skip


def functions_that_need_a_runtime() -> list[str]:
    functions = type(MODULE.is_available.__self__)
    public = [name for name in dir(functions) if not name.startswith("_") and hasattr(MODULE, name)]
    return sorted({*public, "Stream", "Event", "ExternalStream", "graph"} - FREE - {"default_generators"})


@pytest.mark.parametrize("name", functions_that_need_a_runtime())
def test_a_device_without_a_runtime_says_what_it_lacks(name, monkeypatch):
    monkeypatch.setattr(BACKEND, "runtime", None)
    with pytest.raises(NotImplementedError, match=f"the backend of device '{KIND}' has no device runtime"):
        getattr(MODULE, name)(*CALLS.get(name, ()))


@pytest.mark.parametrize("name", functions_that_need_a_runtime())
def test_a_device_without_any_part_says_which_it_lacks(name, monkeypatch):
    monkeypatch.setattr(BACKEND, "runtime", type("Runtime", (), {"current_device": staticmethod(lambda: 0)})())
    with pytest.raises(NotImplementedError, match=f"needs .*the device runtime of '{KIND}' lacks [a-z]"):
        getattr(MODULE, name)(*CALLS.get(name, ()))


def test_the_accelerator_is_consistent_without_a_runtime(monkeypatch):
    monkeypatch.setattr(BACKEND, "runtime", None)
    accelerator = torch.accelerator
    if KIND == "sim":
        assert not accelerator.is_available() and accelerator.current_accelerator() is None
        error, text = RuntimeError, "Cannot access accelerator device when none is available"
    else:
        assert accelerator.is_available() and accelerator.device_count() == 2
        error, text = NotImplementedError, f"the backend of device '{KIND}' has no device runtime"
    for use in (
        accelerator.synchronize, accelerator.current_device_index, accelerator.current_stream, accelerator.memory_stats,
        accelerator.empty_cache, accelerator.get_memory_info, accelerator.get_device_capability, accelerator.Graph,
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            use()
    assert torch.rand(2, device=KIND).cpu().shape == (2,)


def test_runtimes_may_add_to_the_module(monkeypatch):
    with pytest.raises((NotImplementedError, AttributeError), match="utilization"):
        MODULE.utilization()
    monkeypatch.setattr(BACKEND.runtime, "members", {"utilization": lambda device=None: 77}, raising=False)
    assert MODULE.utilization() == 77


def test_nothing_works_without_devices():
    BACKEND.devices = 0
    assert not MODULE.is_available() and MODULE.device_count() == MODULE.memory_allocated() == 0
    MODULE.manual_seed(3), MODULE.seed_all(), MODULE.empty_cache()
    assert MODULE.get_rng_state_all() == [] and MODULE.default_generators == ()
    for use in (MODULE.synchronize, MODULE.current_device, lambda: MODULE.set_device(0)):
        with pytest.raises(AssertionError, match=f"Torch not compiled with {KIND.upper()} enabled"):
            use()
    with pytest.raises(RuntimeError, match="Tried to instantiate dummy base class Event"):
        MODULE.Event()
    if KIND != "cuda":  # whose module is always there, where the others have no devices
        assert torch.get_device_module() is torch.cpu


def test_a_seed_and_a_state_hold_for_devices_that_come_later(monkeypatch):
    monkeypatch.setattr(importlib.import_module("mt_core.random.devices"), "_generators", {})
    state = torch.Generator().manual_seed(77).get_state()
    BACKEND.devices = 0
    MODULE.manual_seed_all(12)
    MODULE.set_rng_state(state, 1)
    BACKEND.devices = 2
    assert [g.initial_seed() for g in MODULE.default_generators] == [12, 77]


# What PyTorch says without devices

#: Module -> name -> why mindtorch says something else.
DIFFERENT = {
    "accelerator": {"set_stream": "PyTorch checks the type of the argument before it looks for a device"},
    "cuda": {
        **dict.fromkeys(
            ("CudaError", "GreenContext", "caching_allocator_disabled", "check_error",
             "cudaStatus"),
            "parts of PyTorch's own CUDA code",
        ),
        "CUDAPluggableAllocator": "PyTorch looks for the library of the allocator first",
        "list_gpu_processes": "a text about a Python package in the place of a list",
        "memory_summary": "PyTorch fails on the way, by KeyError",
        "use_mem_pool": "PyTorch refuses when the context is entered",
    },
    "mps": {},
    "mtia": {
        **dict.fromkeys(["DeferredMtiaCallError", "is_fbcode", "is_prod"], "parts of PyTorch's own MTIA code"),
        "is_bf16_supported": "PyTorch says yes without looking for a device",
        "memory_stats": "an empty dict of another class",
        "record_memory_history": "PyTorch records nothing, without a word",
        "reset_peak_memory_stats": "PyTorch resets nothing, without a word",
        **dict.fromkeys(["get_rng_state", "init", "initial_seed"], "PyTorch names Meta's own build targets"),
    },
    "xpu": {
        **dict.fromkeys(["byref", "pointer"], "imported there by accident"),
        "XPUPluggableAllocator": "PyTorch looks for the library of the allocator first",
        "use_mem_pool": "PyTorch refuses when the context is entered",
    },
}  # fmt: skip


def outcomes() -> dict[str, dict[str, list[str]]]:
    return json.loads((HERE / "snapshots" / "device_modules.json").read_text())


def agrees(found: list[str], expected: list[str]) -> bool:
    """Whether an outcome is PyTorch's; texts may go on after PyTorch's."""
    if found[0] != expected[0] or found[0] != "error":
        return found == expected
    kind, text = expected[1:]
    if "'torch._C' has no attribute" in text or "nvidia-ml-py" in text or "pyzes" in text:
        # What PyTorch's build or machine happens to lack; we say that there is no device.
        return found[1] in ("AssertionError", "RuntimeError")
    return found[1] == kind and found[2].startswith(text.rstrip("."))


@pytest.mark.skipif(KIND != "sim", reason="once is enough")
@pytest.mark.parametrize(
    ("submodule", "missing"),
    [
        ("cuda.memory", {"caching_allocator_disabled"}),
        ("cuda.random", set()),
        ("cuda.graphs", set()),
        ("xpu.memory", set()),
        ("xpu.random", set()),
        ("xpu.graphs", set()),
        ("mtia.memory", set()),
        ("accelerator.memory", set()),
        ("accelerator.graphs", set()),
    ],
)
def test_submodules_have_the_names_that_they_have_in_pytorch(submodule, missing):
    names = json.loads((HERE / "snapshots" / "device_modules.json").read_text())["names"][submodule]
    module = importlib.import_module(f"mindtorch.{submodule}")
    assert {name for name in names if not hasattr(module, name)} == missing


@pytest.mark.skipif(KIND != "sim", reason="once is enough")
@pytest.mark.parametrize("module", sorted(DIFFERENT))
def test_without_devices_everything_is_as_in_pytorch(module):
    BACKEND.devices = 0
    calls = importlib.util.spec_from_file_location("device_calls", HERE / "snapshots" / "device_calls.py")
    device_calls = importlib.util.module_from_spec(calls)
    calls.loader.exec_module(device_calls)
    different = {
        name for name, expected in outcomes()[module].items()
        if not hasattr(getattr(torch, module), name)
        or not agrees(device_calls.outcome(torch, module, name), expected)
    }  # fmt: skip
    assert different == set(DIFFERENT[module])


def test_pinning_is_an_operator_that_modes_see() -> None:
    seen = []

    class Seeing(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    pin = torch.ops.aten._pin_memory.default
    x = torch.arange(3.0)
    with Seeing():
        pinned = x.pin_memory()
        assert pinned.pin_memory() is pinned
    assert seen.count(pin) == 1
    again = pin(pinned)
    assert again.is_pinned() and again.data_ptr() != pinned.data_ptr()
    assert pin(x, torch.device(KIND)).is_pinned()
    with pytest.raises(RuntimeError, match="CPU device type not an accelerator"):
        pin(x, torch.device("cpu"))
    with pytest.raises(RuntimeError, match="cannot pin 'MetaFloatType' only dense CPU tensors can be pinned"):
        pin(torch.ones(2, device="meta"))
    x.requires_grad_()
    assert x.pin_memory().grad_fn.name() == "PinMemoryBackward0"


def test_every_part_of_the_protocol_is_reached_by_some_function():
    """No method of a runtime is there for nothing: all are called in this file, or by tensors."""
    called = set()
    plain = BACKEND.runtime

    class Watched:
        def __getattr__(self, name):
            called.add(name)
            return getattr(plain, name)

    BACKEND.runtime = Watched()
    try:
        for test in (
            test_there_are_devices, test_the_current_device_is_where_tensors_are_made, test_streams, test_events,
            test_memory_statistics, test_memory_limits, test_graphs_do_again_what_was_recorded,
            test_the_accelerator_is_the_device, test_synchronize_waits_for_one_device,
        ):  # fmt: skip
            test()
            plain.start_afresh()
        x = torch.ones(2, pin_memory=True).to(KIND, non_blocking=True)
        x.to("cpu", non_blocking=True)
        x.record_stream(MODULE.Stream())
        torch.manual_seed(0), MODULE.initial_seed()
    finally:
        BACKEND.runtime = plain
    expected = {method for part, methods in PARTS.items() if part != "generators" for method in methods}
    assert expected <= called
