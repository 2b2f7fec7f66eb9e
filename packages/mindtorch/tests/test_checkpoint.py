"""``torch.distributed.checkpoint`` among threads, and against files and answers of PyTorch."""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
import mindtorch.distributed.checkpoint.state_dict  # what a program reaches by `torch.distributed`
from mindtorch.distributed import checkpoint
from mt_distributed.checkpoint.metadata_file import load_metadata
from mt_distributed.checkpoint.nested import flatten_state_dict, unflatten_state_dict
from mt_distributed.testing import run_threads

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from checkpoint_programs import PROGRAMS, saved_state, told  # noqa: E402 - lies beside the script that runs it

SNAPSHOT = json.loads((SNAPSHOTS / "checkpoint.json").read_text())
OF_PYTORCH = SNAPSHOTS / "checkpoint"


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Without groups, this process alone is meant; that it is said so is tested once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")
        yield


def _wanted() -> dict[str, Any]:
    return saved_state(torch, lambda x: x)


def _empty() -> dict[str, Any]:
    state = _wanted()
    flat, paths = flatten_state_dict(state)
    blank = {name: torch.zeros_like(one) if isinstance(one, torch.Tensor) else None for name, one in flat.items()}
    return unflatten_state_dict(blank, paths)


def _same(one: Any, other: Any) -> bool:
    return told({str(k): v for k, v in flatten_state_dict(one)[0].items()}) == told(flatten_state_dict(other)[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name: str) -> None:
    results = run_threads(2, lambda group: PROGRAMS[name](torch, group))
    assert json.loads(json.dumps(results)) == SNAPSHOT[name]


def test_reads_what_two_processes_of_pytorch_wrote() -> None:
    """Tensors that they shared are put together."""
    found = _empty()
    checkpoint.load(found, checkpoint_id=OF_PYTORCH)
    assert _same(found, _wanted())
    metadata = checkpoint.FileSystemReader(OF_PYTORCH).read_metadata()
    chunks = metadata.state_dict_metadata["model.spread"].chunks
    assert [(tuple(chunk.offsets), tuple(chunk.sizes)) for chunk in chunks] == [((0, 0), (3, 3)), ((3, 0), (2, 3))]


def test_files_are_pytorchs(tmp_path: Path) -> None:
    """Names in the metadata, paths, pieces and where pickles lie: before tensors."""
    checkpoint.save(_wanted(), checkpoint_id=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".metadata", "__0_0.distcp"]
    ours, theirs = (checkpoint.FileSystemReader(path).read_metadata() for path in (tmp_path, OF_PYTORCH))
    assert ours.planner_data == theirs.planner_data
    assert ours.version == theirs.version
    for name, entry in theirs.state_dict_metadata.items():
        own = ours.state_dict_metadata[name]
        assert (type(own), getattr(own, "size", 0)) == (type(entry), getattr(entry, "size", 0))
        assert getattr(own, "properties", 0) == getattr(entry, "properties", 0)
    kinds = [index.offset is None for index in sorted(ours.storage_data, key=lambda i: ours.storage_data[i].offset)]
    assert kinds == sorted(kinds, reverse=True)
    text = (tmp_path / ".metadata").read_bytes()
    assert b"mt_" not in text
    assert b"mindtorch" not in text.replace(str(tmp_path).encode(), b"")
    for name in (b"torch.distributed.checkpoint.metadata", b"torch.distributed.checkpoint.filesystem", b"_get_layout"):
        assert name in text


@pytest.mark.parametrize(("writers", "readers"), [(2, 1), (2, 3), (1, 2)])
def test_other_numbers_of_ranks_go_on(tmp_path: Path, writers: int, readers: int) -> None:
    """Each rank has objects of its own besides; what all have is written once."""

    def write(group: Any) -> Any:
        state = {**_wanted(), f"rank {group.rank()}": torch.full((2,), float(group.rank()))}
        return checkpoint.save(state, checkpoint_id=tmp_path, process_group=group)

    every = run_threads(writers, write)
    assert all(told(one.planner_data) == told(every[0].planner_data) for one in every)

    def read(group: Any) -> Any:
        state = {**_empty(), "rank 0": torch.zeros(2), f"rank {writers - 1}": torch.zeros(2)}
        checkpoint.load(state, checkpoint_id=tmp_path, process_group=group)
        assert state.pop("rank 0").tolist() == [0, 0]
        assert writers == 1 or state.pop(f"rank {writers - 1}").tolist() == [writers - 1.0] * 2
        return _same(state, _wanted())

    assert run_threads(readers, read) == [True] * readers
    names = [info.relative_path for info in checkpoint.FileSystemReader(tmp_path).read_metadata().storage_data.values()]
    assert len(set(names)) == writers


def test_where_one_rank_fails_all_raise(tmp_path: Path) -> None:
    def write(group: Any) -> Any:
        state = {"x": torch.ones(2), "own": (lambda: 1) if group.rank() == 1 else 2, f"only {group.rank()}": 3}
        state = {f"{name} {group.rank()}" if name == "own" else name: value for name, value in state.items()}
        with pytest.raises(checkpoint.CheckpointException, match="RANK 1") as raised:
            checkpoint.save(state, checkpoint_id=tmp_path, process_group=group)
        return list(raised.value.failures)

    assert run_threads(2, write) == [[1], [1]]
    assert not (tmp_path / ".metadata").exists()


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        ({"zz": torch.ones(1)}, RuntimeError, "Missing key in checkpoint state_dict: zz."),
        ({"zz": 1}, RuntimeError, "Missing key in checkpoint state_dict: zz."),
        (
            {"empty": torch.ones(3)},
            ValueError,
            "Size mismatch between saved torch.Size([0, 2]) and current: torch.Size([3]) for empty",
        ),
        ({"empty": 1}, ValueError, "Invalid checkpoint metadata for empty, expected BytesStorageMetadata but found"),
        ({"a.b": 1, "a": {"b": 2}}, ValueError, "duplicated flatten key a.b"),
    ],
)
def test_what_does_not_fit_is_refused_in_pytorchs_words(state: Any, error: type, words: str) -> None:
    with pytest.raises(checkpoint.CheckpointException) as raised:
        checkpoint.load(state, checkpoint_id=OF_PYTORCH)
    [(cause, _)] = raised.value.failures.values()
    assert type(cause) is error
    assert words in str(cause)


