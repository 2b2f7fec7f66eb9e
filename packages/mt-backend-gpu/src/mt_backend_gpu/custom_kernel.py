"""CUDA kernels of your own, as functions on tensors: of a source that NVRTC compiles, or of a binary.

``CudaKernel(source, "axpy", (torch.float32, torch.float32, f32, i64))`` is called with a grid, a block and arguments.
Numbers are given in C types: ``i64(8)``, ``f32(0.5)``, or declared as ``argtypes``. ``torch.library.custom_op`` makes
an operator of a function that allocates outputs and calls it.
"""

from __future__ import annotations

import ctypes
import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mt_core.plugins import runtime_access
from mt_core.plugins.discovery import PluginError
from mt_core.plugins.kernel_arguments import (
    Passed,
    address_of,
    bf16,
    boolean,
    common_index,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    passed,
    stream_handle,
    struct,
    tensor,
    u8,
    u16,
    u32,
    u64,
)
from mt_core.state import settle
from mt_core.tensor import Tensor

__all__ = [
    "CudaKernel", "bf16", "boolean", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "struct", "tensor", "tensor_ptr",
    "u8", "u16", "u32", "u64",
]  # fmt: skip

DEVICE = "cuda"
#: CUDA C programming guide 13.0, "Technical specifications per compute capability": the same for all since 3.0.
MOST_THREADS, MOST_BLOCKS, MOST_BLOCKS_YZ = 1024, (1 << 31) - 1, (1 << 16) - 1
#: C type -> its code in `struct`.
_CODES = {
    ctypes.c_int8: "b", ctypes.c_uint8: "B", ctypes.c_int16: "h", ctypes.c_uint16: "H", ctypes.c_int32: "i",
    ctypes.c_uint32: "I", ctypes.c_int64: "q", ctypes.c_uint64: "Q", ctypes.c_float: "f", ctypes.c_double: "d",
    ctypes.c_bool: "?", ctypes.c_void_p: "P",
}  # fmt: skip


def tensor_ptr(tensor: Any) -> int:
    """The address of a tensor's first element, as kernels take it; see `address_of`."""
    return address_of(tensor, DEVICE)


