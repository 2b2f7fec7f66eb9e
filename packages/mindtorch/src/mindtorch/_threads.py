"""How many threads compute: OpenBLAS's, with which NumPy multiplies matrices, and those of the CPU's native kernels."""

from __future__ import annotations

import ctypes
import functools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mt_core.dispatch.lookup import backend_for
from mt_core.keys import CPU
from mt_core.state import settle

__all__ = [
    "get_num_interop_threads",
    "get_num_threads",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
]

#: What NumPy's own builds of OpenBLAS, and those of distributions, put around the names of functions.
_PREFIXES = ("scipy_", "")
_SUFFIXES = ("64_", "_64", "")


class _Blas:
    """The two functions of a loaded OpenBLAS that are about threads."""

    def __init__(self, get: Any, set: Any) -> None:
        self.get = get
        self.set = set


def _libraries() -> Iterator[str]:
    """Shared libraries that may be NumPy's OpenBLAS, those that this process has loaded first."""
    maps = Path("/proc/self/maps")
    if maps.exists():
        for line in maps.read_text().splitlines():
            path = line.partition("/")[2]
            if "openblas" in path.lower():
                yield "/" + path
    package = Path(np.__file__).parent
    for folder in package.parent / "numpy.libs", package / ".dylibs", package / ".libs":
        yield from map(str, sorted(folder.glob("*openblas*")))


@functools.cache
def _blas() -> _Blas | None:
    for path in dict.fromkeys(_libraries()):
        library = ctypes.CDLL(path)
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
                set = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
                if get is not None and set is not None:
                    return _Blas(get, set)
    return None


def get_num_threads() -> int:
    """How many threads a product of matrices runs on; 1 if that cannot be known, for want of OpenBLAS."""
    blas = _blas()
    return 1 if blas is None else blas.get()


def set_num_threads(int: int) -> None:  # PyTorch's own name for it
    """Let products of matrices and native kernels run on so many threads.

    Without OpenBLAS products are left as they are, and it warns.

    Raises
    ------
    TypeError, RuntimeError
        When it is no whole number, or none above 0.
    """
    number = _thread_count("set_num_threads", int)
    settle()
    of_kernels = getattr(backend_for(CPU), "set_num_threads", None)
    if of_kernels is not None:
        of_kernels(number)
    blas = _blas()
    if blas is not None:
        blas.set(number)
        return
    warnings.warn(
        "torch.set_num_threads has no effect on products of matrices: NumPy does not compute with OpenBLAS here. Set "
        "the environment variable of its BLAS, such as MKL_NUM_THREADS or OMP_NUM_THREADS, before the program starts.",
        stacklevel=2,
    )


def _thread_count(function: str, number: Any) -> Any:
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{function} expects an int, but got {type(number).__name__}")
    if number.__index__() <= 0:
        raise RuntimeError(f"{function} expects a positive integer")
    return number.__index__()


def get_num_interop_threads() -> int:
    """How many operators run at a time: one."""
    return 1


def set_num_interop_threads(int: int) -> None:
    """Allow so many operators to run at a time; they run one at a time all the same."""
    _thread_count("set_num_interop_threads", int)


def set_flush_denormal(mode: bool) -> bool:
    """Ask that numbers too small to be normalized count as zero; returns whether that is possible: no."""
    return False
