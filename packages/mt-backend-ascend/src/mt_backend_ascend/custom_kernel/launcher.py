"""Launching AscendC kernels by the functions that CANN's compiler makes for them.

The ABI. For a kernel ``extern "C" __global__ __aicore__ void add(GM_ADDR x, float a, Tiling t)``, CANN's
``ascendc_library`` generates ``uint32_t aclrtlaunch_add(uint32_t blockDim, aclrtStream stream, void *x, float a, Tiling
*t)``: addresses for ``GM_ADDR``, numbers by value in their C type, a struct by its address in host memory, from which
it is copied; 0 for success. Sources: Ascend C development guide of CANN 8.0 and 8.5, "Kernel launch by kernel
function"; the generated ``aclrtlaunch_*.h`` and host stub of the Ascend C tools that come with CANN 9.0 (struct by
address, argument alignment; neither includes anything that has a type ``half`` or ``bfloat16_t``).

Kernels that were compiled to a binary of their own (``.o``) are launched by libascendcl.so: `BinaryKernel`.
"""

from __future__ import annotations

import ctypes
import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mt_core.plugins.discovery import PluginError
from mt_core.plugins.kernel_arguments import HalfType, Passed, Typed, common_index, passed

from ..cann.errors import AclError
from .places import DEVICE, blocks_launches, drain, runtime_for, stream_of, tensor_ptr

__all__ = ["Kernel", "KernelLauncher", "library_of"]

#: The largest number of blocks: Ascend C API reference, "Kernel function definition and call" (CANN 8.5).
MOST_BLOCKS = 65535


class Kernel:
    """What all launchers share: arguments in, work for a stream out.

    Parameters
    ----------
    name
        The kernel's.
    argtypes
        The types of its arguments, in order: ``u32``, ``f32`` and the like, ``struct`` or a ``ctypes.Structure``
        class, ``tensor``, a dtype or a tuple of dtypes. None where each call wraps its numbers.
    """

    def __init__(self, name: str, argtypes: Sequence[Any] | None) -> None:
        self.name = name
        self.argtypes = None if argtypes is None else tuple(argtypes)
        #: Host memory that kernels may still read, and the events after which they do not.
        self._kept: list[tuple[list[Any], Any]] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, argtypes={self.argtypes})"

    def __call__(self, block_dim: int, *args: Any, stream: Any = None) -> None:
        """Give the kernel to a stream; does not wait for it.

        Parameters
        ----------
        block_dim
            On how many cores it runs.
        args
            Its arguments: tensors that lie row by row on one device ``npu``, numbers, structs; None is a null address.
        stream
            A ``torch.npu.Stream`` or the address of an ``aclrtStream``; by default the current one.

        Raises
        ------
        TypeError, ValueError, OverflowError
            For arguments that are not what was declared.
        AclError
            When the launch fails, or what ``ASCEND_LAUNCH_BLOCKING`` lets it wait for.
        """
        given = self._passed(args)
        tensors = [p.tensor for p in given if p.tensor is not None]
        blocks = self._blocks(block_dim)
        drain()
        addresses = {id(t): self._address(t, at) for at, t in enumerate(tensors)}
        index = common_index(tensors, DEVICE)
        runtime = runtime_for(f"kernel {self.name}")
        handle = stream_of(stream, runtime, index)
        values = [p.value if p.tensor is None else addresses[id(p.tensor)] for p in given]
        if stream is not None:
            for each in tensors:
                runtime.record_stream(each._array, handle)
        driver = getattr(runtime, "driver", None)
        if driver is not None:
            driver.bind(index)
        status = self._launch(blocks, handle.native, given, values)
        if status:
            message = driver.acl.recent_message() if driver is not None else ""
            raise AclError(self.entry, status, message)
        self._keep([p.kept for p in given if p.kept is not None], runtime, handle, index)
        if blocks_launches():
            handle.synchronize()

    #: What is called, as errors name it.
    entry: str

    def _launch(self, blocks: int, stream: int, given: list[Passed], values: list[Any]) -> int:
        """Call CANN; its status."""
        raise NotImplementedError

    def _passed(self, args: tuple[Any, ...]) -> list[Passed]:
        if self.argtypes is None:
            return [passed(value, None, f"{self.name}: argument {at}") for at, value in enumerate(args)]
        if len(args) != len(self.argtypes):
            raise TypeError(f"{self.name} takes {len(self.argtypes)} arguments ({self.argtypes}), not {len(args)}")
        return [
            passed(value, declared, f"{self.name}: argument {at}")
            for at, (value, declared) in enumerate(zip(args, self.argtypes, strict=True))
        ]

    def _blocks(self, block_dim: Any) -> int:
        try:
            blocks = operator.index(block_dim)
        except TypeError:
            raise TypeError(f"{self.name}: block_dim is a whole number, not {block_dim!r}") from None
        if isinstance(block_dim, bool) or not 1 <= blocks <= MOST_BLOCKS:
            raise ValueError(f"{self.name}: block_dim is 1 to {MOST_BLOCKS}, not {block_dim!r}")
        return blocks

    def _address(self, tensor: Any, at: int) -> int:
        try:
            return tensor_ptr(tensor)
        except ValueError as error:
            raise ValueError(f"{self.name}: tensor {at}: {error}") from None

    def _keep(self, structs: list[Any], runtime: Any, handle: Any, index: int) -> None:
        graphs = getattr(runtime, "graphs", None)  # MindSpore's runtime has none
        if graphs is not None and graphs.driver.recordings:
            recording = graphs.recording(handle)
            if recording is not None:
                recording.kept.extend(structs)
                return
        else:
            self._kept = [(memory, event) for memory, event in self._kept if not event.query()]
        if structs:
            event = runtime.event(index, False, False, False)
            event.record(handle)
            self._kept.append((structs, event))