class CudaKernel:
    """A kernel, compiled when it is first called on a kind of device, and kept on disk.

    Parameters
    ----------
    source
        CUDA C++ as a text; or the path of a ``.cu`` file, a ``.cubin``, a ``.fatbin`` or a ``.ptx``.
    name
        The kernel: ``extern "C"``, or with its template arguments, ``"scale<float>"``. In a binary, its symbol.
    argtypes
        The types of its arguments, in order: ``i64``, ``f32`` and the like, ``struct`` or a ``ctypes.Structure`` class,
        ``tensor``, a dtype or a tuple of dtypes. None where each call wraps its numbers.
    options
        For NVRTC, besides the architecture and ``--std=c++17``.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    """

    def __init__(
        self, source: Any, name: str, argtypes: Sequence[Any] | None = None, *, options: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.argtypes = None if argtypes is None else tuple(argtypes)
        self.options = tuple(options)
        self._image: bytes | None = None
        self._source = ""
        if isinstance(source, os.PathLike) or (isinstance(source, str) and _names_file(source)):
            place = Path(source).resolve(strict=True)
            if place.suffix == ".cu":
                self._source = place.read_text(encoding="utf-8")
            else:
                self._image = place.read_bytes() + (b"\0" if place.suffix == ".ptx" else b"")
        else:
            self._source = source

    def __repr__(self) -> str:
        return f"CudaKernel({self.name!r}, argtypes={self.argtypes})"

    def __call__(self, grid: Any, block: Any, *args: Any, shared: int = 0, stream: Any = None) -> None:
        """Give the kernel to a stream; does not wait for it.

        Parameters
        ----------
        grid, block
            How many blocks (up to three numbers), and how many threads in each (up to two).
        args
            Its arguments: tensors that lie row by row on one device, numbers, structs; None is a null pointer.
        shared
            Bytes of dynamic shared memory.
        stream
            A ``torch.cuda.Stream``; by default the current one.

        Raises
        ------
        TypeError, ValueError, OverflowError
            For arguments that are not what was declared.
        PluginError
            When kernels cannot be compiled or run here, with the reason.
        CompileError, DriverError
            What NVRTC and the driver say.
        """
        if not runtime_access.count_devices(DEVICE):
            raise runtime_access.no_device(DEVICE)
        given = self._passed(args)
        blocks, threads = self._sizes("grid", grid, 3), self._sizes("block", block, 2)
        if blocks[0] > MOST_BLOCKS or max(blocks[1:]) > MOST_BLOCKS_YZ:
            raise ValueError(
                f"{self.name}: a grid has at most {MOST_BLOCKS} x {MOST_BLOCKS_YZ} x {MOST_BLOCKS_YZ} blocks"
            )
        if threads[0] * threads[1] > MOST_THREADS:
            raise ValueError(f"{self.name}: a block has at most {MOST_THREADS} threads, not {threads[0] * threads[1]}")
        settle()  # what is queued before it would come after it
        tensors = [p.tensor for p in given if p.tensor is not None]
        values = [p.value if p.tensor is None else self._address(p.tensor, at) for at, p in enumerate(given)]
        index, handle = self._place(tensors, stream)
        runtime = runtime_access.require(DEVICE, "streams", f"kernel {self.name}")
        before = runtime.current_device()
        current = runtime.current_stream(index)
        if before != index:
            runtime.set_device(index)
        try:
            if handle is not None:
                runtime.set_stream(handle)
                for each in tensors:
                    runtime.record_stream(each._array, handle)
            launch = self._launcher(_layout(given))
            launch(*blocks, *threads, operator.index(shared), *_in_layout(given, values))
        finally:
            if handle is not None:
                runtime.set_stream(current)
            if before != index:
                runtime.set_device(before)
        if os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
            (handle or current).synchronize()

    def _launcher(self, codes: str) -> Any:
        from .compiled.nvrtc import REMEDY
        from .compiled.on_cupy import available, machine  # imports CuPy: where there is a device, it is there

        if not available():
            raise PluginError(f"kernel {self.name}: CUDA sources are compiled by NVRTC, which was not found: {REMEDY}")
        if self._image is not None:
            return machine().launcher_of_image(self._image, self.name, codes)
        return machine().launcher_of_source(self._source, self.name, codes, self.options)

    def _passed(self, args: tuple[Any, ...]) -> list[Passed]:
        if self.argtypes is not None and len(args) != len(self.argtypes):
            raise TypeError(f"{self.name} takes {len(self.argtypes)} arguments ({self.argtypes}), not {len(args)}")
        return [
            passed(value, None if self.argtypes is None else self.argtypes[at], f"{self.name}: argument {at}")
            for at, value in enumerate(args)
        ]

    def _sizes(self, what: str, given: Any, most: int) -> list[int]:
        values = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(values) > most and any(v != 1 for v in values[most:]):
            raise ValueError(f"{self.name}: a {what} has at most {most} dimensions here, not {len(values)}")
        try:
            sizes = [operator.index(v) for v in values[:most]]
        except TypeError:
            raise TypeError(f"{self.name}: a {what} is whole numbers, not {given!r}") from None
        if not sizes or min(sizes) < 1:
            raise ValueError(f"{self.name}: a {what} is positive numbers, not {given!r}")
        return sizes + [1] * (most - len(sizes))

    def _address(self, each: Tensor, at: int) -> int:
        try:
            return tensor_ptr(each)
        except ValueError as error:
            raise ValueError(f"{self.name}: argument {at}: {error}") from None

    def _place(self, tensors: list[Tensor], stream: Any) -> tuple[int, Any]:
        try:
            index = common_index(tensors, DEVICE)
            return index, None if stream is None else stream_handle(stream, DEVICE, index)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.name}: {error}") from None


def _names_file(text: str) -> bool:
    return "\n" not in text and text.endswith((".cu", ".cubin", ".fatbin", ".ptx"))


def _layout(given: list[Passed]) -> str:
    """The arguments as codes of `struct`, natively aligned; structs are bytes, with what goes before them."""
    codes, size = "", 0
    for each in given:
        if each.kept is None:
            width = ctypes.sizeof(each.ctype)
            size += -size % width + width
            codes += _CODES[each.ctype]
        else:
            gap = -size % each.kept.alignment
            size += gap + each.kept.size
            codes += f"{gap}x{each.kept.size}s" if gap else f"{each.kept.size}s"
    return codes


def _in_layout(given: list[Passed], values: list[Any]) -> list[Any]:
    """The values for `_layout`'s codes: the bytes of structs, 0 for a null pointer."""
    return [
        each.kept.buffer.raw[: each.kept.size] if each.kept is not None else (0 if value is None else value)
        for each, value in zip(given, values, strict=True)
    ]
