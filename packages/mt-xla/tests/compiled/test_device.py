"""Device ``xla``: views alias, writes show, transfers are asked for, programs overwrite what they are donated."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import mindtorch as torch
from mindtorch.testing import assert_close
from mt_core.devices import backend_key
from mt_core.dispatch.registry import find_overload
from mt_core.plugins.discovery import find_backend

pytestmark = pytest.mark.filterwarnings("ignore:operators on device 'xla' run one by one")

VIEWS = {
    "transposed": lambda t: t.t(),
    "row": lambda t: t[1],
    "column": lambda t: t[:, 2],
    "steps": lambda t: t[::2, 1::2],
    "part": lambda t: t[1:3, 1:4],
    "diagonal": lambda t: t.diagonal(),
    "windows apart": lambda t: t.reshape(-1).unfold(0, 3, 5),
    "strided": lambda t: t.as_strided((2, 3), (7, 2), 1),
    "strided, coprime": lambda t: t.as_strided((3, 2), (5, 3), 2),
    "flat": lambda t: t.view(-1),
    "part of a transposed": lambda t: t.t()[1:, 2],
    "one element": lambda t: t[2, 3],
    "expanded row": lambda t: t[1:2].expand(1, 6),
    "nothing": lambda t: t[4:],
}


def _numbers(dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(24).reshape(4, 6).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.bfloat16, torch.complex64], ids=str)
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_reads_and_writes_the_memory_of_its_base(name, dtype):
    here = _numbers(dtype)
    there = here.to("xla")
    ours, theirs = VIEWS[name](there), VIEWS[name](here)
    assert ours.stride() == theirs.stride()
    assert torch.equal(ours.cpu(), theirs)
    new = torch.arange(100, 100 + theirs.numel()).reshape(theirs.shape).to(dtype)
    ours.copy_(new.to("xla"))
    theirs.copy_(new)
    assert torch.equal(there.cpu(), here)
    there.fill_(3)
    assert torch.equal(ours.cpu(), torch.full_like(theirs, 3))


@pytest.mark.parametrize("before, after", [("float32", "int32"), ("float32", "int8"), ("int16", "float64"),
                                           ("bool", "uint8"), ("complex64", "float32"), ("float32", "complex64"),
                                           ("bfloat16", "int16")])  # fmt: skip
def test_bytes_seen_as_another_dtype(before, after):
    before, after = getattr(torch, before), getattr(torch, after)
    here = (_numbers(torch.float32)[:, :4] % 2 == 1 if before is torch.bool else _numbers(before)[:, :4]).clone()
    there = here.to("xla")
    ours, theirs = there.view(after), here.view(after)
    assert torch.equal(ours.cpu(), theirs)
    ours[1:, ::2] = 1
    theirs[1:, ::2] = 1
    assert torch.equal(there.cpu(), here)


def test_parts_of_complex_numbers_are_views():
    here = torch.complex(torch.arange(4.0), torch.arange(4.0, 8.0))
    there = here.to("xla")
    for tensor in (here, there):
        tensor.imag[1:3] = 9
        torch.view_as_real(tensor)[0] = -1
    assert torch.equal(there.cpu(), here)
    assert torch.equal(there.conj().imag.cpu(), here.conj().imag)


def test_random_views_and_writes_are_those_of_the_cpu():
    generator = np.random.default_rng(3)
    for _ in range(4):
        here = torch.arange(60.0).reshape(3, 4, 5)
        there = here.to("xla")
        views = [here], [there]
        for _ in range(8):
            kind, dim = generator.integers(4), int(generator.integers(3))
            ours, theirs = views[1][-1], views[0][-1]
            if kind == 0:
                changed = [v.transpose(dim, (dim + 1) % 3) for v in (theirs, ours)]
            elif kind == 1 and theirs.shape[dim] > 2:
                changed = [v.narrow(dim, 1, theirs.shape[dim] - 1) for v in (theirs, ours)]
            elif kind == 2:
                changed = [v[(slice(None),) * dim + (slice(None, None, 2),)] for v in (theirs, ours)]
            else:
                value = float(generator.integers(100))
                theirs.mul_(2).add_(value)
                ours.mul_(2).add_(value)
                continue
            views[0].append(changed[0])
            views[1].append(changed[1])
        for theirs, ours in zip(*views, strict=True):
            assert ours.stride() == theirs.stride() and torch.equal(ours.cpu(), theirs)


def test_memory_of_the_host_is_not_shared():
    host = np.arange(64.0)
    there = torch.from_numpy(host).to("xla")
    host[:] = 0
    back = there.cpu()
    there.zero_()
    assert back.sum() == 63 * 32 and there.sum().item() == 0


def test_a_mask_takes_and_puts():
    here = _numbers(torch.float32)
    there = here.to("xla")
    assert torch.equal(there[there > 7].cpu(), here[here > 7])
    rows = torch.tensor([True, False, True, False])
    assert torch.equal(there[rows.to("xla"), 1].cpu(), here[rows, 1])
    there[there > 20] = -1
    here[here > 20] = -1
    assert torch.equal(there.cpu(), here)


def test_what_is_refused_names_operator_and_device():
    x = torch.arange(4.0).to("xla")
    with pytest.raises(IndexError, match="index out of range in self"):
        x.index_select(0, torch.tensor([9]).to("xla"))
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device.*xla:0 and cpu"):
        x + torch.arange(4.0)
    with pytest.raises(NotImplementedError, match="aten::mode.*xla"):
        torch.mode(x)
    with pytest.raises(NotImplementedError, match="device 'xla' has no tensors of torch.complex32"):
        torch.zeros(2, dtype=torch.complex32, device="xla")


def test_eager_use_warns_once():
    program = """
