"""Launching AscendC kernels that were compiled to a binary (``.o``), by libascendcl.so.

The arguments lie in host memory one after another, each at a multiple of its alignment, and of 4: as the host stub of
``ascendc_library`` lays them out (Ascend C tools of CANN 9.0). A struct lies there itself. libascendcl copies them when
it is called. Its functions, and their sources, stand in `cann.prototypes`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mt_core.plugins import runtime_access
from mt_core.plugins.kernel_arguments import Passed

from ..cann.acl import Acl
from .launcher import Kernel
from .places import DEVICE, runtime_for

__all__ = ["BinaryKernel", "packed"]


class BinaryKernel(Kernel):
    """A kernel in a binary.

    Parameters
    ----------
    binary
        The path of the ``.o``.
    kernel, argtypes
        See `Kernel`.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    AclError
        When CANN does not take it, or finds no such kernel in it.
    NotImplementedError
        When this CANN has no function to launch it.
    """

    def __init__(self, binary: Any, kernel: str, argtypes: Sequence[Any] | None = None) -> None:
        super().__init__(kernel, argtypes)
        place = Path(os.fspath(binary)).resolve(strict=True)
        runtime = runtime_for(f"kernel {kernel}")
        driver = getattr(runtime, "driver", None)  # MindSpore's runtime has none: its thread has its device
        if driver is not None:
            driver.bind(runtime_access.current_index(DEVICE))
        self._acl = Acl.loaded() if driver is None else driver.acl
        #: The newest function for launching that this CANN has.
        self.entry = self._acl.first_of("launch")
        load, find = self._acl.raw("aclrtBinaryLoadFromFile"), self._acl.raw("aclrtBinaryGetFunction")
        self._binary = self._acl.handle(lambda out: load(os.fsencode(place), None, out), "aclrtBinaryLoadFromFile")
        self._function = self._acl.handle(
            lambda out: find(self._binary, kernel.encode(), out), f"aclrtBinaryGetFunction({kernel})"
        )

    def _launch(self, blocks: int, stream: int, given: list[Passed], values: list[Any]) -> int:
        if self.entry == "aclrtLaunchKernelWithHostArgs":
            room = packed(given, values)
            launch = self._acl.raw(self.entry)
            return int(launch(self._function, blocks, stream, None, room, len(room), None, 0))
        arguments = self._appended(given, values)
        return int(self._acl.raw(self.entry)(self._function, blocks, stream, None, arguments, None))

    def _appended(self, given: list[Passed], values: list[Any]) -> int:
        begin, append = self._acl.raw("aclrtKernelArgsInit"), self._acl.raw("aclrtKernelArgsAppend")
        arguments = self._acl.handle(lambda out: begin(self._function, out), "aclrtKernelArgsInit")
        for each, value in zip(given, values, strict=True):
            memory, size = (
                (each.kept.buffer, each.kept.size)
                if each.kept is not None
                else (each.ctype(value), ctypes.sizeof(each.ctype))
            )
            self._acl.handle(
                lambda out, memory=memory, size=size: append(arguments, ctypes.byref(memory), size, out),  # type: ignore[misc]
                "aclrtKernelArgsAppend",
            )
        self._acl.call("aclrtKernelArgsFinalize", arguments)
        return arguments


def packed(given: list[Passed], values: list[Any]) -> Any:
    """The arguments in a buffer of host memory."""
    data = bytearray()
    for each, value in zip(given, values, strict=True):
        if each.kept is not None:
            alignment, piece = each.kept.alignment, each.kept.buffer.raw[: each.kept.size]
        else:
            alignment, piece = ctypes.alignment(each.ctype), bytes(each.ctype(value))
        alignment = -(-alignment // 4) * 4
        data.extend(bytes(-len(data) % alignment))
        data.extend(piece)
    return (ctypes.c_char * len(data)).from_buffer(data) if data else (ctypes.c_char * 1)()
