"""What ``torch.cuda`` and tensors of the device do, on a real device or on `fake_cupy`; run by `test_on_fake`."""

from __future__ import annotations

import os
import sys

import cupy
import numpy as np
import pytest

import mindtorch as torch


def test_copies_there_and_back() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    for view in (x, x.t() if x.ndim == 2 else x.transpose(0, 2), x[:, 1], x[..., ::2], x[:0]):
        there = view.cuda()
        assert there.device == torch.device("cuda", 0) and there.is_cuda
        assert torch.equal(there.cpu(), view)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float64", "int64", "int8", "uint8", "bool", "complex64"])
def test_every_held_dtype_goes_there_and_back(name: str) -> None:
    x = torch.tensor([0, 1, 1, 0, 1]).to(getattr(torch, name))
    assert torch.equal(x.cuda().cpu(), x) and torch.equal(x.cuda()[1:3].clone().cpu(), x[1:3])


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "complex32"])
def test_a_dtype_that_cupy_lacks_is_refused(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"device 'cuda' holds no tensors of torch.{name}"):
        torch.empty(3, dtype=getattr(torch, name), device="cuda")


def test_views_share_memory() -> None:
    x = torch.zeros(4, 6, device="cuda")
    view = x.t()[2:5, ::2]
    view.fill_(3)
    assert x.sum().item() == 18 and view.data_ptr() == x.data_ptr() + 2 * 4
    assert x.view(torch.int32).dtype is torch.int32


def test_memory_is_counted_and_given_back() -> None:
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    x = torch.empty(1000, device="cuda")
    assert torch.cuda.memory_allocated() == before + 4000
    del x
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + 4000
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total


def test_out_of_memory_in_pytorch_words() -> None:
    with pytest.raises(
        torch.OutOfMemoryError, match=r"CUDA out of memory. Tried to allocate 1024.00 GiB. GPU 0 has a "
    ):
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")