import warnings
import mindtorch as torch
x = torch.ones(3).to("xla")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = x + 1
    z = (y * 2).sum().item()
print(z, [str(w.message)[:49] for w in caught])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert run.stdout == "12.0 [\"operators on device 'xla' run one by one, each of\"]\n", run.stderr


def test_one_program_serves_all_numbers():
    """A schedule's rates, and counters, do not compile."""
    x = torch.ones(3).to("xla")
    adds = _programs("add.Tensor")
    x.add(x, alpha=0.5)
    x.add(1.5)
    count = len(adds)
    for i in range(5):
        assert_close(x.add(x, alpha=0.1 * i).cpu(), torch.full((3,), 1 + 0.1 * i))
        assert_close(x.add(0.1 * i).cpu(), torch.full((3,), 1 + 0.1 * i))
    assert len(adds) == count


def _programs(name: str) -> dict:
    from mt_core.dispatch.registry import kernels_for

    (kernel,) = kernels_for(find_overload(name).name, backend_key("xla"))
    return kernel.function._programs


def test_a_number_that_a_lowering_asks_about_is_that_number():
    x = torch.arange(1.0, 4.0).to("xla")
    for exponent in (2, 3, 0.5, -1, 2):
        assert_close((x**exponent).cpu(), torch.arange(1.0, 4.0) ** exponent)
    integers = torch.arange(1, 4).to("xla")
    for exponent in (2, 3):
        assert torch.equal((integers**exponent).cpu(), torch.arange(1, 4) ** exponent)


def test_random_numbers_are_those_of_the_cpu():
    torch.manual_seed(3)
    ours = [torch.randn(3, device="xla"), torch.rand(2, device="xla"), torch.randperm(5, device="xla")]
    torch.manual_seed(3)
    theirs = [torch.randn(3), torch.rand(2), torch.randperm(5)]
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a.cpu(), b)


def test_the_runtime_says_what_jax_has():
    assert torch.xla.device_count() >= 1
    assert torch.xla.current_device() == 0
    assert torch.xla.get_device_properties(0).platform == "cpu"
    torch.xla.synchronize()
    with pytest.raises(NotImplementedError, match="the device runtime of 'xla' lacks memory_stats"):
        torch.xla.memory_stats()
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(2, device="xla:77")


def _network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))


def _losses(device: str, compiled: bool, optimizer: str) -> list[float]:
    model = _network().to(device)
    kind = getattr(torch.optim, optimizer)
    update = kind(model.parameters(), lr=0.05, **({"momentum": 0.9} if optimizer == "SGD" else {}))
    x = torch.linspace(-1, 1, 20).reshape(4, 5).to(device)
    y = torch.tensor([0, 2, 1, 1]).to(device)

    def step():
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        update.step()
        update.zero_grad()
        return loss.detach()

    run = torch.compile(step, backend="xla", fullgraph=False) if compiled else step
    found = [run() for _ in range(5)]
    assert all(loss.device.type == device for loss in found)
    assert all(p.device.type == device for p in model.parameters())
    return [loss.item() for loss in found]


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
@pytest.mark.parametrize("compiled", [False, True])
def test_training_there_has_the_losses_of_the_cpu(optimizer, compiled):
    np.testing.assert_allclose(_losses("xla", compiled, optimizer), _losses("cpu", False, optimizer), rtol=1e-5)


def _pointer(tensor: torch.Tensor) -> int:
    return int(tensor._array.box.buffer.unsafe_buffer_pointer())


