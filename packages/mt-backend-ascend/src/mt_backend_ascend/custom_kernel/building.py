"""Building AscendC sources with CANN's toolchain, kept by content.

CANN brings CMake files whose ``ascendc_library(name SHARED sources)`` compiles kernels and generates the functions that
launch them. Where they lie: Ascend C development guide of CANN 8.0 and 8.5, "Kernel launch by kernel function", whose
``CMakeLists.txt`` tries `CMAKE_FOLDERS` in this order and sets the variables that `_PROJECT` sets.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mt_core.plugins import runtime_access
from mt_core.plugins.discovery import PluginError

from ..cann.libraries import HOMES, home, versions_of
from .launcher import KernelLauncher, library_of
from .places import DEVICE

__all__ = ["AscendcLibrary", "ascendc_load", "cache_folder", "what_is_missing"]

CMAKE_FOLDERS = (
    "tools/tikcpp/ascendc_kernel_cmake",
    "compiler/tikcpp/ascendc_kernel_cmake",
    "ascendc_devkit/tikcpp/samples/cmake",
    "aarch64-linux/tikcpp/ascendc_kernel_cmake",
    "x86_64-linux/tikcpp/ascendc_kernel_cmake",
)
_SUFFIXES = (".cpp", ".asc")
_PROJECT = """cmake_minimum_required(VERSION 3.16)
project(mindtorch_ascendc LANGUAGES CXX)
set(RUN_MODE "npu" CACHE STRING "")
set(CMAKE_BUILD_TYPE "Release" CACHE STRING "" FORCE)
include(${ASCENDC_CMAKE_DIR}/ascendc.cmake)
ascendc_library(@NAME@ SHARED @SOURCES@)
ascendc_compile_options(@NAME@ PRIVATE @FLAGS@)
"""


class AscendcLibrary:
    """A shared object of kernels; `path` is where it lies.

    ``library.kernel(name, argtypes)``, or ``library.name``, is a `KernelLauncher`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = library_of(path)

    def kernel(self, name: str, argtypes: Sequence[Any] | None = None) -> KernelLauncher:
        """A kernel of the library."""
        return KernelLauncher(self._library, name, argtypes)

    def __getattr__(self, name: str) -> KernelLauncher:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self.kernel(name)
        except PluginError as error:
            raise AttributeError(str(error)) from None

    def __repr__(self) -> str:
        return f"AscendcLibrary({str(self.path)!r})"


def cache_folder() -> Path:
    """Where libraries are kept: below ``MINDTORCH_CACHE_DIR``, or the platform's folder for caches."""
    named = os.environ.get("MINDTORCH_CACHE_DIR")
    if named:
        return Path(named) / "ascendc"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mindtorch" / "ascendc"


def what_is_missing() -> list[str]:
    """What building needs and this machine lacks, each with its remedy."""
    missing = []
    folder = home()
    if folder is None:
        missing.append(f"CANN: none of {', '.join(HOMES)} is set; run `source <CANN>/set_env.sh`")
    elif _cmake_folder(folder) is None:
        places = ", ".join(CMAKE_FOLDERS)
        missing.append(f"CANN's ascendc.cmake: {folder} has it in none of {places}; install CANN's toolkit")
    if shutil.which("cmake") is None:
        missing.append("cmake: pip install cmake")
    return missing


def _cmake_folder(folder: Path) -> Path | None:
    return next((folder / part for part in CMAKE_FOLDERS if (folder / part / "ascendc.cmake").is_file()), None)


