"""Compiled kernels on disk, and NVRTC where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mt_backend_gpu.compiled import cache, nvrtc
from mt_backend_gpu.compiled.machine import SOURCES, source_of
from mt_backend_gpu.compiled.nvrtc import Compiled

HERE = Path(__file__).parent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path))
    return tmp_path / "cuda"


def made() -> Compiled:
    return Compiled(b"\0image" * 100, {"f<int>": "_Z1f"}, "log")


def refuse() -> Compiled:
    raise AssertionError("built again")


def test_an_entry_is_built_once(folder: Path) -> None:
    cache.cached("key", made)
    found = cache.cached("key", refuse)
    assert (found.image, found.names, found.log) == (made().image, made().names, "log")
    assert [path.name for path in folder.iterdir()] == ["key"]


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "other"])
def test_a_damaged_entry_is_built_again(folder: Path, damage: str) -> None:
    cache.cached("key", made)
    path = folder / "key"
    data = path.read_bytes()
    path.write_bytes({"empty": b"", "cut": data[:-1], "changed": data[:-1] + b"?", "other": b"x" + data[1:]}[damage])
    assert cache.read("key") is None
    assert cache.cached("key", made).image == made().image
    assert path.read_bytes() == data


def test_the_key_holds_everything_that_an_entry_depends_on() -> None:
    given = ("source", ["f"], ["-o"], (13, 0), 13000, "0.1")
    keys = {cache.key_of(*given)}
    for at, other in enumerate(("sourc", ["g"], ["-p"], (13, 1), 12000, "0.2")):
        keys.add(cache.key_of(*given[:at], other, *given[at + 1 :]))  # type: ignore[arg-type]
    assert len(keys) == len(given) + 1


def test_a_folder_that_cannot_be_written_leaves_the_kernel_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path / "file"))
    assert cache.cached("key", made).image == made().image


def test_every_family_has_its_source() -> None:
    for path in SOURCES.glob("*.cu"):
        if path.stem != "common":
            assert source_of(path.stem).startswith((SOURCES / "common.cu").read_text())


def test_a_missing_compiler_is_named_with_its_remedy() -> None:
    program = "from mt_backend_gpu.compiled import nvrtc; nvrtc.library()"
    environment = {**os.environ, "MINDTORCH_NVRTC": "/no/such/libnvrtc.so"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert "CompileError" in done.stderr and "pip install nvidia-cuda-nvrtc" in done.stderr


def test_kernels_compile_for_a_device() -> None:
    """One family; `compile_all.py` takes all of them for every architecture."""
    try:
        nvrtc.library()
    except nvrtc.CompileError as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [sys.executable, "compile_all.py", "--architectures", "90", "--families", "join", "loss"],
        cwd=HERE, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
