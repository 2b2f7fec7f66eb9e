"""What the modules of PyTorch's device types say where there is no such device: the words of PyTorch's CPU build."""

from __future__ import annotations

from mt_core.plugins.runtime_access import no_device

__all__ = ["Absence", "absence_of"]


class Absence:
    """How ``torch.<device>`` refuses what needs a device.

    Parameters
    ----------
    device_type
        The device type.
    """

    def __init__(self, device_type: str) -> None:
        self.device_type = device_type
        self.name = device_type.upper()

    def error(self, function: str) -> Exception:
        """The error of ``torch.<device>.<function>``."""
        return no_device(self.device_type)

    def exchange_error(self, function: str) -> Exception:
        """The error of entering a context that makes a device current."""
        return no_device(self.device_type)

    def dummy_error(self, what: str) -> Exception:
        """The error of making an object of a class, such as a stream."""
        return RuntimeError(f"Tried to instantiate dummy base class {what}")

    def stream_error(self) -> Exception:
        """The error of making a stream."""
        return self.dummy_error("Stream")


class CudaAbsence(Absence):
    """CUDA says it in three ways."""

    def exchange_error(self, function: str) -> Exception:
        return RuntimeError("PyTorch was compiled without CUDA support")

    def stream_error(self) -> Exception:
        return RuntimeError("torch.cuda.Stream requires CUDA support")


class XpuAbsence(Absence):
    """XPU in two."""

    def exchange_error(self, function: str) -> Exception:
        return NotImplementedError("PyTorch was compiled without XPU support")


class HookAbsence(Absence):
    """Metal and MTIA name the hook of PyTorch's that was asked; `hooks` has what it is called for a function.

    `built` are the functions that say what PyTorch was not built with, as CUDA's.
    """

    def __init__(self, device_type: str, hooks: dict[str, str], built: str = "") -> None:
        super().__init__(device_type)
        self._hooks = hooks
        self._built = frozenset(built.split())

    def error(self, function: str) -> Exception:
        if function in self._built:
            return no_device(self.device_type)
        if function in ("compile_shader", "load_metallib"):
            return RuntimeError("MPS is not available")
        hook = self._hooks.get(function, function)
        return RuntimeError(f"Cannot execute {hook}() without {self.name} backend.")

    def exchange_error(self, function: str) -> Exception:
        return self.error(function)

    def dummy_error(self, what: str) -> Exception:
        return self.error(what)

    def stream_error(self) -> Exception:
        return self.error("current_device")


_CURRENT = "getCurrentDevice"
_MPS_HOOKS = {
    "Event": "acquireEvent",
    "current_allocated_memory": "getCurrentAllocatedMemory",
    "driver_allocated_memory": "getDriverAllocatedMemory",
    "empty_cache": "emptyCache",
    "get_rng_state": "getDefaultGenerator",
    "recommended_max_memory": "getRecommendedMaxMemory",
    "seed": "getDefaultGenerator",
    "set_per_process_memory_fraction": "setMemoryFraction",
    "set_rng_state": "getDefaultGenerator",
    "synchronize": "deviceSynchronize",
}
_MTIA_HOOKS = {
    "MTIAGraph": "mtiagraphCreate",
    "_exchange_device": "exchangeDevice",
    "_maybe_exchange_device": "maybeExchangeDevice",
    "attach_out_of_memory_observer": "attachOutOfMemoryObserver",
    "current_device": _CURRENT,
    "current_stream": _CURRENT,
    "default_stream": _CURRENT,
    "empty_cache": "emptyCache",
    "get_device_capability": _CURRENT,
    "get_device_properties": _CURRENT,
    "graph": _CURRENT,
    "graph_pool_handle": "graphPoolHandle",
    "set_device": "setCurrentDevice",
    "set_rng_state": _CURRENT,
    "snapshot": "memorySnapshot",
    "stream": _CURRENT,
    "synchronize": _CURRENT,
}
_ABSENCES: dict[str, Absence] = {
    "cuda": CudaAbsence("cuda"),
    "xpu": XpuAbsence("xpu"),
    "mps": HookAbsence("mps", _MPS_HOOKS),
    "mtia": HookAbsence("mtia", _MTIA_HOOKS, "get_rng_state init initial_seed"),
}


def absence_of(device_type: str) -> Absence:
    """How the module of a device type refuses."""
    return _ABSENCES.get(device_type) or Absence(device_type)