def ascendc_load(
    name: str,
    sources: Sequence[Any],
    *,
    soc_version: str | None = None,
    extra_flags: Sequence[str] = (),
    verbose: bool = False,
) -> AscendcLibrary:
    """Build AscendC sources into a shared object, and load it.

    What was built is kept by the contents of the sources, of the headers beside them, the name, the chip, the flags and
    the version of CANN.

    Parameters
    ----------
    name
        The library's: letters, digits and underscores.
    sources
        Paths of ``.cpp`` or ``.asc`` files.
    soc_version
        The chip, as ``Ascend910B3``; by default that of the device.
    extra_flags
        For the compiler.
    verbose
        Whether what the tools say is shown.

    Raises
    ------
    PluginError
        Naming what is missing; or when the sources do not compile, with what the compiler said.
    FileNotFoundError, ValueError
        For sources that are not there, or no AscendC; for another name.
    """
    if not name.isidentifier():
        raise ValueError(f"the name of a library is letters, digits and underscores, not {name!r}")
    files = [Path(os.fspath(source)).resolve(strict=True) for source in sources]
    wrong = [str(f) for f in files if f.suffix not in _SUFFIXES]
    if not files or wrong:
        raise ValueError(f"AscendC sources end in {' or '.join(_SUFFIXES)}: {', '.join(wrong) or 'none are given'}")
    missing = what_is_missing()
    if missing:
        raise PluginError(f"AscendC kernels cannot be built here. Missing: {'; '.join(missing)}")
    folder = home()
    assert folder is not None  # nothing is missing
    chip = soc_version or _chip()
    target = cache_folder() / key_of(name, files, chip, extra_flags, folder) / f"lib{name}.so"
    if not target.exists():
        _build(name, files, chip, extra_flags, folder, target, verbose)
    return AscendcLibrary(target)


def _chip() -> str:
    if not runtime_access.count_devices(DEVICE):
        raise PluginError("there is no NPU to build for: name the chip, as soc_version='Ascend910B3'")
    runtime = runtime_access.require(DEVICE, "device control", "ascendc_load")
    return str(runtime.properties(runtime.current_device()).name)


def key_of(name: str, files: Sequence[Path], chip: str, flags: Sequence[str], folder: Path) -> str:
    """The name of what is kept: it changes with everything that a build depends on."""
    beside = sorted({h for f in files for pattern in ("*.h", "*.hpp") for h in f.parent.glob(pattern)})
    contents = [(f.name, hashlib.sha256(f.read_bytes()).hexdigest()) for f in (*files, *beside)]
    versions = list(versions_of(folder).items())
    return hashlib.sha256(json.dumps([name, contents, chip, list(flags), str(folder), versions]).encode()).hexdigest()


def _build(
    name: str, files: Sequence[Path], chip: str, flags: Sequence[str], folder: Path, target: Path, verbose: bool
) -> None:
    """Build in a folder of its own, and move what came out to its place: another process never sees half of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        quoted = " ".join(f'"{f}"' for f in files)
        text = _PROJECT.replace("@NAME@", name).replace("@SOURCES@", quoted)
        lines = text.splitlines(keepends=True)
        text = "".join(lines if flags else lines[:-1]).replace("@FLAGS@", " ".join(f'"{f}"' for f in flags))
        (Path(work) / "CMakeLists.txt").write_text(text)
        build = str(Path(work) / "build")
        options = {
            "SOC_VERSION": chip, "ASCEND_CANN_PACKAGE_PATH": folder, "ASCENDC_CMAKE_DIR": _cmake_folder(folder),
            "CMAKE_LIBRARY_OUTPUT_DIRECTORY": f"{work}/out",
        }  # fmt: skip
        _run(["cmake", "-S", work, "-B", build, *(f"-D{k}={v}" for k, v in options.items())], verbose)
        _run(["cmake", "--build", build], verbose)
        made = [*Path(work).rglob(f"lib{name}.so")]
        if not made:
            raise PluginError(f"CANN's toolchain ended without an error, and made no lib{name}.so")
        os.replace(made[0], target)


def _run(command: list[str], verbose: bool) -> None:
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if verbose:
        sys.stderr.write(ended.stdout)
    if ended.returncode:
        raise PluginError(f"{' '.join(command[:3])} failed ({ended.returncode}):\n{ended.stdout}")
