"""What a program does while it is captured that its graph could not repeat, seen as it happens.

Calls of operators are seen by a function mode (`output_graph`); here are the calls of Python functions and of built-in
ones. A function of the program is noted before its body runs (`guards.ProgramState.note_code`).
"""

from __future__ import annotations

import functools
import gc
import logging
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

from .._capturing import disabled, is_library, is_own
from .exc import GraphBreak
from .guards import ProgramState

__all__ = ["Watcher", "breaking_functions"]

#: Modules of Python whose functions give another value each time, or act on the world.
_IMPURE_MODULES = frozenset({"time", "random", "_random", "secrets", "uuid", "subprocess", "socket", "select"})
_IMPURE_BUILTINS = frozenset({id(print), id(input), id(breakpoint)})
#: The operating system, where the program asks it, be it through Python's modules, and no import or warning does.
_SYSTEM_MODULES = frozenset({"posix", "nt"})
_STREAMS = frozenset({"StringIO", "BytesIO", "TextIOWrapper", "BufferedReader", "BufferedWriter", "FileIO"})
_OF_IMPORTS = frozenset({"importlib._bootstrap", "importlib._bootstrap_external", "linecache", "warnings", "traceback"})
_FIXED = frozenset({"fspath", "fsencode", "_path_splitroot_ex", "_path_normpath"})
#: Functions of Python that answer by a setting.
_SETTINGS = frozenset({"getrecursionlimit", "getswitchinterval", "getcontext", "getlocale", "localeconv"})
_IMPURE_CLASSES = frozenset({"Random", "SystemRandom"})
#: Where symbols are computed with and compared.
_SYMBOLIC = f"{__package__.rpartition('.')[0]}.fx.experimental.sym_node"
_READS_ENVIRONMENT = type(os.environ).__getitem__.__code__


@functools.cache
def breaking_functions() -> dict[CodeType, str]:
    """Functions of mindtorch and of Python that no graph repeats, and what they do."""
    import mindtorch as torch  # late: all of it is loaded when a program runs

    found: dict[Callable[..., Any], str] = {
        torch.autograd.Function.apply.__func__: "calls an autograd.Function",
        torch.autograd.graph.saved_tensors_hooks.__enter__: "enters saved_tensors_hooks",
        torch.utils._python_dispatch.TorchDispatchMode.__enter__: "enters a TorchDispatchMode",
        logging.Logger.handle: "writes to a log",
    }
    for name in (
        "manual_seed seed set_rng_state get_rng_state set_default_dtype set_default_device set_num_threads "
        "use_deterministic_algorithms inference_mode.__enter__ set_autocast_enabled set_autocast_dtype "
        "set_autocast_cache_enabled"
    ).split():
        owner, _, member = name.rpartition(".")
        found[getattr(getattr(torch, owner), member) if owner else getattr(torch, name)] = f"calls torch.{name}"
    return {_code_of(function): reason for function, reason in found.items()}


@functools.cache
def _asking_functions() -> dict[CodeType, Callable[[], Any]]:
    """Functions of mindtorch that answer by a setting that no other guard knows."""
    import mindtorch as torch  # late: all of it is loaded when a program runs

    names = "get_num_threads get_num_interop_threads get_float32_matmul_precision initial_seed is_warn_always_enabled"
    found: list[Callable[[], Any]] = [getattr(torch, name) for name in names.split()]
    found += [getattr(torch.backends.cuda, name) for name in dir(torch.backends.cuda) if name.endswith("_sdp_enabled")]
    return {_code_of(function): function for function in found}


def _code_of(function: Any) -> CodeType:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__code__


