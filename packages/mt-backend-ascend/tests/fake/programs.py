"""Programs on device ``npu`` of the fake CANN: ``python programs.py GROUP``. They assert.

A line of JSON for each: its name, and what went wrong. After each program the fake is asked for what it noted; what a
program expects of it, it takes itself by `noted`.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import mindtorch as torch
from mt_backend_ascend import aclnn, custom_kernel
from mt_backend_ascend.cann.errors import AclError
from mt_backend_ascend.custom_kernel import KernelLauncher, f32, struct, u32
from mt_core.plugins.discovery import PluginError, find_backend

PROGRAMS: dict[str, list[Callable[[], None]]] = {}
LIBRARIES = Path(os.environ["ASCEND_HOME_PATH"]) / "lib64"
FAKE = ctypes.CDLL(str(LIBRARIES / "libascendcl.so"), mode=ctypes.RTLD_GLOBAL)
FAKE.fake_violations.restype = ctypes.c_char_p
FAKE.fake_alive.restype = ctypes.c_long
KERNELS = LIBRARIES / "libkernels.so"
RUNTIME = find_backend("npu").runtime


def program(group: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def enter(function: Callable[[], None]) -> Callable[[], None]:
        PROGRAMS.setdefault(group, []).append(function)
        return function

    return enter


def noted() -> str:
    """What the fake has noted since it was last asked."""
    return str(FAKE.fake_violations().decode())


def fails(function: str, code: int) -> None:
    FAKE.fake_fail(function.encode(), code)


def raises(error: Any, words: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    try:
        function(*args, **kwargs)
    except error as caught:
        assert words in str(caught), f"{words!r} is not in {str(caught)!r}"
        return
    raise AssertionError(f"nothing was raised; wanted {words!r}")


def axpy() -> KernelLauncher:
    f = torch.float32
    return KernelLauncher(KERNELS, "axpy", (f, f, f, custom_kernel.f32, custom_kernel.u32))


def last_call() -> dict[str, str]:
    """The bits of every argument of the last call, the highest first."""
    library = ctypes.CDLL(str(KERNELS))
    library.last_call.restype = ctypes.c_char_p
    return dict(part.split("=") for part in library.last_call().decode().split())


# torch.npu


@program("all")
def devices() -> None:
    assert torch.npu.is_available() and torch.npu.device_count() == 4
    assert torch.npu.current_device() == 0 and torch.npu.get_device_name() == "Ascend910B3"
    torch.npu.set_device(2)
    assert torch.npu.current_device() == 2 and torch.empty(3, device="npu").device == torch.device("npu", 2)
    with torch.npu.device(1):
        assert torch.zeros(2, device="npu").device.index == 1
    torch.npu.set_device("npu:0")
    for index in (3, 0, 2):
        assert FAKE.fake_device_of(ctypes.c_uint64(torch.empty(3, device=f"npu:{index}").data_ptr())) == index
    properties = torch.npu.get_device_properties(3)
    assert (properties.name, properties.total_memory) == ("Ascend910B3", 256 << 20)
    assert (properties.cube_core_num, properties.vector_core_num, properties.L2_cache_size) == (20, 40, 192 << 20)
    assert "Ascend910B3" in repr(properties) and "256MB" in repr(properties)
    assert torch.npu.can_device_access_peer(0, 1) and torch.npu.is_bf16_supported()
    raises(RuntimeError, "there are 4 devices", torch.empty, 2, device="npu:4")
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(int(torch.ones(3, device="npu").cpu().sum())))
    thread.start()
    thread.join()
    assert seen == [3] and torch.npu.current_device() == 0


@program("all")
def copies_and_views() -> None:
    """What comes back is what was put there, of every dtype, through views and between devices."""
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                  torch.bfloat16, torch.float32):  # fmt: skip
        host = (torch.arange(24) % 5).reshape(2, 3, 4).to(dtype)
        there = host.to("npu")
        for take in (lambda t: t, lambda t: t.transpose(0, 2), lambda t: t[:, 1:, ::2], lambda t: t[1, 2, 3],
                     lambda t: t.expand(2, 2, 3, 4), lambda t: t[:0]):  # fmt: skip
            view = take(there)
            assert view.stride() == take(host).stride() and torch.equal(view.cpu(), take(host)), dtype
            assert torch.equal(view.clone().cpu(), take(host)) and torch.equal(view.contiguous().cpu(), take(host))
        other = there.to("npu:1")
        assert other.device.index == 1 and torch.equal(other.cpu(), host)
        there[:, 1:, ::2] = host[:, 1:, ::2].to("npu") if dtype is torch.bool else torch.full((2, 2, 2), 7, dtype=dtype)
        host[:, 1:, ::2] = host[:, 1:, ::2] if dtype is torch.bool else 7
        assert torch.equal(there.cpu(), host)
    x = torch.tensor([1.5, -2.5, 3.0]).to("npu")
    assert x.to(torch.int32).cpu().tolist() == [1, -2, 3] and x.bfloat16().float().cpu().tolist() == [1.5, -2.5, 3.0]
    assert torch.zeros(3, device="npu").cpu().tolist() == [0.0] * 3 and x.fill_(4).cpu().tolist() == [4.0] * 3
    assert torch.full((2,), 2.5, device="npu").cpu().tolist() == [2.5, 2.5]


@program("all")
def several_devices() -> None:
    """Each has its current stream, its events and its memory; copies between two wait for both, of every layout."""
    launch, n = axpy(), 4096
    sides = [torch.npu.Stream(i) for i in range(4)]
    assert [side.device.index for side in sides] == [0, 1, 2, 3]
    with torch.npu.stream(sides[2]):
        assert torch.npu.current_device() == 2 and torch.npu.current_stream(2) == sides[2]
        assert (
            torch.npu.current_stream(1) == torch.npu.default_stream(1)
            and torch.empty(1, device="npu").device.index == 2
        )
    assert torch.npu.current_device() == 0 and torch.npu.current_stream(2) == torch.npu.default_stream(2)
    before = [torch.npu.memory_allocated(i) for i in range(4)]
    tensors = [torch.full((n,), float(i + 1), device=f"npu:{i}") for i in range(4)]
    grown = [torch.npu.memory_allocated(i) - before[i] for i in range(4)]
    assert len(set(grown)) == 1 and grown[0] >= 4 * n
    torch.npu.synchronize(0)
    held = tensors[0]
    for i in (1, 2, 3, 0):  # around all devices, each on a stream of its own, whose work nobody waits for
        sides[i].wait_stream(torch.npu.default_stream(i))
        sides[i].wait_stream(torch.npu.default_stream(held.device.index))
        with torch.npu.stream(sides[i]):
            brought = held.to(f"npu:{i}")
            made = torch.empty(n, device=f"npu:{i}")
            launch(2, brought, tensors[i], made, 1, n)
            held = made
        torch.npu.default_stream(i).wait_stream(sides[i])
    assert held.device.index == 0 and held.cpu().unique().tolist() == [11.0]
    host = torch.arange(60.0).reshape(3, 4, 5)
    for take in (
        lambda t: t.transpose(0, 2),
        lambda t: t[1:, ::2],
        lambda t: t[0, 1].expand(2, 5),
        lambda t: t[..., :0],
    ):
        there = take(host.to("npu:3"))
        for dtype in (torch.float32, torch.int32, torch.bfloat16):
            assert torch.equal(there.to("npu:1", dtype).cpu(), take(host).to(dtype))
        target = torch.zeros(take(host).shape[::-1], device="npu:2").permute(*range(take(host).dim() - 1, -1, -1))
        assert torch.equal(target.copy_(there).cpu(), take(host))
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    with torch.npu.device(3):
        start.record()
        launch(1, tensors[3], tensors[3], tensors[3], 1, n)
        end.record()
    end.synchronize()
    assert start.elapsed_time(end) == 2.0 and tensors[3][0].item() == 8.0
    torch.npu.synchronize()


@program("all")
def refused_dtypes() -> None:
    for dtype in (torch.float64, torch.complex64, torch.complex128):
        raises(NotImplementedError, f"holds no tensors of {dtype}", torch.empty, 2, dtype=dtype, device="npu")
        raises(NotImplementedError, "holds no tensors of", torch.zeros(2, dtype=dtype).to, "npu")
    raises(NotImplementedError, "add", lambda: torch.ones(2, device="npu") + 1)


@program("all")
def random_numbers() -> None:
    torch.npu.manual_seed(3)
    first = torch.rand(4, device="npu")
    state = torch.npu.get_rng_state()
    second = torch.randn(3, device="npu").cpu()
    torch.npu.set_rng_state(state)
    assert torch.equal(torch.randn(3, device="npu").cpu(), second)
    assert torch.equal(first.cpu(), torch.rand(4, generator=torch.Generator().manual_seed(3)))
    assert torch.Generator("npu").manual_seed(5).initial_seed() == 5


@program("all")
def streams_and_events() -> None:
    side = torch.npu.Stream()
    assert side.npu_stream > 1 << 60 and side.npu_stream != torch.npu.current_stream().npu_stream
    launch = axpy()
    x = torch.ones(1000, device="npu")
    y, z = torch.full((1000,), 2.0, device="npu"), torch.empty(1000, device="npu")
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        assert torch.npu.current_stream() == side
        start.record()
        launch(8, x, y, z, 0.5, 1000)
        launch(8, z, y, z, 1, 1000)
        end.record()
    assert not end.query()
    torch.npu.current_stream().wait_event(end)
    assert z.cpu().tolist() == [4.0] * 1000
    assert end.query() and start.elapsed_time(end) == 3.0
    side.synchronize()
    assert side.query()
    torch.npu.synchronize()
    assert torch.npu.ExternalStream(side.npu_stream).npu_stream == side.npu_stream
    raises(NotImplementedError, "several processes", torch.npu.Event(interprocess=True).record)


@program("all")
def unordered_streams_are_seen() -> None:
    """The fake's own check: a stream that reads what another still writes is noted."""
    side, launch = torch.npu.Stream(), axpy()
    x, z = torch.ones(64, device="npu"), torch.empty(64, device="npu")
    torch.npu.synchronize()
    launch(1, x, x, z, 1, 64)
    with torch.npu.stream(side):
        launch(1, z, x, x, 1, 64)
    assert "race: stream" in noted()
    torch.npu.synchronize()


