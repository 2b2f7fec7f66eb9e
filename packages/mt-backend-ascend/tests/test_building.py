"""`ascendc_load`: what is missing is named; what CANN's toolchain is asked for; what was built is kept by its contents.

A program stands in for ``cmake``: it notes how it was called, and compiles the sources with gcc. That CANN's own CMake
files take the project is not shown.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from mt_backend_ascend.custom_kernel import KernelLauncher, ascendc_load, building
from mt_core.plugins.discovery import PluginError

STAND_IN = Path(__file__).with_name("fake") / "cmake_stand_in.py"
KERNEL = 'extern "C" unsigned aclrtlaunch_nothing(unsigned blocks, void *stream) { return VALUE; }\n'


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CANN's folder with its CMake files, and a cmake; returns the log of its calls."""
    folder, tools, log = tmp_path / "cann", tmp_path / "bin", tmp_path / "log"
    (folder / building.CMAKE_FOLDERS[1]).mkdir(parents=True)
    (folder / building.CMAKE_FOLDERS[1] / "ascendc.cmake").touch()
    (folder / "version.cfg").write_text("8.5")
    tools.mkdir()
    (tools / "cmake").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{STAND_IN}" "$@"\n')
    monkeypatch.setenv("FAKE_CMAKE_LOG", str(log))
    (tools / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(folder))
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path / "cache"))
    return log


def source(tmp_path: Path, value: int) -> Path:
    place = tmp_path / "nothing.cpp"
    place.write_text(KERNEL.replace("VALUE", str(value)))
    return place


def calls(log: Path) -> int:
    return len(log.read_text().splitlines())


def test_builds_once_for_the_same_contents(toolchain: Path, tmp_path: Path) -> None:
    first = ascendc_load("mine", [source(tmp_path, 1)], soc_version="Ascend910B3", extra_flags=["-O3", "-DA=1"])
    assert isinstance(first.kernel("nothing"), KernelLauncher) and first.nothing.entry == "aclrtlaunch_nothing"
    with pytest.raises(AttributeError, match="exports no aclrtlaunch_other"):
        _ = first.other
    text = toolchain.read_text()
    assert calls(toolchain) == 2
    assert "-DSOC_VERSION=Ascend910B3" in text and f"-DASCEND_CANN_PACKAGE_PATH={tmp_path / 'cann'}" in text
    assert re.search(r"-DASCENDC_CMAKE_DIR=\S+/compiler/tikcpp/ascendc_kernel_cmake", text)
    again = ascendc_load("mine", [source(tmp_path, 1)], soc_version="Ascend910B3", extra_flags=["-O3", "-DA=1"])
    assert again.path == first.path and calls(toolchain) == 2
    assert [f.name for f in first.path.parent.iterdir()] == ["libmine.so"]


def test_builds_anew_for_whatever_changed(toolchain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = source(tmp_path, 1)
    paths = [ascendc_load("mine", [place], soc_version="Ascend910B3").path]
    paths.append(ascendc_load("mine", [source(tmp_path, 2)], soc_version="Ascend910B3").path)
    paths.append(ascendc_load("mine", [place], soc_version="Ascend310P3").path)
    paths.append(ascendc_load("mine", [place], soc_version="Ascend310P3", extra_flags=["-g"]).path)
    (tmp_path / "beside.h").write_text("// a header")
    paths.append(ascendc_load("mine", [place], soc_version="Ascend310P3").path)
    (tmp_path / "cann" / "version.cfg").write_text("9.0")
    paths.append(ascendc_load("mine", [place], soc_version="Ascend310P3").path)
    assert len(set(paths)) == len(paths) and calls(toolchain) == 2 * len(paths)


def test_failures_are_told(toolchain: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.cpp"
    wrong.write_text("this is no C++")
    for _ in range(2):  # a failure is not kept
        with pytest.raises(PluginError, match=r"cmake --build \S+ failed \(1\):\n(.|\n)*wrong.cpp"):
            ascendc_load("mine", [wrong], soc_version="Ascend910B3")
    with pytest.raises(FileNotFoundError):
        ascendc_load("mine", [tmp_path / "absent.cpp"], soc_version="Ascend910B3")
    with pytest.raises(ValueError, match=r"AscendC sources end in .cpp or .asc: .*kernel.py"):
        (tmp_path / "kernel.py").touch()
        ascendc_load("mine", [tmp_path / "kernel.py"], soc_version="Ascend910B3")
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        ascendc_load("my-lib", [source(tmp_path, 1)], soc_version="Ascend910B3")
    with pytest.raises(PluginError, match="name the chip, as soc_version="):
        ascendc_load("mine", [source(tmp_path, 1)])


def test_all_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in building.HOMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PluginError, match=r"Missing: CANN: none of ASCEND_HOME_PATH.*set_env.sh.*; cmake: pip install"):
        ascendc_load("mine", [source(tmp_path, 1)], soc_version="Ascend910B3")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    with pytest.raises(PluginError, match=r"CANN's ascendc.cmake: .* has it in none of tools/tikcpp"):
        ascendc_load("mine", [source(tmp_path, 1)], soc_version="Ascend910B3")
