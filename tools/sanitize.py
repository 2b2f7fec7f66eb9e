"""Tests of the native library of the CPU under sanitizers: ``python -m tools.sanitize [KIND ...] [-- PYTEST ...]``.

The library is built anew in a folder that is kept for the next time, and stands in for the installed one: programs that
import it get this build, whatever lies beside the package. The sanitizers' runtime is loaded before Python, whose own
leaks are not looked at.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

__all__ = ["KINDS", "main"]

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "packages" / "mt-backend-cpu"
TESTS = PACKAGE / "tests"

#: Kind -> what -fsanitize= takes, the runtime to load first, its options, what is run.
KINDS: dict[str, tuple[str, str, dict[str, str], list[str]]] = {
    "address": (
        "address,undefined",
        "libasan.so",
        {
            # Sizes beyond memory are asked for, and must be refused as they are without sanitizers.
            "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        },
        [*map(str, sorted(TESTS.glob("test_native_*.py"))), str(TESTS / "test_exam.py")],
    ),
    # Two threads in one kernel, and kernels that divide their work; what is not instrumented is not looked at.
    "thread": (
        "thread",
        "libtsan.so",
        {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1:report_signal_unsafe=0"},
        [*map(str, sorted(TESTS.glob("test_native_*.py"))), "-k", "thread or result or divided or window or sizes"],
    ),
}

#: The pool of threads without Python, by the thread sanitizer, which goes on in forked processes when it is told to.
POOL = ([TESTS / "native_pool.cpp", PACKAGE / "native" / "core" / "parallel.cpp"], {"TSAN_OPTIONS": "die_after_fork=0"})

#: Run by Python before anything else: the package's extension module is the build that SANITIZED_LIBRARY names.
STARTUP = """
import importlib.util, os, sys

def stand_in():
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "mt_backend_cpu._native":
                return importlib.util.spec_from_file_location(name, os.environ["SANITIZED_LIBRARY"])
            return None
    sys.meta_path.insert(0, Finder)

stand_in()
"""


def build_hook() -> ModuleType:
    """The package's build hook."""
    spec = importlib.util.spec_from_file_location("hatch_build", PACKAGE / "hatch_build.py")
    assert spec is not None, "the build hook is a module"
    assert spec.loader is not None, "of a file"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(kind: str, levels: str, folder: Path) -> Path:
    """Build the library with a kind's sanitizers, and return its file."""
    hook = build_hook()
    target = folder / f"{kind}-{levels.replace(';', '-') or 'all'}"
    configure = ["cmake", "-S", str(PACKAGE / "native"), "-B", str(target), f"-DPython_EXECUTABLE={sys.executable}"]
    source_hash = runpy.run_path(str(PACKAGE / "src" / "mt_backend_cpu" / "native_sources.py"))["source_hash"]
    wanted = f"{source_hash(PACKAGE / 'native')}-{hook.numpy_series()}"
    configure += ["-G", "Ninja", f"-DSANITIZE={KINDS[kind][0]}", f"-DSOURCE_HASH={wanted}"]
    environment = {**os.environ, "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])}
    subprocess.run([*configure, *([f"-DLEVELS={levels}"] if levels else [])], check=True, env=environment)
    subprocess.run(["cmake", "--build", str(target)], check=True, env=environment)
    return target / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"


def runtime(name: str) -> str:
    """The sanitizers' runtime of the compiler that builds.

    Raises
    ------
    SystemExit
        Where it has none.
    """
    compiler = os.environ.get("CXX", "c++")
    told = subprocess.run([compiler, f"-print-file-name={name}"], check=True, stdout=subprocess.PIPE, text=True)
    path = told.stdout.strip()
    if not Path(path).is_absolute():
        raise SystemExit(f"{compiler} has no {name}: install the sanitizers of GCC")
    return path


def run_pool(folder: Path) -> int:
    """Build the pool with a program that uses it from several sides, and run that; its exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "pool"
    sources, settings = POOL
    compiler = [os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-g", "-fsanitize=thread", "-pthread"]
    subprocess.run([*compiler, f"-I{PACKAGE / 'native'}", *map(str, sources), "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=False, env={**os.environ, **settings}).returncode


def run(kind: str, library: Path, folder: Path, chosen: list[str], jobs: int) -> int:
    """Run pytest on the sanitized library; its exit status."""
    startup = folder / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "sitecustomize.py").write_text(STARTUP, encoding="utf-8")
    _, first, settings, tests = KINDS[kind]
    environment = {
        **os.environ, **settings, "LD_PRELOAD": runtime(first), "SANITIZED_LIBRARY": str(library),
        "PYTHONPATH": os.pathsep.join([str(startup), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    # Instrumented kernels are several times slower: the tests are divided.
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", str(jobs), *(chosen or tests)]
    return subprocess.run(command, cwd=ROOT, check=False, env=environment).returncode


def main() -> None:
    """Build and test with each kind in turn; exit with 1 where one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.sanitize", description=__doc__.splitlines()[0])
    parser.add_argument(
        "kinds", nargs="*", choices=[*KINDS, "pool", []], help="address (with undefined), thread, pool; else all"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that run tests")
    parser.add_argument("--levels", default="", help="levels of instructions to build, as in 'v2;v4'; else all")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / f"mt-sanitized-{os.getuid()}")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:split])
    failed = []
    for kind in options.kinds or ("pool", *KINDS):
        if kind == "pool":
            status = run_pool(options.folder)
        else:
            library = build(kind, options.levels, options.folder)
            status = run(kind, library, options.folder, sys.argv[split + 1 :], options.jobs)
        if status:
            failed.append(kind)
    if failed:
        raise SystemExit(f"sanitizers found faults: {', '.join(failed)}")


if __name__ == "__main__":
    main()