@program("all")
def freed_memory_waits_for_streams() -> None:
    """`record_stream` keeps memory from other tensors; without it, the fake sees the race."""
    launch, side = axpy(), torch.npu.Stream()
    for recorded in (True, False):
        x, out = torch.ones(5000, device="npu"), torch.empty(5000, device="npu")
        address = x.data_ptr()
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            launch(1, x, x, out, 1, 5000)
        if recorded:
            x.record_stream(side)
        del x
        other = torch.full((5000,), 9.0, device="npu")
        assert (other.data_ptr() == address) is not recorded
        torch.npu.synchronize()
        if recorded:
            assert out.cpu().tolist() == [2.0] * 5000 and not noted()
        else:
            assert "race" in noted()
        del other, out
        torch.npu.empty_cache()


@program("all")
def memory() -> None:
    torch.npu.empty_cache()
    gc.collect()
    before = torch.npu.memory_allocated()
    free, total = torch.npu.mem_get_info()
    torch.npu.reset_peak_memory_stats()
    x = torch.empty(3 << 20, dtype=torch.uint8, device="npu")
    assert torch.npu.memory_allocated() - before == (3 << 20) + 512  # 32 bytes more, in pieces of 512
    assert torch.npu.memory_reserved() >= torch.npu.memory_allocated() and total == 256 << 20
    assert torch.npu.mem_get_info()[0] == free - (20 << 20)
    y = torch.empty(8 << 20, dtype=torch.uint8, device="npu")
    assert torch.npu.mem_get_info()[0] == free - (20 << 20)  # the same segment
    peak = torch.npu.max_memory_allocated()
    del x, y
    assert torch.npu.memory_allocated() == before and torch.npu.max_memory_allocated() == peak
    assert torch.npu.mem_get_info()[0] == free - (20 << 20)
    torch.npu.empty_cache()
    assert torch.npu.mem_get_info()[0] == free
    stats = torch.npu.memory_stats()
    assert stats["allocated_bytes.all.current"] == before and stats["num_ooms"] == 0
    assert "allocated_bytes.all.peak" in torch.npu.memory_summary()


