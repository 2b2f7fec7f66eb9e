"""A GPU as a `Machine`: the CUDA driver through ctypes, in the primary context that CuPy uses, too."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from importlib.metadata import version as distribution_version
from typing import Any

from . import cache, nvrtc
from .cache import key_of
from .machine import Launcher, parameters, source_of

__all__ = ["CudaMachine", "Cuda", "driver"]

INVALID_CONTEXT = 201


class DriverError(RuntimeError):
    """The CUDA driver refused."""


class Cuda:
    """The functions of libcuda that are used here, checked."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.check(self.library.cuInit(0), "cuInit")
        self.launch = self.library.cuLaunchKernel
        self.launch.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3]

    def check(self, status: int, what: str) -> None:
        """Raise for a status that is not success."""
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(status, ctypes.byref(text))
            raise DriverError(f"CUDA error: {(text.value or b'unknown').decode()} ({what}, {status})")

    def version(self) -> int:
        """CUDA's version that the driver supports: 13000."""
        value = ctypes.c_int()
        self.check(self.library.cuDriverGetVersion(ctypes.byref(value)), "cuDriverGetVersion")
        return value.value

    def attribute(self, number: int, device: int) -> int:
        """An attribute of a device."""
        value = ctypes.c_int()
        self.check(self.library.cuDeviceGetAttribute(ctypes.byref(value), number, device), "cuDeviceGetAttribute")
        return value.value


@functools.cache
def driver() -> Cuda:
    """The driver; OSError where there is none."""
    return Cuda()