def test_a_program_overwrites_what_it_writes_without_a_copy():
    x = torch.ones(1 << 16, device="xla")
    y = torch.ones(1 << 16, device="xla")

    @torch.compile(backend="xla", fullgraph=True)
    def step(x, y):
        x.add_(y)
        return x.sum()

    step(x, y)
    held, place = x._array.box.buffer, _pointer(x)
    version = x._version
    assert step(x, y).item() == 3 * (1 << 16)
    assert held.is_deleted() and _pointer(x) == place and x._version == version + 1
    assert not y._array.box.buffer.is_deleted()


def test_what_is_donated_and_read_elsewhere_is_copied():
    @torch.compile(backend="xla", fullgraph=True)
    def step(x, y):
        x.mul_(2)
        return x + y

    x = torch.arange(4.0).to("xla")
    assert torch.equal(step(x, x.clone()).cpu(), torch.arange(4.0) * 3)
    alias = x.detach()
    expected = x.cpu().mul_(2)
    assert torch.equal(step(x, alias).cpu(), expected * 2)
    assert torch.equal(x.cpu(), expected) and torch.equal(alias.cpu(), expected)


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("alias", ["itself", "detached", "data", "part"])
def test_a_call_whose_arguments_share_memory_that_is_written(device, alias):
    """After one whose arguments did not."""

    def step(x, y):
        x.mul_(2)
        return x[1:] + y[1:]

    compiled = torch.compile(step, backend="xla")
    compiled(torch.arange(4.0).to(device), torch.arange(4.0).to(device))
    x = torch.arange(4.0).to(device)
    y = {"itself": x, "detached": x.detach(), "data": x.data, "part": x.view(4)}[alias]
    assert torch.equal(compiled(x, y).cpu(), torch.tensor([4.0, 8.0, 12.0]))
    assert torch.equal(x.cpu(), torch.arange(4.0) * 2)


def test_a_view_is_written_in_its_base_by_a_program():
    base = torch.zeros(3, 4).to("xla")

    @torch.compile(backend="xla", fullgraph=True)
    def step(row):
        row.add_(1)

    for _ in range(2):
        step(base[1])
    assert torch.equal(base.cpu(), torch.tensor([[0.0] * 4, [2.0] * 4, [0.0] * 4]))


def test_a_program_that_refuses_has_written_nothing():
    @torch.compile(backend="xla", fullgraph=True)
    def step(total, table, place):
        total.add_(1)
        return table.index_select(0, place)

    total, table = torch.zeros(3).to("xla"), torch.arange(4.0).to("xla")
    step(total, table, torch.tensor([1]).to("xla"))
    version = total._version
    with pytest.raises(IndexError, match="index out of range"):
        step(total, table, torch.tensor([7]).to("xla"))
    assert torch.equal(total.cpu(), torch.ones(3)) and total._version == version
    step(total, table, torch.tensor([2]).to("xla"))
    assert torch.equal(total.cpu(), torch.full((3,), 2.0))


def test_results_lie_as_in_eager_execution():
    x = torch.arange(24.0).reshape(2, 3, 4).to("xla")
    compiled = torch.compile(lambda t: (t.transpose(0, 2) * 2, t.sum(1)), backend="xla", fullgraph=True)
    for ours, theirs in zip(compiled(x), (x.transpose(0, 2) * 2, x.sum(1)), strict=True):
        assert ours.device.type == "xla" and ours.stride() == theirs.stride()
        assert torch.equal(ours.cpu(), theirs.cpu())


def test_run_moves_the_default_device(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import torch\nprint(torch.ones(2).device, torch.nn.Linear(2, 2).weight.device)\n")
    command = [sys.executable, "-W", "ignore", "-m", "mindtorch", "run", "--device", "xla", str(program)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.stdout.split() == ["xla:0", "xla:0"], run.stderr


def test_without_jax_the_device_says_so():
    program = """
import sys, importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "jax" else find(name, *rest)
import mindtorch as torch
try:
    torch.ones(2, device="xla")
except Exception as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert "jax is not installed" in run.stdout and "pip install jax" in run.stdout, run.stderr


def test_saved_there_and_loaded_here(tmp_path):
    there = torch.arange(6.0).reshape(2, 3).to("xla")
    torch.save({"whole": there, "view": there[1]}, tmp_path / "file")
    here = torch.load(tmp_path / "file", map_location="cpu")
    back = torch.load(tmp_path / "file")
    assert torch.equal(here["view"], torch.arange(3.0, 6.0)) and back["whole"].device.type == "xla"
    back["whole"].zero_()
    assert back["view"].sum().item() == 0


def test_the_backend_has_what_the_contract_asks():
    backend = find_backend("xla")
    assert backend.device_type == "xla" and backend.device_count() >= 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_overload("add.Tensor").name == "add.Tensor"