@program("all")
def random_allocations() -> None:
    """Pieces never overlap while they live, neighbours join again, and all of it is given back in the end."""
    torch.npu.empty_cache()
    random = numpy.random.default_rng(0)
    free = torch.npu.mem_get_info(3)[0]
    alive: list[Any] = []
    for _ in range(600):
        if alive and random.random() < 0.5:
            alive.pop(int(random.integers(len(alive))))
        else:
            nbytes = int(2 ** random.uniform(0, 22))
            alive.append(torch.empty(nbytes, dtype=torch.uint8, device="npu:3"))
        places = sorted((t.data_ptr(), t.data_ptr() + t.numel()) for t in alive)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    alive.clear()
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved(3) == 0 and torch.npu.mem_get_info(3)[0] == free


@program("all")
def out_of_memory() -> None:
    torch.npu.empty_cache()
    x = torch.empty(100 << 20, dtype=torch.uint8, device="npu:2")
    try:
        torch.empty(200 << 20, dtype=torch.uint8, device="npu:2")
    except torch.OutOfMemoryError as error:
        text = str(error)
    assert text.startswith(
        "NPU out of memory. Tried to allocate 200.00 MiB (NPU 2; 256.00 MiB total capacity; 100.00 MiB already "
        "allocated; 100.00 MiB current active; "
    ), text
    assert text.endswith("reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
                         "max_split_size_mb to avoid fragmentation.")  # fmt: skip
    assert torch.npu.memory_stats(2)["num_ooms"] == 1
    del x  # its segment is kept, and given back where there is no room otherwise
    assert torch.empty(200 << 20, dtype=torch.uint8, device="npu:2").numel() == 200 << 20
    torch.npu.empty_cache()
    torch.npu.set_per_process_memory_fraction(0.25, 2)
    raises(
        torch.OutOfMemoryError, "Tried to allocate 70.00 MiB", torch.empty, 70 << 20, dtype=torch.uint8, device="npu:2"
    )
    torch.npu.set_per_process_memory_fraction(1.0, 2)


@program("all")
def pinned_memory() -> None:
    host = torch.arange(100.0).pin_memory()
    assert host.is_pinned() and not torch.ones(2).is_pinned()
    there = host.to("npu", non_blocking=True)
    host.fill_(5)  # too early: nobody has waited
    assert there.cpu().tolist() == [5.0] * 100
    back = torch.empty(100, pin_memory=True)
    done = FAKE.fake_tasks_done()
    back.copy_(there, non_blocking=True)
    assert FAKE.fake_tasks_done() == done  # the copy waits for nobody
    torch.npu.current_stream().synchronize()
    assert back.tolist() == [5.0] * 100
    grid = torch.zeros(10, 10, device="npu")
    grid.t().copy_(torch.arange(100.0).reshape(10, 10).pin_memory(), non_blocking=True)
    assert torch.equal(grid.cpu(), torch.arange(100.0).reshape(10, 10).t())
    into = torch.empty(10, 10, pin_memory=True)
    into.copy_(grid.t(), non_blocking=True)
    torch.npu.synchronize()
    assert torch.equal(into, torch.arange(100.0).reshape(10, 10))
    del there, host, back, into
    torch.empty(1, pin_memory=True)  # what nothing refers to is freed, not before the copies are done


@program("all")
def errors_of_the_device() -> None:
    x = torch.ones(4, device="npu")
    KernelLauncher(KERNELS, "fails_later")(1, x)
    raises(AclError, "507015 (ACL_ERROR_RT_AICORE_EXCEPTION)", torch.npu.synchronize)
    fails("aclrtSynchronizeStream", 107020)
    raises(AclError, "EE9999: aclrtSynchronizeStream was told to fail", torch.npu.current_stream().synchronize)
    torch.npu.synchronize()


# Graphs


def recorded(body: Callable[[], Any], pool: Any = None) -> tuple[Any, Any]:
    graph = torch.npu.NPUGraph()
    # As in PyTorch, a recording that fails leaves its stream the current one.
    with torch.npu.stream(torch.npu.current_stream()), torch.npu.graph(graph, pool=pool):
        result = body()
    return graph, result