def test_options(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="`checkpoint_id` must be specified"):
        checkpoint.save({})
    for options, files in (({"thread_count": 2}, 2), ({"single_file_per_rank": False}, 13)):
        folder = tmp_path / str(files)
        checkpoint.save(_wanted(), storage_writer=checkpoint.FileSystemWriter(folder, **options))
        assert len(list(folder.glob("__0_*.distcp"))) == files
        found = _empty()
        checkpoint.load(found, checkpoint_id=folder)
        assert _same(found, _wanted())
    with pytest.raises(checkpoint.CheckpointException, match=r"Checkpoint already exists and self.overwrite=False\."):
        checkpoint.save({"x": 1}, storage_writer=checkpoint.FileSystemWriter(folder, overwrite=False))
    partial = {"epoch": 0, "new": torch.ones(1)}
    checkpoint.load(partial, checkpoint_id=folder, planner=checkpoint.DefaultLoadPlanner(allow_partial_load=True))
    assert partial == {"epoch": 3, "new": torch.ones(1)}
    state = {"x": torch.ones(3)}
    future = checkpoint.async_save(state, checkpoint_id=tmp_path / "later")
    state["x"].zero_()
    assert list(future.result().state_dict_metadata) == ["x"]
    checkpoint.load(state, checkpoint_id=tmp_path / "later")
    assert state["x"].tolist() == [1, 1, 1]
    for refused in ({"cache_staged_state_dict": True}, {"_extensions": [1]}):
        with pytest.raises(NotImplementedError, match="FileSystemWriter with"):
            checkpoint.FileSystemWriter(tmp_path, **refused)


def test_objects_with_a_state_and_tensors_that_require_grad(tmp_path: Path) -> None:
    class Counter:
        count = 5

        def state_dict(self) -> dict[str, Any]:
            return {"count": self.count, "tensor": torch.ones(1) * self.count}

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self.count, self.tensor = state["count"], state["tensor"]

    strided = torch.arange(6.0).reshape(2, 3).t()
    weight = torch.nn.Parameter(torch.ones(2))
    checkpoint.save({"counter": Counter(), "strided": strided, "weight": weight}, checkpoint_id=tmp_path)
    counter, other = Counter(), torch.nn.Parameter(torch.zeros(2))
    counter.count = 0
    wide = torch.zeros(3, 2, dtype=torch.float64)
    state = {"counter": counter, "strided": wide, "weight": other}
    with pytest.warns(UserWarning, match="assuming the intent is to load in a single process"):
        checkpoint.load(state, checkpoint_id=tmp_path)
    assert (counter.count, counter.tensor.item()) == (5, 5.0)
    assert state["counter"] is counter
    assert state["weight"] is other
    assert other.tolist() == [1, 1]
    assert wide.tolist() == strided.tolist()


class _Hostile:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


def test_metadata_names_nothing_but_metadata(tmp_path: Path) -> None:
    with pytest.raises(pickle.UnpicklingError, match="system, which is no part of it"):
        load_metadata(io.BytesIO(pickle.dumps(_Hostile())))
    checkpoint.save({"x": torch.ones(1)}, checkpoint_id=tmp_path)
    reader = checkpoint.FileSystemReader(tmp_path)
    metadata = reader.read_metadata()
    for info in metadata.storage_data.values():
        info.relative_path = "../elsewhere"
    reader.read_metadata = lambda: metadata
    with pytest.raises(checkpoint.CheckpointException, match="outside of its folder"):
        checkpoint.load({"x": torch.ones(1)}, storage_reader=reader)
    (tmp_path / "__0_0.distcp").write_bytes(b"short")
    with pytest.raises(checkpoint.CheckpointException, match=r"ends within x"):
        checkpoint.load({"x": torch.ones(1)}, checkpoint_id=tmp_path)


def test_names_are_told_apart() -> None:
    """As PyTorch's ``flatten_state_dict`` answered."""
    one = torch.ones(1)
    cases = {
        "a": ([[1, 2], [3]], {"a": ("a",)}),
        "b": ([(1, one)], {"b": ("b",)}),
        "c": ([{}], {}),
        "d": ([{"a": 1}], {"d.0.a": ("d", 0, "a")}),
        "e": ([[1, [one]]], {"e.0.0": ("e", 0, 0), "e.0.1.0": ("e", 0, 1, 0)}),
        "f": ({"a": [1, {"b": (1, 2)}]}, {"f.a.0": ("f", "a", 0), "f.a.1.b": ("f", "a", 1, "b")}),
        "g": ({3: {4: one}}, {"g.3.4": ("g", "3", "4")}),
    }
    for name, (value, paths) in cases.items():
        assert flatten_state_dict({name: value})[1] == paths
