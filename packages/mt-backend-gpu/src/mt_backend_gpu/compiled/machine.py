"""What the families' plans need of a device, and how arguments get to a kernel."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

__all__ = ["SOURCES", "Launcher", "Machine", "pieces", "source_of"]

SOURCES = Path(__file__).parent.parent / "cuda"

#: Launches: grid of three, block of two, bytes of shared memory, the kernel's arguments.
Launcher = Callable[..., None]


class Machine(Protocol):
    """Where kernels run: a GPU, or a test's stand-in for one."""

    #: Multiprocessors, and the most threads that one holds: PyTorch's random streams depend on them.
    processors: int
    threads_per_processor: int
    #: Two words of the host's memory, uint64, in which kernels leave the first fault (`faults`).
    words: Any

    def launcher(self, family: str, expression: str, codes: str) -> Launcher:
        """The launcher of an instance of a kernel.

        Parameters
        ----------
        family
            A file of ``cuda/``.
        expression
            The kernel with its template arguments.
        codes
            Its parameters as codes of `struct`, laid out natively: ``"qPP"`` is an i64 and two pointers.
        """

    def launcher_of_source(self, source: str, expression: str, codes: str, options: Sequence[str]) -> Launcher:
        """The launcher of a kernel in a source of somebody's own; `options` are NVRTC's."""

    def launcher_of_image(self, image: bytes, name: str, codes: str) -> Launcher:
        """The launcher of a kernel in machine code or PTX, by its symbol."""

    def empty(self, shape: Sequence[int], dtype: Any) -> Any:
        """A row-major array whose elements hold anything."""

    def zeros(self, shape: Sequence[int], dtype: Any) -> Any:
        """A row-major array of zeros."""

    def address(self, array: Any) -> int:
        """Where an array's first element lies."""

    def faults(self) -> int:
        """The address of the two words in which kernels leave the first index outside its bounds."""


@functools.cache
def source_of(family: str) -> str:
    """The text of a family's file behind that of ``common.cu``."""
    texts = [(SOURCES / f"{name}.cu").read_text(encoding="utf-8") for name in ("common", family)]
    return f'{texts[0]}\n#line 1 "{family}.cu"\n{texts[1]}'


def pieces(count: int, size: int) -> int:
    """How many pieces of `size` hold `count` elements; at least one."""
    return max(1, -(-count // size))


@functools.cache
def parameters(codes: str) -> struct.Struct:
    """The layout of a kernel's parameters: the native one, in which a ``struct`` as bytes counts as aligned to 8."""
    return struct.Struct("@" + codes)
