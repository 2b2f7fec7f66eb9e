"""A `Machine` that runs CUDA sources on the CPU: g++, a fiber for each thread, barriers and races checked."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mt_backend_gpu.compiled.machine import Launcher, parameters, source_of

HERE = Path(__file__).parent
COMPILER = shutil.which("g++")
FLAGS = ("-std=c++17", "-O1", "-fPIC", "-w", "-fno-strict-aliasing", "-ffp-contract=off")
DIVERGED, DEADLOCK, RACE = 1, 2, 4


class KernelFault(RuntimeError):
    """Threads met at different barriers, waited for each other, or raced."""


def build(arguments: Sequence[str], target: Path) -> Path:
    """Run the compiler, unless the target stands."""
    if not target.exists():
        fresh = target.with_suffix(".fresh")
        done = subprocess.run([COMPILER or "g++", *arguments, "-o", str(fresh)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[:6000])
        fresh.rename(target)
    return target


class CpuMachine:
    """Kernels run one block after another; arrays are NumPy's.

    Parameters
    ----------
    races
        Whether every access of memory is followed, which takes ten times as long.
    together
        Family -> instances that are compiled as soon as one of the family is asked for: the compiler mostly reads.
    """

    processors = 4
    threads_per_processor = 1024

    def __init__(
        self, folder: Path | None = None, *, races: bool = False, together: dict[str, list[str]] | None = None
    ) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="mindtorch_cuda_cpu"))
        self.races = races
        self.together = together or {}
        self.functions: dict[tuple[str, str], Any] = {}
        self.launches: list[tuple[str, str]] = []
        self.living: list[np.ndarray] = []
        self.words = np.zeros(2, np.uint64)
        #: Where set, kernels are noted here instead of being run.
        self.noted: set[tuple[str, str]] | None = None
        self.source: Callable[[str], str] = source_of
        #: Sources that are no family's, by names that no family has.
        self.others: dict[str, str] = {}

    def engine(self) -> Path:
        """The compiled fibers."""
        source = HERE / "cuda_cpu.cpp"
        name = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
        return build([*FLAGS, "-c", str(source)], self.folder / f"engine_{name}.o")

    def prepare(self, family: str, expressions: Iterable[str]) -> None:
        """Compile instances of a family's kernels together."""
        wanted = sorted(set(expressions) - {e for f, e in self.functions if f == family})
        if not wanted:
            return
        lines = [f"MT_LAUNCHER(launch_{i}, {expression})" for i, expression in enumerate(wanted)]
        text = "#define MT_CPU\n" + (self.others.get(family) or self.source(family)) + "\n" + "\n".join(lines) + "\n"
        flags = [*FLAGS, *(["-fsanitize=thread"] if self.races else [])]
        header = (HERE / "cuda_cpu.h").read_text()
        name = hashlib.sha256("\n".join([text, header, *flags, str(self.engine())]).encode()).hexdigest()[:24]
        source = self.folder / f"{name}.cpp"
        source.write_text(text)
        kernels = build([*flags, f"-I{HERE}", "-c", str(source)], self.folder / f"{name}.o")
        library = ctypes.CDLL(str(build(["-shared", str(kernels), str(self.engine())], self.folder / f"{name}.so")))
        library.mt_message.restype = ctypes.c_char_p
        for i, expression in enumerate(wanted):
            self.functions[family, expression] = getattr(library, f"launch_{i}"), library

    def prepare_noted(self, most: int = 40) -> None:
        """Compile what was noted, up to so many instances at a time, and run kernels again."""
        noted, self.noted = self.noted or set(), None
        for family in {family for family, _ in noted}:
            wanted = sorted(expression for own, expression in noted if own == family)
            for begin in range(0, len(wanted), most):
                self.prepare(family, wanted[begin : begin + most])

    def launcher(self, family: str, expression: str, codes: str) -> Launcher:
        """See `mt_backend_gpu.compiled.machine.Machine`."""
        layout = parameters(codes)

        def run(gx: int, gy: int, gz: int, bx: int, by: int, shared: int, *values: Any) -> None:
            if self.noted is not None:
                self.noted.add((family, expression))
                return
            if (family, expression) not in self.functions:
                self.prepare(family, [expression, *self.together.get(family, ())])
            function, library = self.functions[family, expression]
            self.launches.append((family, expression))
            buffer = layout.pack(*values)
            library.mt_forget_ranges()
            if self.races:
                for array in (*self.living, self.words):
                    library.mt_global_range(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
            fault = function(gx, gy, gz, bx, by, shared, buffer, ctypes.c_ulong(len(buffer)))
            if fault:
                kinds = {100: "arguments do not fit the parameters", 101: "the block is too large"}
                raise KernelFault(f"{expression}: {kinds.get(fault) or library.mt_message().decode()} ({fault})")

        return run

    def launcher_of_source(self, source: str, expression: str, codes: str, options: Sequence[str]) -> Launcher:
        """See `mt_backend_gpu.compiled.driver.CudaMachine`; options are NVRTC's, and none is taken here."""
        assert not options, options
        family = f"own {hashlib.sha256(source.encode()).hexdigest()[:16]}"
        self.others[family] = '#include "cuda_cpu.h"\n' + source
        return self.launcher(family, expression, codes)

    def launcher_of_image(self, image: bytes, name: str, codes: str) -> Launcher:
        """Machine code of a GPU does not run here."""
        raise NotImplementedError("machine code of a GPU does not run on the CPU")

    def keep(self, array: np.ndarray) -> np.ndarray:
        """Let an array count as memory of the device while races are looked for."""
        if self.races:
            self.living.append(array)
        return array

    def empty(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        """A row-major array full of 0xcb, so that an element that is not written is seen."""
        array = np.empty(tuple(shape), dtype)
        array.reshape(-1).view(np.uint8)[...] = 0xCB if array.dtype != np.bool_ else 1
        return self.keep(array)

    def zeros(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        """A row-major array of zeros."""
        return self.keep(np.zeros(tuple(shape), dtype))

    def address(self, array: np.ndarray) -> int:
        """Where an array's first element lies."""
        if self.races and not any(array is one for one in self.living):
            self.living.append(array)
        return array.ctypes.data

    def faults(self) -> int:
        """The address of the two words of faults."""
        return self.words.ctypes.data


def kept_folder() -> Path:
    """A folder for compiled sources that later runs find again."""
    made = Path(tempfile.gettempdir()) / "mindtorch_cuda_cpu"
    made.mkdir(exist_ok=True)
    return made