class CudaMachine:
    """A GPU.

    Parameters
    ----------
    index
        The device's number.
    empty, zeros, address
        How arrays are made and where they lie, `Machine`'s: CuPy's in a backend.
    stream
        The handle of the stream in which kernels are launched.
    words
        Makes two words of the host's memory, zero, that the device can write to (`faults`).
    """

    def __init__(
        self,
        index: int,
        *,
        empty: Callable[..., Any],
        zeros: Callable[..., Any],
        address: Callable[[Any], int],
        stream: Callable[[], int],
        words: Callable[[], Any],
    ) -> None:
        self.index, self.empty, self.zeros, self.address, self.stream = index, empty, zeros, address, stream
        cuda = driver()
        self.processors = cuda.attribute(16, index)
        self.threads_per_processor = cuda.attribute(39, index)
        self.capability = cuda.attribute(75, index) * 10 + cuda.attribute(76, index)
        self.context = ctypes.c_void_p()
        cuda.check(cuda.library.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), index), "context")
        self.launchers: dict[tuple[str, str, str], Launcher] = {}
        self.lock = threading.Lock()
        self.words: Any = words()

    def architecture(self) -> tuple[str, bool]:
        """NVRTC's option for this device, and whether it makes machine code: a newer device gets PTX."""
        supported = nvrtc.architectures()
        if self.capability in supported:
            return f"--gpu-architecture=sm_{self.capability}", True
        return f"--gpu-architecture=compute_{max(a for a in supported if a <= self.capability)}", False

    def compiled(self, family: str, expression: str) -> nvrtc.Compiled:
        """An instance of a kernel, from the cache or compiled."""
        option, binary = self.architecture()
        return self.compiled_source(source_of(family), expression, (option, "--std=c++17"), binary)

    def compiled_source(self, source: str, expression: str, options: Sequence[str], binary: bool) -> nvrtc.Compiled:
        """As `compiled`, of any source."""
        versions = (nvrtc.version(), driver().version(), distribution_version("mt-backend-gpu"))
        key = cache.key_of(source, [expression], options, *versions)
        return cache.cached(key, lambda: nvrtc.compile_source(source, [expression], options, binary=binary))

    def function(self, compiled: nvrtc.Compiled, expression: str) -> int:
        """A kernel loaded onto the device; it may use as much shared memory as the device gives."""
        cuda, module, function = driver(), ctypes.c_void_p(), ctypes.c_void_p()
        cuda.check(cuda.library.cuCtxSetCurrent(self.context), "cuCtxSetCurrent")
        cuda.check(cuda.library.cuModuleLoadData(ctypes.byref(module), compiled.image), expression)
        name = compiled.names[expression].encode()
        cuda.check(cuda.library.cuModuleGetFunction(ctypes.byref(function), module, name), expression)
        static = ctypes.c_int()
        cuda.check(cuda.library.cuFuncGetAttribute(ctypes.byref(static), 1, function), expression)
        most = cuda.attribute(97, self.index) - static.value
        cuda.check(cuda.library.cuFuncSetAttribute(function, 8, most), expression)
        assert function.value is not None  # the driver succeeded
        return function.value

    def launcher(self, family: str, expression: str, codes: str) -> Launcher:
        """See `Machine.launcher`."""
        key = (family, expression, codes)
        found = self.launchers.get(key)
        if found is None:
            with self.lock:
                function = self.function(self.compiled(family, expression), expression)
                found = self.launchers[key] = self.launcher_of(function, expression, codes)
        return found

    def launcher_of_source(self, source: str, expression: str, codes: str, options: Sequence[str]) -> Launcher:
        """The launcher of a kernel in a source of somebody's own, compiled with options besides the usual ones."""
        key = (key_of(source, [], options), expression, codes)
        found = self.launchers.get(key)
        if found is None:
            with self.lock:
                option, binary = self.architecture()
                compiled = self.compiled_source(source, expression, (option, "--std=c++17", *options), binary)
                found = self.launcher_of(self.function(compiled, expression), expression, codes)
                self.launchers[key] = found
        return found

    def launcher_of_image(self, image: bytes, name: str, codes: str) -> Launcher:
        """The launcher of a kernel in a cubin, a fatbin or PTX (which ends in a zero byte), by its symbol."""
        key = (hashlib.sha256(image).hexdigest(), name, codes)
        found = self.launchers.get(key)
        if found is None:
            with self.lock:
                function = self.function(nvrtc.Compiled(image, {name: name}, ""), name)
                found = self.launchers[key] = self.launcher_of(function, name, codes)
        return found

    def launcher_of(self, function: int, name: str, codes: str) -> Launcher:
        """What packs arguments and launches a function.

        Buffers are kept and reused; each belongs to one launch at a time, because other threads run while the driver
        is called.
        """
        layout, cuda, stream, launch = parameters(codes), driver(), self.stream, driver().launch
        pack, rooms = layout.pack_into, list[tuple[Any, int]]()

        def run(gx: int, gy: int, gz: int, bx: int, by: int, shared: int, *values: Any) -> None:
            room, extra = rooms.pop() if rooms else argument_room(layout.size)
            pack(room[0], 0, *values)
            status = launch(function, gx, gy, gz, bx, by, 1, shared, stream(), None, extra)
            if status == INVALID_CONTEXT:  # a thread that has not used the device yet
                cuda.check(cuda.library.cuCtxSetCurrent(self.context), "cuCtxSetCurrent")
                status = launch(function, gx, gy, gz, bx, by, 1, shared, stream(), None, extra)
            rooms.append((room, extra))
            if status:
                cuda.check(status, name)

        return run

    def faults(self) -> int:
        """See `Machine.faults`."""
        address: int = self.words.ctypes.data
        return address


class ArgumentRoom(ctypes.Structure):
    """What cuLaunchKernel's ``extra`` points to: markers 1 (buffer), 2 (its size), 0 (end)."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("buffer_mark", "buffer", "size_mark", "size_at", "end")] + [
        ("size", ctypes.c_size_t)
    ]


def argument_room(size: int) -> tuple[Any, int]:
    """A buffer for arguments with what leads to it, and the address of that, the ``extra``."""
    buffer = ctypes.create_string_buffer(size)
    head = ArgumentRoom(1, ctypes.addressof(buffer), 2, 0, None, size)
    head.size_at = ctypes.addressof(head) + ArgumentRoom.size.offset
    return (buffer, head), ctypes.addressof(head)
