"""Checkpoints in safetensors files, among threads, and against files of two processes of PyTorch."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.distributed import checkpoint, init_device_mesh
from mindtorch.distributed.tensor import Shard, distribute_tensor
from mt_distributed.testing import run_threads

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from safetensors_programs import WRITERS, same, saved_state  # noqa: E402 - lies beside the script that runs it

OF_PYTORCH = SNAPSHOTS / "safetensors_checkpoint"
Reader = checkpoint.HuggingFaceStorageReader
Writer = checkpoint.HuggingFaceStorageWriter

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


def _wanted() -> dict[str, Any]:
    return saved_state(torch, lambda x: x)


def _read(folder: Path, **options: Any) -> dict[str, Any]:
    found = saved_state(torch, torch.zeros_like)
    checkpoint.load(found, storage_reader=Reader(folder, **options))
    return found


def _taken_apart(path: Path) -> Any:
    """A file without the order of the texts in its header, which differs from one run of PyTorch to the next."""
    content = path.read_bytes()
    if path.suffix == ".json":
        return content
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    texts = header.pop("__metadata__", None)
    return length, texts, list(header.items()), content[8 + length :], texts or content[:length]


def _write(path: Path, name: str) -> None:
    def write(group: Any) -> None:
        mesh = init_device_mesh("cpu", (2,))
        state = saved_state(torch, lambda x: distribute_tensor(x, mesh, [Shard(0)]))
        checkpoint.save(state, storage_writer=Writer(path, **WRITERS[name]), process_group=group)

    if name == "whole":
        checkpoint.save(_wanted(), storage_writer=Writer(path, **WRITERS[name]))
    else:
        run_threads(2, write)


@pytest.mark.parametrize("name", WRITERS)
def test_files_are_pytorchs(tmp_path: Path, name: str) -> None:
    """Names, headers, bytes and what says where tensors are; files that PyTorch puts together are the same ones."""
    _write(tmp_path, name)
    theirs, ours = (
        {str(path.relative_to(folder)): _taken_apart(path) for path in folder.rglob("*") if path.is_file()}
        for folder in (OF_PYTORCH / name, tmp_path)
    )
    assert ours == theirs


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("folder", [*WRITERS, "consolidated/sharded", "consolidated_mapped/sharded"])
def test_reads_what_two_processes_of_pytorch_wrote(folder: str, threads: int) -> None:
    assert same(_read(OF_PYTORCH / folder, thread_count=threads), _wanted())


def test_each_rank_reads_its_pieces() -> None:
    """Of files with pieces of two ranks three read others; elements are converted to the dtype that is wanted."""

    def read(group: Any) -> Any:
        mesh = init_device_mesh("cpu", (3,))
        spread = distribute_tensor(torch.zeros(5, 3, dtype=torch.float64), mesh, [Shard(1)])
        checkpoint.load(
            {"model": {"spread": spread}}, storage_reader=Reader(OF_PYTORCH / "pieces"), process_group=group
        )
        return spread.to_local().tolist()

    whole = _wanted()["model"]["spread"]
    assert run_threads(3, read) == [whole[:, [column]].tolist() for column in range(3)]


def test_what_an_earlier_save_left_is_not_put_together(tmp_path: Path) -> None:
    """Nor is there anything of names that are in the mapping alone; all dtypes of the format can be put together."""
    _write(tmp_path, "consolidated")
    dtypes = "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float8_e5m2 float8_e4m3fn complex64".split()
    state = {name: torch.tensor([[1.0], [0.0]]).to(getattr(torch, name)) for name in dtypes}
    state["no dimensions"] = torch.tensor(2.5)
    options = {"save_distributed": True, "enable_consolidation": True}
    mapping = {**dict.fromkeys(state, 1), "nothing": 2}
    checkpoint.save(state, storage_writer=Writer(tmp_path, mapping, **options))
    found = {name: torch.zeros_like(value) for name, value in state.items()}
    (tmp_path / "model-00001-of-00001.safetensors").unlink()
    checkpoint.load(found, storage_reader=Reader(tmp_path))
    assert found.pop("no dimensions") == 2.5
    assert all(value.tolist() == [[1], [0]] for value in found.values())
    assert set(json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]) == set(state)


NUMBERS = torch.arange(4.0)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"x": NUMBERS, "y": 3}, "y is no tensor, and safetensors files have tensors only"),
        ({"x": NUMBERS.to(torch.complex128)}, "x is of torch.complex128, which safetensors files do not have"),
        ({"x": torch.ones(2, 3).t()}, "You are trying to save a non contiguous tensor: `x` which is not allowed"),
        ({"x": NUMBERS, "y": NUMBERS}, "Some tensors share memory"),
        ({"other": NUMBERS}, "KeyError: 'other'"),
    ],
)
def test_refusals(tmp_path: Path, state: dict[str, Any], words: str) -> None:
    with pytest.raises(checkpoint.CheckpointException) as raised:
        checkpoint.save(state, storage_writer=Writer(tmp_path, {"x": 1, "y": 1}))
    assert words in str(raised.value)
    assert not (tmp_path / "model.safetensors.index.json").exists()


def test_views_are_saved(tmp_path: Path) -> None:
    checkpoint.save({"x": NUMBERS[1:], "y": NUMBERS[:3]}, storage_writer=Writer(tmp_path))
    found = {"x": torch.zeros(3), "y": torch.zeros(3)}
    checkpoint.load(found, storage_reader=Reader(tmp_path))
    assert [value.tolist() for value in found.values()] == [[1, 2, 3], [0, 1, 2]]


def test_several_ranks_do_not_write_one_file(tmp_path: Path) -> None:
    """PyTorch lets the last of them win."""

    def write(group: Any) -> None:
        with pytest.raises(checkpoint.CheckpointException, match="save_distributed=True writes the pieces of each"):
            checkpoint.save({str(group.rank()): NUMBERS}, storage_writer=Writer(tmp_path), process_group=group)

    run_threads(2, write)


def _changed(change: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    def changed(content: bytes) -> bytes:
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        change(header)
        text = json.dumps(header).encode()
        return len(text).to_bytes(8, "little") + text + content[8 + length :]

    return changed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content[:5], "is no safetensors file: it has no header"),
        (lambda content: b"\xff" * 8 + content[8:], "is no safetensors file: it has no header"),
        (lambda content: content[:-1], "ends within"),
        (lambda content: content.replace(b'{"__', b'["__', 1), "is no safetensors file: "),
        (_changed(lambda header: header["x"].update(dtype="F4")), "x is of the type F4, which mindtorch does not know"),
        (_changed(lambda header: header["x"].update(shape=[5])), "has 16 bytes"),
        (_changed(lambda header: header["x"].update(data_offsets=[-16, 0])), "ends within x"),
        (_changed(lambda header: header["x"].pop("shape")), "is no safetensors file: 'shape'"),
    ],
)
def test_files_that_are_none_are_refused(tmp_path: Path, change: Callable[[bytes], bytes], words: str) -> None:
    checkpoint.save({"x": NUMBERS}, storage_writer=Writer(tmp_path))
    path = tmp_path / "model-00001-of-00001.safetensors"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match="safetensors") as raised:
        Reader(tmp_path).read_metadata()
    assert words in str(raised.value)


def test_a_folder_without_files_has_nothing(tmp_path: Path) -> None:
    assert Reader(tmp_path).read_metadata().state_dict_metadata == {}
    with pytest.raises(FileNotFoundError):
        Reader(tmp_path / "none").read_metadata()