@program("graphs")
def graphs_are_replayed() -> None:
    """Kernels, copies and tiling data run at each replay, not before, on the memory that they were recorded with."""
    launch, tiled = axpy(), KernelLauncher(KERNELS, "tiled")
    x = torch.arange(1000.0).to("npu")
    host = torch.full((1000,), 2.0).pin_memory()
    bits = torch.zeros(ctypes.sizeof(Tiling), dtype=torch.uint8, device="npu")
    third = torch.zeros(5, device="npu")

    def body() -> Any:
        y = torch.empty(1000, device="npu")
        y.copy_(host, non_blocking=True)
        launch(4, x, y, y, 1, 1000)
        z = torch.empty(1000, device="npu")
        launch(4, y, y, z, 1, 1000)
        tiled(1, Tiling(7, 8, -1.5, -3, 2**63), bits)
        third.copy_(torch.full((5,), 3.0).pin_memory(), non_blocking=True)
        assert torch.npu.is_current_stream_capturing()
        return z

    done = FAKE.fake_tasks_done()
    graph, z = recorded(body)
    assert not torch.npu.is_current_stream_capturing()
    gc.collect()
    torch.empty(1, pin_memory=True)  # frees what nothing refers to
    rubbish = [torch.full((1000,), 9.0, device="npu") for _ in range(50)]
    torch.npu.synchronize()
    assert FAKE.fake_tasks_done() - done <= 60 and not bits.cpu().any()
    for value in (2.0, 5.0):
        host.fill_(value)
        graph.replay()
        assert torch.equal(z.cpu(), 2 * (torch.arange(1000.0) + value)) and len(rubbish) == 50
        assert Tiling.from_buffer_copy(bytes(bits.cpu().tolist())).seed == 2**63 and third.cpu().tolist() == [3.0] * 5
        x.fill_(0)
        graph.replay()
        assert z.cpu().unique().tolist() == [2 * value]
        x.copy_(torch.arange(1000.0))
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        graph.replay()
    graph.reset()  # waits for what still runs
    raises(RuntimeError, "replay without a preceding successful capture", graph.replay)


@program("graphs")
def several_streams_are_recorded() -> None:
    launch, side = axpy(), torch.npu.Stream()
    x = torch.ones(64, device="npu")
    torch.npu.synchronize()

    def body() -> Any:
        main = torch.npu.current_stream()
        y = torch.empty(64, device="npu")
        launch(1, x, x, y, 1, 64)
        side.wait_stream(main)
        with torch.npu.stream(side):
            assert torch.npu.is_current_stream_capturing()
            z = torch.empty(64, device="npu")
            launch(1, y, y, z, 1, 64)
            y.record_stream(side)
        main.wait_stream(side)
        brief = torch.npu.Stream()
        brief.wait_stream(main)
        main.wait_stream(brief)
        del brief  # it would be handed out again, with the recording that it belongs to
        with torch.npu.stream(torch.npu.Stream()):
            assert not torch.npu.is_current_stream_capturing()
        return z

    graph, z = recorded(body)
    for _ in range(300):
        torch.npu.Event().record()  # retired events are looked through: those of the graph are none of these
    graph.replay()
    assert z.cpu().tolist() == [4.0] * 64
    graph.reset()
    for _ in range(300):
        torch.npu.Event().record()  # now those of the graph are among them
    event = torch.npu.Event()

    def apart() -> None:
        event.record()
        side.wait_event(event)
        launch(1, x, x, x, 1, 64, stream=side)

    raises(AclError, "507903 (ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED)", recorded, apart)
    raises(RuntimeError, "the event was recorded into a graph", event.query)
    torch.npu.synchronize()
    assert x.cpu().tolist() == [1.0] * 64


@program("graphs")
def memory_of_graphs() -> None:
    """It is used again within a graph and by graphs of its pool, by nobody else, and given back with the last."""
    torch.npu.empty_cache()
    free = torch.npu.mem_get_info()[0]
    size = 3 << 20
    seen: list[int] = []

    def body() -> Any:
        for _ in range(2):
            seen.append(torch.full((size,), 1, dtype=torch.uint8, device="npu").data_ptr())
        return torch.full((size,), 2, dtype=torch.uint8, device="npu")

    pool = torch.npu.graph_pool_handle()
    graph, out = recorded(body, pool)
    assert seen[0] == seen[1] == out.data_ptr()
    del out
    torch.npu.empty_cache()
    assert torch.npu.mem_get_info()[0] == free - (20 << 20)
    stream = torch.npu.graph.default_capture_stream
    with torch.npu.stream(stream):
        outside = torch.empty(size, dtype=torch.uint8, device="npu")
    assert outside.data_ptr() not in seen
    other, out = recorded(body, pool)
    apart = recorded(body)[0]
    assert out.data_ptr() == seen[0] == seen[2] != seen[4]
    assert other.pool() is graph.pool() is pool
    graph.replay()
    assert out.cpu().unique().tolist() == [2]
    graph.reset()
    other.replay()
    torch.npu.synchronize()
    del other, apart, out, outside, graph
    gc.collect()
    torch.npu.empty_cache()
    assert torch.npu.mem_get_info()[0] == free