class KernelLauncher(Kernel):
    """A kernel in a shared object that ``ascendc_library`` built.

    Parameters
    ----------
    library
        The shared object: its path, or loaded.
    kernel
        The kernel's name; its function is ``aclrtlaunch_<kernel>``.
    argtypes
        See `Kernel`.

    Raises
    ------
    PluginError
        When the library cannot be loaded, or has no such function.
    """

    def __init__(self, library: Any, kernel: str, argtypes: Sequence[Any] | None = None) -> None:
        super().__init__(kernel, argtypes)
        self.library = library_of(library)
        self.entry = f"aclrtlaunch_{kernel}"
        try:
            # Named anew for each launcher: types belong to the function object.
            self._function = ctypes.CFUNCTYPE(ctypes.c_uint32)((self.entry, self.library))
        except AttributeError:
            raise PluginError(f"{self.library._name} exports no {self.entry}: it has no kernel {kernel}") from None
        self._address_of_entry = ctypes.cast(self._function, ctypes.c_void_p).value or 0
        self._prototypes: dict[tuple[Any, ...], Any] = {}

    def _passed(self, args: tuple[Any, ...]) -> list[Passed]:
        for at, value in enumerate(args):
            declared = None if self.argtypes is None or at >= len(self.argtypes) else self.argtypes[at]
            kind = value.ctype if isinstance(value, Typed) else declared
            if isinstance(kind, HalfType):
                raise TypeError(
                    f"{self.name}: argument {at}: {self.entry} takes no {kind.c_name} by value, as the header that "
                    "ascendc_library generates for it knows no such type: take f32 or a struct, or launch the kernel's "
                    "binary (BinaryKernel), whose arguments lie in memory"
                )
        return super()._passed(args)

    def _launch(self, blocks: int, stream: int, given: list[Passed], values: list[Any]) -> int:
        types = tuple(p.ctype for p in given)
        call = self._prototypes.get(types)
        if call is None:
            made = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, *types)
            call = self._prototypes[types] = made(self._address_of_entry)
        return int(call(blocks, stream, *values))


def library_of(library: Any) -> ctypes.CDLL:
    """A shared object, by its path or as it is.

    Raises
    ------
    PluginError
        When it cannot be loaded, with the loader's words.
    """
    if isinstance(library, ctypes.CDLL):
        return library
    place = os.fspath(library)
    if os.sep in place and not Path(place).exists():
        raise PluginError(f"there is no {place}")
    try:
        return ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise PluginError(f"{place} cannot be loaded: {error}") from error
