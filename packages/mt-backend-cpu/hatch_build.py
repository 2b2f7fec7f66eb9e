"""Builds the native library while the distribution is built: by CMake, where there is a C++ compiler.

Without a compiler, and on Windows, the wheel is pure, its kernels run on NumPy, and the build says so. With a compiler,
a library that does not build is an error. ``MINDTORCH_NATIVE_BUILD=0`` leaves it out. A library of the same sources
that stands already beside the package (editable installs share it between environments) is not built again.
"""

from __future__ import annotations

import importlib.metadata
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# One file for the hook and the loader: the package itself cannot be imported before it is built.
SOURCES = Path(__file__).parent / "src" / "mt_backend_cpu" / "native_sources.py"
COMPILERS = ("c++", "g++", "clang++")


class NativeLibrary(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        if os.environ.get("MINDTORCH_NATIVE_BUILD") == "0":
            self.app.display_warning("mt-backend-cpu: the native library is left out, as MINDTORCH_NATIVE_BUILD=0 asks")
            return
        if sys.platform == "win32":
            self.app.display_warning("mt-backend-cpu: the native library is not built on Windows; kernels run on NumPy")
            return
        if not os.environ.get("CXX") and not any(map(shutil.which, COMPILERS)):
            self.app.display_warning(
                "mt-backend-cpu: there is no C++ compiler, so the native library is left out and kernels run on NumPy"
            )
            return
        root = Path(self.root)
        library = root / "src" / "mt_backend_cpu" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
        source_hash = runpy.run_path(str(SOURCES))["source_hash"]
        wanted = f"{source_hash(root / 'native')}-{numpy_series()}"
        if not (library.is_file() and wanted.encode() in library.read_bytes()):
            build(root / "native", wanted, library)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version != "editable":
            build_data["force_include"][str(library)] = f"mt_backend_cpu/{library.name}"


def numpy_series() -> str:
    """What is built with NumPy 2 runs with 1.26, but not the other way round."""
    return f"numpy{importlib.metadata.version('numpy').partition('.')[0]}"


def build(native: Path, wanted: str, library: Path) -> None:
    """Configure and build in a folder that goes away, and put the library where it belongs in one step."""
    paths = (sysconfig.get_path("scripts"), os.environ.get("PATH", ""))
    environment = {**os.environ, "PATH": os.pathsep.join(paths)}
    with tempfile.TemporaryDirectory(prefix="mt-native-") as folder:
        configure = ["cmake", "-S", str(native), "-B", folder, f"-DPython_EXECUTABLE={sys.executable}"]
        if shutil.which("ninja", path=environment["PATH"]):
            configure += ["-G", "Ninja"]
        run([*configure, f"-DSOURCE_HASH={wanted}"], environment)
        run(["cmake", "--build", folder, "--config", "Release", "--parallel"], environment)
        (built,) = [p for p in Path(folder).rglob(library.name) if p.is_file()]
        fresh = library.with_name(f"{library.name}.{os.getpid()}.new")
        shutil.copyfile(built, fresh)
        os.replace(fresh, library)


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"mt-backend-cpu: {' '.join(command)} failed\n{done.stdout}\n{done.stderr}")