@program("graphs")
def what_graphs_refuse() -> None:
    launch = axpy()
    x, held = torch.ones(64, device="npu"), torch.ones(64, device="npu")
    graph = torch.npu.NPUGraph()
    raises(RuntimeError, "must be captured on a non-default stream", graph.capture_begin)
    raises(RuntimeError, "Called NPUGraph::replay without", graph.replay)
    raises(RuntimeError, "capture_end without capture_begin", graph.capture_end)
    raises(TypeError, "a pool is what graph_pool_handle()", recorded, lambda: None, (0, 1))
    raises(AclError, "507903", recorded, lambda: raises(AclError, "107027 (ACL_ERROR_RT_STREAM_CAPTURED)", x.cpu))
    raises(AclError, "507903", recorded, lambda: raises(AclError, "10702", torch.npu.synchronize))
    with torch.npu.stream(torch.npu.Stream()):
        raises(RuntimeError, "Unknown capture error mode. Expected `global`", graph.capture_begin, None, "loose")
        graph.capture_begin()
        raises(RuntimeError, "memory cannot be given back while a graph is recorded", torch.npu.empty_cache)
        raises(RuntimeError, "end the recording first", graph.reset)
        held.record_stream(torch.npu.current_stream())
        del held  # what it waits for may not be asked after yet
        launch(1, x, x, x, 1, 64)
        huge = 300 << 20
        raises(torch.OutOfMemoryError, "NPU out of memory", torch.empty, huge, dtype=torch.uint8, device="npu")
        graph.capture_end()
        raises(RuntimeError, "already owns a captured graph", graph.capture_begin)
    graph.replay()
    assert x.cpu().tolist() == [2.0] * 64
    other = torch.npu.NPUGraph()
    fails("aclmdlRICaptureBegin", 207000)
    with torch.npu.stream(torch.npu.Stream()):
        raises(AclError, "207000 (ACL_ERROR_RT_FEATURE_NOT_SUPPORT)", other.capture_begin)
    torch.npu.empty_cache()  # nothing is recorded any more
    with torch.npu.device(1):
        there = torch.ones(4, device="npu")
        with torch.npu.graph(graph := torch.npu.NPUGraph(), stream=torch.npu.Stream()):
            out = there.to(torch.float16)
    graph.replay()
    assert out.device.index == 1 and out.cpu().tolist() == [1.0] * 4
    del graph, other


# Kernels


@program("all")
def every_argument_bit_by_bit() -> None:
    import struct as bits

    c = custom_kernel
    types = (c.i8, c.u8, c.i16, c.u16, c.i32, c.u32, c.i64, c.u64, c.boolean, c.f32, c.f64, c.f32, c.f64, c.f32, c.f32,
             c.f64, c.f64, c.f32, c.f32, c.f64, c.i8, c.i16, c.i32, c.i64, c.tensor, c.tensor)  # fmt: skip
    formats = "bBhHiIqQ?fdfdffddffdbhiq"
    values = (-5, 250, -30000, 65535, -(2**31), 2**32 - 1, -(2**63), 2**64 - 1, True, 1.1, -2.2e-300, -3.3, 4.4e200,
              0.1, float("inf"), -0.0, 6.6, 7.7, -8.8, 9.9, -128, 32767, -1, 2**63 - 1)  # fmt: skip
    x = torch.ones(3, device="npu")
    side = torch.npu.Stream()
    expected = [bits.pack("<" + f, v)[::-1].hex() for f, v in zip(formats, values, strict=True)]
    expected += [f"{x.data_ptr():016x}", "0" * 16]
    declared = KernelLauncher(KERNELS, "many", types)
    wrapped = KernelLauncher(KERNELS, "many")
    for call in (
        lambda: declared(65535, *values, x, None, stream=side),
        lambda: wrapped(65535, *(t(v) for t, v in zip(types, values, strict=False)), x, None, stream=side.npu_stream),
    ):
        call()
        got = last_call()
        assert got.pop("blocks") == "0000ffff" and got.pop("stream") == f"{side.npu_stream:016x}"
        assert list(got.values()) == expected, (list(got.values()), expected)


@program("all")
def refused_arguments() -> None:
    launch, f = axpy(), torch.float32
    x = torch.ones(6, device="npu")
    bare = KernelLauncher(KERNELS, "axpy")
    raises(TypeError, "axpy: argument 3: a bare float", bare, 1, x, x, x, 0.5, u32(6))
    raises(TypeError, "axpy: argument 4: a bare int", bare, 1, x, x, x, f32(0.5), 6)
    raises(TypeError, "a str is no argument", bare, 1, "x")
    raises(TypeError, "u32 is declared, not f32", launch, 1, x, x, x, 0.5, f32(6))
    raises(TypeError, "takes 5 arguments", launch, 1, x)
    raises(OverflowError, "argument 4: -1 does not fit in u32 (uint32_t)", launch, 1, x, x, x, 0.5, -1)
    raises(OverflowError, "does not fit in f32", launch, 1, x, x, x, 1e39, 6)
    raises(TypeError, "takes a whole number, not 1.5", launch, 1, x, x, x, 1, 1.5)
    raises(TypeError, "boolean takes a bool", custom_kernel.boolean, 1)
    raises(TypeError, "torch.float32 is declared, not torch.int32", launch, 1, x.to(torch.int32), x, x, 1, 6)
    raises(
        ValueError, "tensor 1: kernels of device 'npu' cannot read a tensor on 'cpu'", launch, 1, x, x.cpu(), x, 1, 6
    )
    raises(ValueError, "use .contiguous()", launch, 1, x[::2], x, x, 1, 3)
    raises(ValueError, "lie on [0, 1]", launch, 1, x, x, torch.ones(6, device="npu:1"), 1, 6)
    for blocks in (0, -1, 65536, True):
        raises(ValueError, "block_dim is 1 to 65535", launch, blocks, x, x, x, 1, 6)
    raises(TypeError, "block_dim is a whole number", launch, 1.0, x, x, x, 1, 6)
    raises(ValueError, "the stream is of device 1", launch, 1, x, x, x, 1, 6, stream=torch.npu.Stream("npu:1"))
    raises(PluginError, "exports no aclrtlaunch_absent", KernelLauncher, KERNELS, "absent")
    raises(PluginError, "there is no /nowhere/lib.so", KernelLauncher, "/nowhere/lib.so", "axpy")
    raises(
        TypeError, "is no type of arguments", KernelLauncher(KERNELS, "axpy", (f, f, f, float, u32)), 1, x, x, x, 1.0, 6
    )
    raises(TypeError, "struct() takes", struct, {"a": 1})
    for half in (custom_kernel.f16, custom_kernel.bf16):
        words = f"argument 3: aclrtlaunch_axpy takes no {half.c_name} by value"
        raises(TypeError, words, launch, 1, x, x, x, half(1), 6)
        declared = KernelLauncher(KERNELS, "axpy", (f, f, f, half, u32))
        raises(TypeError, "argument 3: aclrtlaunch_axpy takes no", declared, 1, x, x, x, 0.5, 6)
        raises(TypeError, f"{half} ({half.c_name}) takes a number, not bool", half, True)
    raises(OverflowError, "65520.0 does not fit in f16 (half)", custom_kernel.f16, 65520)
    raises(OverflowError, "does not fit in bf16 (bfloat16_t)", custom_kernel.bf16, 3.4e38)
    assert custom_kernel.f16(65519).value == 0x7BFF and custom_kernel.bf16(float("-inf")).value == 0xFF80
    fails("aclrtlaunch_axpy", 507000)
    raises(AclError, "aclrtlaunch_axpy returned 507000 (ACL_ERROR_RT_INTERNAL_ERROR)", launch, 1, x, x, x, 1, 6)
    assert custom_kernel.tensor_ptr(x) == x.data_ptr() and custom_kernel.tensor_ptr(x[:0]) in (0, x.data_ptr())