def test_streams_and_events() -> None:
    side, start, end = torch.cuda.Stream(), *(torch.cuda.Event(enable_timing=True) for _ in range(2))
    x = torch.ones(64, 64, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        assert torch.cuda.current_stream() == side
        start.record()
        y = x @ x
        end.record()
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    x.record_stream(side)
    end.synchronize()
    assert start.elapsed_time(end) >= 0 and side.query() and y.mean().item() == 64


def test_pinned_memory() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and torch.equal(pinned, x)
    there = pinned.to("cuda", non_blocking=True)
    back = there.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(there.cpu(), x) and torch.equal(back, x)
    assert torch.equal(pinned.t().to("cuda", non_blocking=True).cpu(), x.t())


def test_properties() -> None:
    found = torch.cuda.get_device_properties(0)
    assert (found.major, found.minor) == torch.cuda.get_device_capability()
    assert found.name == torch.cuda.get_device_name() and found.total_memory > 0
    assert torch.cuda.is_available() and torch.cuda.device_count() >= 1


def test_random_numbers_are_seeded_and_stay_on_the_device() -> None:
    torch.manual_seed(3)
    first = torch.rand(5, device="cuda"), torch.randn(5, device="cuda"), torch.randperm(5, device="cuda")
    torch.cuda.manual_seed(3)
    again = torch.rand(5, device="cuda"), torch.randn(5, device="cuda"), torch.randperm(5, device="cuda")
    assert all(a.is_cuda and torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_cuda_array_interface_and_dlpack_share_memory() -> None:
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    told = x.t().__cuda_array_interface__
    assert told["data"] == (x.data_ptr(), False) and told["shape"] == (3, 2) and told["strides"] == (4, 12)
    assert told["typestr"] == "<f4" and x.__cuda_array_interface__["strides"] is None
    assert x.__dlpack_device__() == (2, 0)


def test_cuda_array_interface_is_refused_as_in_pytorch() -> None:
    with pytest.raises(
        AttributeError, match="Can't get __cuda_array_interface__ on non-CUDA tensor type: torch.FloatTensor"
    ):
        _ = torch.ones(2).__cuda_array_interface__
    with pytest.raises(RuntimeError, match="Can't get __cuda_array_interface__ on Variable that requires grad."):
        _ = torch.ones(2, device="cuda", requires_grad=True).__cuda_array_interface__


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_products_are_rounded_once(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(0)
    for shape, transposed in (
        ((5, 7, 3), ""),
        ((5, 7, 3), "a"),
        ((5, 7, 3), "b"),
        ((1, 4, 1), "ab"),
        ((8, 8, 8), "ab"),
    ):
        m, k, n = shape
        for batch in ((), (2,), (2, 3)):
            a = torch.from_numpy(rng.standard_normal((*batch, m, k))).to(dtype)
            b = torch.from_numpy(rng.standard_normal((*batch, k, n))).to(dtype)
            a = a.mT.contiguous().mT if "a" in transposed else a
            b = b.mT.contiguous().mT if "b" in transposed else b
            there = a.cuda(), b.cuda()
            exact = (a.double() @ b.double()).to(dtype)
            assert torch.allclose((there[0] @ there[1]).cpu(), exact, rtol=0.02, atol=0.01)
    x, y, z = (torch.from_numpy(rng.standard_normal((4, 4))).to(dtype) for _ in range(3))
    got = torch.addmm(z.cuda()[0], x.cuda(), y.cuda(), beta=0.5, alpha=2).cpu()
    assert torch.allclose(got, (0.5 * z[0].double() + 2 * (x.double() @ y.double())).to(dtype), rtol=0.02, atol=0.01)
    empty = torch.zeros(3, 0, dtype=dtype, device="cuda") @ torch.zeros(0, 2, dtype=dtype, device="cuda")
    assert torch.equal(empty.cpu(), torch.zeros(3, 2, dtype=dtype))


def test_index_out_of_range_is_refused_and_nothing_wraps() -> None:
    """Kernels that are compiled find it on the device, and say so when it is waited for."""
    x, far = torch.arange(5, device="cuda"), torch.tensor([7], device="cuda")
    for index in (5, -6):
        with pytest.raises((IndexError, RuntimeError), match=f"{index}.* out of bounds"):
            x[torch.tensor([0, index], device="cuda")].tolist()
    with pytest.raises((IndexError, RuntimeError), match="7.* out of bounds"):
        x[far] = 1
        torch.cuda.synchronize()
    with pytest.raises((IndexError, RuntimeError), match="7.* out of bounds"):
        x.gather(0, far).tolist()
    assert torch.equal(x.cpu(), torch.arange(5))


def test_writes_at_repeated_places_are_all_counted() -> None:
    index = torch.tensor([0, 2, 2, 2, 1], device="cuda")
    for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.int8, torch.int16, torch.uint8):
        x = torch.zeros(3, dtype=dtype, device="cuda").index_add_(0, index, torch.ones(5, dtype=dtype, device="cuda"))
        assert x.tolist() == [1, 1, 3]
    c = torch.zeros(3, dtype=torch.complex64, device="cuda").index_add_(
        0, index, torch.full((5,), 1 + 2j, device="cuda")
    )
    assert c.tolist() == [1 + 2j, 1 + 2j, 3 + 6j]
    for reduce, wanted in (("prod", [1, 5, 24]), ("amax", [1, 5, 4]), ("amin", [1, 5, 2])):
        got = torch.zeros(3, dtype=torch.int64, device="cuda").scatter_reduce(
            0, index, torch.tensor([1, 2, 3, 4, 5], device="cuda"), reduce, include_self=False
        )
        assert got.tolist() == wanted


def test_the_first_of_several_nans_is_found() -> None:
    nan = float("nan")
    x = torch.tensor([[1.0, nan, 3.0, nan], [4.0, 2.0, 4.0, 1.0]], device="cuda")
    assert x.argmax(1).tolist() == [1, 0] and x.argmin(1).tolist() == [1, 3] and x.argmax().item() == 1
    assert x.max(1).indices.tolist() == [1, 0] and x.min(1).indices.tolist() == [1, 3]


def test_views_of_nothing_begin_where_they_would() -> None:
    x = torch.ones(0, 3, device="cuda").unbind(1)[2]
    assert (x.storage_offset(), x.stride(), x.shape) == (2, (3,), (0,))
    assert torch.empty(2, 0, 3, device="cuda").split(1)[1].shape == (1, 0, 3)


def test_losses_pass_over_ignored_classes() -> None:
    x, y = torch.arange(8.0).reshape(4, 2), torch.tensor([1, 0, 1, 1])
    for reduction in ("mean", "sum", "none"):
        there = torch.nn.functional.cross_entropy(x.cuda(), y.cuda(), ignore_index=0, reduction=reduction)
        assert torch.allclose(there.cpu(), torch.nn.functional.cross_entropy(x, y, ignore_index=0, reduction=reduction))


def test_the_largest_at_repeated_places_is_exact_and_nan_where_one_is() -> None:
    exact = torch.tensor([1 + 2.0**-40, 1.0], dtype=torch.float64, device="cuda")
    index = torch.tensor([0, 0], device="cuda")
    got = torch.zeros(1, dtype=torch.float64, device="cuda").scatter_reduce(0, index, exact, "amax", include_self=False)
    assert got.item() == 1 + 2.0**-40
    nan = torch.tensor([1.0, float("nan")], device="cuda")
    assert torch.zeros(1, device="cuda").scatter_reduce(0, index, nan, "amax").isnan().all()


def test_floating_point_becomes_integers_as_on_a_device() -> None:
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([1.9, -1.9, 3e9, inf, -inf, nan], device="cuda")
    if torch.cuda.get_device_name() != "Fake device":  # whose numbers are the host's
        assert x.to(torch.uint8).tolist() == [1, 255, 0, 255, 0, 0]
        assert x.to(torch.uint16).tolist() == [1, 0, 24064, 65535, 0, 0]
        assert x.to(torch.int32).tolist() == [1, -1, 2**31 - 1, 2**31 - 1, -(2**31), 0]


def test_numbers_beside_half_types_are_not_rounded_first() -> None:
    if torch.cuda.get_device_name() == "Fake device":  # where the shared kernels compute, as on the CPU
        return
    x = torch.tensor([0.1, 2048.0], dtype=torch.float16, device="cuda")
    assert (x * 70000.0).tolist() == [7000.0, float("inf")] and (x / 70000.0).tolist()[1] == 0.0292510986328125


def test_any_over_no_dimension_is_a_truth_value() -> None:
    x = torch.tensor([[0, 1], [2, 3]], dtype=torch.uint8, device="cuda")
    assert torch.any(x, ()).tolist() == torch.any(x.cpu(), ()).tolist()


def test_a_forked_process_is_refused() -> None:
    x = torch.ones(2, device="cuda")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        said = []
        for reach in (lambda: torch.empty(2, device="cuda"), lambda: x.cpu(), lambda: torch.ones(2).cuda()):
            try:
                reach()
            except RuntimeError as error:
                said.append(str(error)[:48])
        os.write(writing, repr(said).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1000).decode() == repr(["Cannot re-initialize CUDA in forked subprocess. "] * 3)
    assert x.tolist() == [1, 1]


def test_a_loader_pins_its_batches() -> None:
    loader = torch.utils.data.DataLoader(torch.arange(4.0), batch_size=2, pin_memory=True)
    batches = [(batch.is_pinned(), batch.cuda(non_blocking=True).tolist()) for batch in loader]
    assert batches == [(True, [0.0, 1.0]), (True, [2.0, 3.0])]


@pytest.mark.skipif(not hasattr(cupy.ndarray, "__dlpack__"), reason="the stand-in makes no capsules")
@pytest.mark.filterwarnings("error")
def test_dlpack_gives_and_takes_memory() -> None:
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        ours = x.to(dtype)
        theirs = cupy.from_dlpack(ours)
        assert theirs.data.ptr == ours.data_ptr() and theirs.shape == (2, 3)
        back = torch.from_dlpack(theirs)
        assert back.dtype is dtype and back.device == ours.device and back.data_ptr() == ours.data_ptr()
    assert cupy.asarray(x).data.ptr == x.data_ptr()


def test_training_launches_few_kernels_and_never_waits() -> None:
    counts = getattr(sys.modules.get("fake_cupy"), "COUNTS", None)
    if counts is None:
        pytest.skip("a real device does not count")
    block = torch.nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True).cuda()
    x, optimizer = torch.randn(4, 32, 64).cuda(), torch.optim.SGD(block.parameters(), lr=0.1)
    for _ in range(2):
        counts.clear()
        optimizer.zero_grad()
        (block(x) ** 2).mean().backward()
        optimizer.step()
    assert counts["sync"] == counts["h2d"] == counts["d2h"] == 0
    assert counts["launch"] <= 171


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one device")
def test_a_copy_between_devices_waits_for_what_makes_its_source_row_major() -> None:
    x = torch.arange(6.0).reshape(2, 3).to("cuda:1")
    counts = getattr(sys.modules.get("fake_cupy"), "COUNTS", None)
    waits = []
    for source in (x, x.t()):
        before = 0 if counts is None else counts["wait"]
        there = source.to("cuda:0")
        waits.append(0 if counts is None else counts["wait"] - before)
        assert there.device.index == 0 and there.tolist() == source.tolist()
    assert counts is None or waits[1] == waits[0] + 1


def test_a_graph_repeats_what_was_recorded() -> None:
    x, side, graph = torch.zeros(4, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        y = x * 2 + 1
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=side):
        y = x * 2 + 1
    x.fill_(5)
    torch.cuda.synchronize()
    graph.replay()
    torch.cuda.synchronize()
    if not hasattr(cupy, "_path"):  # the stand-in does not record
        assert y.tolist() == [11.0] * 4


def test_a_network_learns_as_on_the_cpu() -> None:
    def losses(device: str) -> list[float]:
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.GELU(),
            torch.nn.Flatten(),
            torch.nn.Linear(64, 5),
        ).to(device)
        x, y = torch.randn(6, 3, 6, 6).to(device), torch.arange(6).remainder(5).to(device)
        optimizer, found = torch.optim.AdamW(net.parameters(), lr=1e-2), []
        for _ in range(4):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert np.allclose(losses("cpu"), losses("cuda"), rtol=1e-4)


def test_autocast_computes_products_in_bfloat16() -> None:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.nn.Linear(3, 2).cuda()(torch.ones(4, 3, device="cuda")).dtype is torch.bfloat16
