"""CANN's runtime with what belongs to a thread: the device that its calls go to."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import Any

from .cann.acl import Acl

__all__ = ["Driver"]


class _Thread(threading.local):
    """What CANN knows of a thread: its device, or None."""

    bound: int | None = None


class Driver:
    """`Acl` for several devices and threads.

    CANN's calls concern the device that the calling thread has set last. `bind` sets it where it is another, so that
    no caller restores anything.
    """

    def __init__(self, acl: Acl) -> None:
        self.acl = acl
        self.call = acl.call
        self._thread = _Thread()
        #: How many recordings of graphs are under way: meanwhile nobody may ask after streams, events and devices.
        self.recordings = 0
        #: Whether `close` was called.
        self.closed = False
        self.forked = False
        #: Devices that a thread has set, to be reset in the end.
        self.used: set[int] = set()
        this = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _after_fork(this))
        self.count = int(acl.asked("aclrtGetDeviceCount", ctypes.c_uint32))
        self.blocking = os.environ.get("ASCEND_LAUNCH_BLOCKING", "0") not in ("", "0")

    def bind(self, index: int) -> None:
        """Let the calling thread's calls go to a device.

        Raises
        ------
        RuntimeError
            In a process that was forked off one that used the devices.
        """
        if self._thread.bound != index or self.forked:
            if self.forked:
                raise RuntimeError(
                    "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the "
                    "'spawn' start method"
                )
            self.call("aclrtSetDevice", index)
            self.used.add(index)
            self._thread.bound = index

    def launched(self, stream: Any) -> None:
        """Work was given to a stream: it is waited for where ``ASCEND_LAUNCH_BLOCKING`` asks for it."""
        if self.blocking:
            self.call("aclrtSynchronizeStream", stream)

    def close(self) -> None:
        """Reset the devices and end CANN, where it was begun here."""
        if self.closed or self.forked:
            return
        self.closed = True
        for index in sorted(self.used):
            self.call("aclrtSetDevice", index)
            self.call("aclrtResetDevice", index)
        if self.acl.owns:
            self.call("aclFinalize")


def _after_fork(driver: weakref.ref[Driver]) -> None:
    found = driver()
    if found is not None and found.used:
        found.forked = True
