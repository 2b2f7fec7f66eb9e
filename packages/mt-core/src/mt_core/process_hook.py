"""Has tensors shared between processes from the moment on when `multiprocessing` is there to send them.

Most programs never load it, and it takes longer to load than the core, so the core waits for it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = [
    "IMPORTED_FIRST",
    "arrived",
    "call_when_executed",
    "install",
    "share_when_sent",
    "when_processes_can_be_sent",
]

#: It holds the classes of processes, and imports what pickles them.
_MODULE = "multiprocessing.context"
#: What a new process imports before it is told what to do: modules by which pickled names are found.
IMPORTED_FIRST: list[str] = []
_waiting: list[Callable[[], None]] = []


class _Finder(MetaPathFinder):
    """Finds the one module as the path does, and calls what waits for it when it has been executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the module that is waited for; None for all others."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname == _MODULE else None
        if spec is not None and spec.loader is not None:
            call_when_executed(spec.loader, lambda module: arrived())
        return spec


def call_when_executed(loader: Any, action: Callable[[ModuleType], None]) -> None:
    """Have a loader call `action` with the module that it has executed."""
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        action(module)

    loader.exec_module = exec_module


def arrived() -> None:
    """Call what waits, unless `mt_core.process_sharing` is being imported: it calls this again at its end."""
    sharing = importlib.import_module("mt_core.process_sharing")
    while _waiting and hasattr(sharing, "share_class"):
        _waiting.pop()()


def when_processes_can_be_sent(action: Callable[[], None]) -> None:
    """Call `action` when `multiprocessing` is loaded, at once if it is."""
    _waiting.append(action)
    if _MODULE in sys.modules:
        arrived()


def share_when_sent(cls: type) -> None:
    """Have tensors of a class shared between processes, as `mt_core.process_sharing.share_class`."""
    when_processes_can_be_sent(lambda: sys.modules["mt_core.process_sharing"].share_class(cls))


def install() -> None:
    """Begin to wait, or have tensors shared at once where `multiprocessing` is loaded."""
    if _MODULE in sys.modules:
        arrived()
    else:
        sys.meta_path.insert(0, _Finder())