class Tiling(ctypes.Structure):
    _fields_ = [("total", ctypes.c_uint32), ("tile", ctypes.c_uint32), ("scale", ctypes.c_double),
                ("shift", ctypes.c_int16), ("seed", ctypes.c_uint64)]  # fmt: skip


@program("all")
def tiling_data_outlives_the_launch() -> None:
    """The fake reads structs when the kernel runs, which is later than all that Python does meanwhile."""
    record = numpy.zeros((), numpy.dtype([("a", "u4"), ("b", "u4"), ("c", "f8"), ("d", "i2"), ("e", "u8")], align=True))
    record["a"], record["b"], record["c"], record["d"], record["e"] = 7, 8, -1.5, -3, 2**63
    value = Tiling(7, 8, -1.5, -3, 2**63)
    for launch, given in (
        (KernelLauncher(KERNELS, "tiled"), value),
        (KernelLauncher(KERNELS, "tiled", (Tiling, custom_kernel.tensor)), value),
        (KernelLauncher(KERNELS, "tiled", (struct, custom_kernel.tensor)), record),
        (KernelLauncher(KERNELS, "tiled", (struct, custom_kernel.tensor)), bytes(value)),
    ):
        out = torch.zeros(ctypes.sizeof(Tiling), dtype=torch.uint8, device="npu")
        launch(1, given, out)
        assert len(launch._kept) == 1
        gc.collect()
        rubbish = [ctypes.create_string_buffer(b"\xff" * size) for size in (32, 33, 40) for _ in range(200)]
        got = Tiling.from_buffer_copy(bytes(out.cpu().tolist()))
        assert (got.total, got.tile, got.scale, got.shift, got.seed) == (7, 8, -1.5, -3, 2**63), len(rubbish)
        launch(1, given, out)
        assert len(launch._kept) == 1  # the first has passed
    declared = KernelLauncher(KERNELS, "tiled", (Tiling, custom_kernel.tensor))
    raises(TypeError, "a Tiling is declared, not bytes", declared, 1, b"x", out)
    torch.npu.synchronize()


@program("all")
def queued_calls_go_first() -> None:
    """Also where the kernel is given an address, which asks for no tensor."""
    c = custom_kernel
    launch = KernelLauncher(KERNELS, "axpy", (c.u64, c.u64, c.tensor, c.f32, c.u32))
    x, z = torch.ones(8, device="npu"), torch.empty(8, device="npu")
    address = c.tensor_ptr(x)
    with torch.pipeline():
        x[4:].fill_(3.0)
        launch(1, address, address, z, 1, 8)
    assert z.cpu().tolist() == [2.0] * 4 + [6.0] * 4


@program("all")
def memory_lives_as_long_as_what_was_given() -> None:
    """Arguments of a kernel on another stream, pinned memory of copies, and a copy's source on another device."""
    launch, side = axpy(), torch.npu.Stream()
    x, out = torch.ones(3000, device="npu"), torch.empty(3000, device="npu")
    side.wait_stream(torch.npu.current_stream())
    launch(1, x, x, out, 1, 3000, stream=side)
    del x
    torch.full((3000,), 9.0, device="npu")  # would take its place
    torch.npu.synchronize()
    assert out.cpu().tolist() == [2.0] * 3000

    there = torch.full((50,), 2.0).pin_memory().to("npu", non_blocking=True)
    torch.empty(1, pin_memory=True)  # frees what nothing refers to
    back = torch.empty(50, pin_memory=True)
    back.copy_(there, non_blocking=True)
    del there, back
    torch.empty(1, pin_memory=True)
    torch.npu.synchronize()

    source = torch.full((4000,), 3.0, device="npu:1")
    brought = source.to("npu:0")
    del source
    torch.full((4000,), 9.0, device="npu:1")
    torch.npu.synchronize(1)
    assert brought.cpu().tolist() == [3.0] * 4000