class Watcher:
    """Context manager: calls in this thread are looked at, until the program has ended.

    Parameters
    ----------
    state
        Is told of each function of the program before it runs.
    """

    def __init__(self, state: ProgramState) -> None:
        self._state = state
        self._followed: dict[CodeType, Callable[[FrameType], None]] = {}
        self._known: set[CodeType] = set()
        self._breaking = breaking_functions()
        self._asking = _asking_functions()
        #: The frame that computes with symbols, where there is one: what it calls is no part of the program.
        self._computing: FrameType | None = None
        #: What was found where raising is not possible: the profiler's caller may swallow exceptions.
        self.stop: GraphBreak | None = None

    def __enter__(self) -> Watcher:
        # What the collector calls (finalizers, callbacks) is not the program's.
        self._collected = gc.isenabled()
        gc.disable()
        self._previous = sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setprofile(self._previous)
        if self._collected:
            gc.enable()

    def follow(self, enter: Any, leave: Any, recorder: Any) -> None:
        """Tell a recorder of calls of the two methods of autocast."""
        self._followed = {_code_of(enter): recorder.enter_autocast, _code_of(leave): recorder.exit_autocast}

    def paused(self) -> _Looking:
        """Context manager: what is called within is an operator's own."""
        return _Looking(None)

    def resumed(self) -> _Looking:
        """Context manager: what is called within is the program's again."""
        return _Looking(self._look)

    def _look(self, frame: FrameType, event: str, arg: Any) -> None:
        if self._computing is not None:
            if event == "return" and frame is self._computing:
                self._computing = None
            return
        if event == "call":
            if frame.f_globals.get("__name__") == _SYMBOLIC:
                self._computing = frame
            else:
                self._call(frame)
        elif event == "c_call":
            self._builtin(arg, frame)

    def _call(self, frame: FrameType) -> None:
        code = frame.f_code
        if code in self._followed:
            self._followed[code](frame)
        elif code in self._asking:
            self._state.note_answer(self._asking[code], code.co_name)
        elif code is _READS_ENVIRONMENT:
            self._state.note_environment()
        if code in self._known:
            return
        self._known.add(code)
        module = frame.f_globals.get("__name__")
        if code in self._breaking:
            self._stop(self._breaking[code])
        if code in disabled:
            self._stop(f"calls {code.co_name}, which is disabled", is_final=True)
        if module in _IMPURE_MODULES:
            self._stop(f"calls {module}.{code.co_name}")
        if not is_library(module):
            self._state.note_code(code, frame.f_globals)

    def _builtin(self, function: Any, frame: FrameType) -> None:
        module, name = getattr(function, "__module__", None), getattr(function, "__name__", "")
        owner = type(getattr(function, "__self__", None)).__name__
        if id(function) in _IMPURE_BUILTINS:
            self._stop(f"calls {name}", is_final=True)
        if name in _SETTINGS and not is_library(frame.f_globals.get("__name__")):
            self._stop(f"calls {module}.{name}")
        of_system = function is open or module in _SYSTEM_MODULES and name not in _FIXED
        if (of_system or module is None and owner in _STREAMS) and _is_asked_by_program(frame):
            self._stop(f"calls {'os' if module in _SYSTEM_MODULES else module or owner}.{name}")
        if module in _IMPURE_MODULES or owner in _IMPURE_CLASSES:
            self._stop(f"calls {module or owner}.{name}", is_final=module == "time")
        if name in ("now", "today", "utcnow") and isinstance(function.__self__, type):
            self._stop(f"calls {function.__self__.__name__}.{name}")

    def _stop(self, reason: str, is_final: bool = False) -> None:
        stop = GraphBreak(reason, is_final)
        self.stop = self.stop or stop
        raise stop


def _is_asked_by_program(frame: FrameType | None) -> bool:
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if frame.f_code.co_name == "<module>" or module in _OF_IMPORTS or is_own(module):
            return False
        if not is_library(module):
            return True
        frame = frame.f_back
    return False


class _Looking:
    __slots__ = ("_look", "_previous")

    def __init__(self, look: Any) -> None:
        self._look = look

    def __enter__(self) -> None:
        self._previous = sys.getprofile()
        sys.setprofile(self._look)

    def __exit__(self, *exc_info: object) -> None:
        sys.setprofile(self._previous)