@program("all")
def calls_go_to_the_device_of_their_tensors() -> None:
    """Whatever device the thread has used last."""
    x, y = torch.ones(4, device="npu:0"), torch.ones(4, device="npu:1")
    streams = [torch.npu.Stream(i) for i in (0, 1)]
    for at, tensor in enumerate((x, y, x, y)):
        axpy()(1, tensor, tensor, tensor, 1, 4)
        torch.npu.synchronize(at % 2)
        axpy()(1, tensor, tensor, torch.empty_like(tensor), 1, 4, stream=streams[at % 2])
        torch.npu.synchronize(at % 2)
    assert x.cpu().tolist() == y.cpu().tolist() == [4.0] * 4


@program("all")
def operators_of_kernels() -> None:
    launch = axpy()

    @custom_kernel.ascendc_op("fakecann::axpy", fake="like_first")
    def op(x: torch.Tensor, y: torch.Tensor, a: float) -> torch.Tensor:
        out = custom_kernel.alloc_like(x)
        launch(4, x, y, out, a, x.numel())
        return out

    x, y = torch.arange(6.0).to("npu"), torch.ones(6, device="npu")
    assert op(x, y, 2.0).cpu().tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert torch.ops.fakecann.axpy(x, y, 1.0).device.type == "npu"
    meta = op(torch.empty(2, 3, device="meta"), torch.empty(2, 3, device="meta"), 1.0)
    assert meta.shape == (2, 3) and meta.device.type == "meta"
    raises(NotImplementedError, "axpy", op, torch.ones(2), torch.ones(2), 1.0)
    op.register_autograd(lambda ctx, grad: (grad, grad, None))
    leaf = x.clone().requires_grad_()
    op(leaf, y, 1.0).backward(torch.full((6,), 3.0, device="npu"))
    assert leaf.grad.cpu().tolist() == [3.0] * 6

    @custom_kernel.ascendc_op("fakecann::half", fake="like_first")
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return custom_kernel.alloc_like(x, (x.numel() // 2,), torch.int32)

    raises(RuntimeError, "it returned (3,), torch.int32", wrong, x)

    @custom_kernel.ascendc_op("fakecann::none")
    def unknown(x: torch.Tensor) -> torch.Tensor:
        return custom_kernel.alloc_like(x)

    raises(RuntimeError, "no fake impl registered for", unknown, torch.empty(2, device="meta"))
    raises(ValueError, "fake is a function", custom_kernel.ascendc_op, "fakecann::x", fake="same")


@program("all")
def binaries() -> None:
    """A kernel of a ``.o``, by the newest function that libascendcl exports."""
    place = Path(os.environ["FAKE_CANN_FOLDER"]) / "kernel.o"
    place.write_text("many other")
    ctypes.CDLL(str(KERNELS), mode=ctypes.RTLD_GLOBAL)
    c = custom_kernel
    types = (c.i8, c.boolean, c.u16, c.f32, c.f64, c.i64, Tiling, c.i8, c.tensor, c.f16, c.bf16, c.i8)
    launch = c.BinaryKernel(place, "many", types)
    assert launch.entry == os.environ.get("FAKE_CANN_LAUNCH", "aclrtLaunchKernelWithHostArgs")
    x = torch.ones(2, device="npu")
    launch(3, -5, True, 65535, 1.5, -2.25, -7, Tiling(1, 2, 3.0, 4, 2**64 - 2), -1, x, 1.0009765625, c.bf16(-1e-3), -9)
    got = last_call()
    assert got.pop("blocks") == "00000003" and got.pop("stream") == f"{torch.npu.current_stream().npu_stream:016x}"
    size = int(got.pop("size"), 16)
    assert got == {
        "a": "fb", "b": "01", "c": "ffff", "d": "3fc00000", "e": "c002000000000000", "f": "fffffffffffffff9",
        "total": "00000001", "seed": "fffffffffffffffe", "h": "ff", "i": f"{x.data_ptr():016x}",
        "half": "3c01", "bfloat16": "ba83", "last": "f7",
    }, got  # fmt: skip
    assert size == 89
    raises(AclError, "aclrtBinaryGetFunction(absent)", c.BinaryKernel, place, "absent")
    raises(FileNotFoundError, "nowhere.o", c.BinaryKernel, "/nowhere.o", "many")


# aclnn


def scaled_add() -> tuple[Any, Any]:
    library = LIBRARIES / "libopapi.so"
    record = ctypes.CDLL(str(library)).last_scaled_add
    record.restype = ctypes.c_char_p
    return library, record


@program("all")
def two_phases() -> None:
    library, record = scaled_add()
    c = custom_kernel
    x = torch.arange(12.0).reshape(3, 4).to("npu")
    y = torch.ones(3, 4, device="npu").to(torch.float16)
    out = torch.zeros(4, 3, device="npu")
    op = aclnn.aclnn_op("aclnnScaledAdd", library)
    rest = ([3, -1, 2**40], [0.5, -2.0], [True, False], [x, y], "fast", c.i64(-(2**62)), c.f32(0.1), c.f64(0.1),
            c.i8(-3), c.boolean(True), None)  # fmt: skip
    op(aclnn.formatted(x, "NCHW"), y, aclnn.scalar(2, torch.float16), *rest, out.t())
    assert torch.allclose(out.t().cpu(), x.cpu() * 0.1 + 2.0)
    assert record().decode() == (
        "x=0:0 y=1 dims=1475,3,-1,1099511627776 weights=f107,0x1p-1,-0x1p+1 mask=b001,1,0 more=2:3 mode=fast "
        "big=-4611686018427387904 single=0x1.99999ap-4 scale=0x1.999999999999ap-4 small=-3 flag=1 none=(nil)"
    ), record()
    # The same, declared, on another stream, of views; lists that are empty say what they are of.
    declared = aclnn.aclnn_op(
        ("aclnnScaledAddV2", "aclnnScaledAdd"), library,
        (c.tensor, c.tensor, "scalar", "ints", "floats", "bools", None, "text", c.i64, c.f32, c.f64, c.i8, c.boolean,
         c.tensor, c.tensor),
    )  # fmt: skip
    assert declared.name == "aclnnScaledAdd"
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    declared(x[1:, ::2], y[1:, ::2], aclnn.scalar(-1, torch.float32), [], [], [], [x], "m", 1, 2, 3, 4, False, None,
             out[:2, :2], stream=side)  # fmt: skip
    side.synchronize()
    assert torch.equal(out[:2, :2].cpu(), x[1:, ::2].cpu() * 3 - 1)
    for bad, words in (
        ((x, y, 2), "argument 2: a bare int may be meant as an aclScalar"),
        ((x.cpu(),), "argument 0: operators of device 'npu' cannot read"),
        ((x, [1, 2.0]), "may be an aclIntArray, aclFloatArray"),
        ((x, c.f16(1)), "operators take a half as an aclScalar"),
    ):
        raises((TypeError, ValueError), words, op, *bad)
    raises(TypeError, "an aclScalar has a dtype", declared, x, y, 2, *rest, out)
    raises(
        PluginError,
        "does not export aclnnAbsent with aclnnAbsentGetWorkspaceSize",
        aclnn.aclnn_op,
        "aclnnAbsent",
        library,
    )


@program("all")
def nothing_of_a_failed_call_is_left() -> None:
    library, _ = scaled_add()
    c = custom_kernel
    x = torch.ones(2, 2, device="npu")
    op = aclnn.aclnn_op("aclnnScaledAdd", library)
    args = (x, x, aclnn.scalar(2, torch.float32), [1], [1.0], [True], [x], "m", c.i64(1), c.f32(1), c.f64(1), c.i8(1),
            c.boolean(True), None, torch.empty_like(x))  # fmt: skip
    kinds = ("aclTensor", "aclScalar", "aclIntArray", "aclFloatArray", "aclBoolArray", "aclTensorList", "aclOpExecutor")
    for failing in ("aclnnScaledAddGetWorkspaceSize", "aclnnScaledAdd", "aclrtMalloc"):
        torch.npu.empty_cache()
        if failing == "aclrtMalloc":
            held = [torch.empty(2000, device="npu") for _ in range(200)]  # no idle piece is large enough
            room = torch.npu.memory_reserved() / torch.npu.mem_get_info()[1]
            while torch.npu.memory_reserved() / torch.npu.mem_get_info()[1] == room:
                held.append(torch.empty(1000, device="npu"))
            while torch.npu.memory_reserved() - torch.npu.memory_allocated() >= 4608:
                held.append(torch.empty(250, device="npu"))
            torch.npu.set_per_process_memory_fraction(room / 2)
            raises(torch.OutOfMemoryError, "Tried to allocate 4.00 KiB", op, *args)
            torch.npu.set_per_process_memory_fraction(1.0)
        else:
            fails(failing, 561000)
            raises(AclError, f"{failing} returned 561000", op, *args)
        assert [FAKE.fake_alive(kind.encode()) for kind in kinds] == [0] * len(kinds), failing
    op(*args)
    torch.npu.synchronize()


# Other environments


@program("visible")
def visible_devices() -> None:
    with torch.npu.stream(torch.npu.Stream()):
        raises(RuntimeError, "ASCEND_LAUNCH_BLOCKING=1, which waits", torch.npu.NPUGraph().capture_begin)
    assert torch.npu.device_count() == 2  # ASCEND_RT_VISIBLE_DEVICES=1,3,9
    raises(RuntimeError, "there are 2 devices", torch.empty, 1, device="npu:2")
    x = torch.ones(1, device="npu:1")
    raises(AclError, "507015", KernelLauncher(KERNELS, "fails_later"), 1, x)  # ASCEND_LAUNCH_BLOCKING=1
    before = FAKE.fake_tasks_done()
    axpy()(1, x, x, x, 1, 1)
    assert FAKE.fake_tasks_done() > before
    pid = os.fork()
    if not pid:
        try:
            torch.ones(1, device="npu")
        except RuntimeError as error:
            os._exit(0 if "Cannot re-initialize NPU in forked subprocess" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@program("visible")
def allocator_settings() -> None:
    """PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:30,garbage_collection_threshold:0.5"""
    x = torch.empty(60 << 20, dtype=torch.uint8, device="npu")
    del x
    small = torch.empty(21 << 20, dtype=torch.uint8, device="npu")
    assert torch.npu.memory_reserved() >= 82 << 20  # the idle 60 MiB were not split
    more = torch.empty(64 << 20, dtype=torch.uint8, device="npu")
    last = torch.empty(22 << 20, dtype=torch.uint8, device="npu")
    assert torch.npu.memory_reserved() == (22 + 66 + 24) << 20  # they went back: half of the memory is 128 MiB
    del small, more, last


@program("old")
def older_functions() -> None:
    """A libascendcl.so without what newer ones have."""
    assert RUNTIME.driver.acl.first_of("launch") == "aclrtLaunchKernelWithConfig"
    binaries()


def main(group: str) -> None:
    for function in PROGRAMS[group]:
        wrong = ""
        try:
            function()
            gc.collect()
            wrong = noted()
        except Exception:  # noqa: BLE001 - whatever is wrong is told
            wrong = traceback.format_exc() + noted()
        print(json.dumps({"name": function.__name__, "wrong": wrong}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
