"""What ``torch.<device>`` is, for every device type: functions over the device runtime of a backend.

`DeviceModule` has all of it, by families: `control` (which devices, which is current), `streams`, `memory`, `random`,
`graphs`. ``torch.cuda``, ``torch.xpu``, ``torch.mtia``, ``torch.npu`` and third parties' modules are its members under
the names that PyTorch has there (`fill`, `third_party_module`); ``torch.accelerator`` asks it as well.

Where there is no device, functions answer and raise as those of PyTorch's CPU build do (`absence`). Where there is one
without a runtime, what needs the runtime raises NotImplementedError and says what the backend lacks.
"""

from __future__ import annotations

import functools
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from mt_core import device_methods

from .._importer import AliasLoader
from .graphs import Graphs
from .random import Random

__all__ = ["DeviceModule", "device_functions", "fill", "made_module", "third_party_module"]

_CONTROL = """
    _exchange_device _is_compiled _is_in_bad_fork _maybe_exchange_device can_device_access_peer current_device
    device_count get_device_capability get_device_name get_device_properties init is_available is_bf16_supported
    is_initialized set_device synchronize
"""
#: Submodule of ``torch.<device>`` -> the names that it has, which ``torch.<device>`` has as well.
_SUBMODULES = {
    "streams": """ExternalStream Event Stream StreamContext current_stream default_stream get_stream_from_external
        set_stream stream""",
    "memory": """CUDAPluggableAllocator MemPool XPUPluggableAllocator caching_allocator_alloc caching_allocator_delete
        caching_allocator_enable change_current_allocator empty_cache get_allocator_backend
        get_per_process_memory_fraction host_memory_stats host_memory_stats_as_nested_dict list_gpu_processes
        max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory_allocated memory_cached
        memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict memory_summary
        reset_accumulated_host_memory_stats reset_accumulated_memory_stats reset_max_memory_allocated
        reset_max_memory_cached reset_peak_host_memory_stats reset_peak_memory_stats set_per_process_memory_fraction
        use_mem_pool""",
    "random": """get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all set_rng_state
        set_rng_state_all""",
    "graphs": """CUDAGraph Graph MTIAGraph NPUGraph XPUGraph graph graph_pool_handle is_current_stream_capturing
        make_graphed_callables""",
}


class DeviceModule(Graphs, Random):
    """All functions and classes of ``torch.<device>``."""

    def __init__(self, device_type: str, graph_name: str) -> None:
        super().__init__(device_type, graph_name)
        self.device = self.device_class()
        self.device_of = self.device_of_class(self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        return device_functions, (self.device_type,)


#: Device type -> what its class of graphs is called.
_GRAPH_NAMES = {"cuda": "CUDAGraph", "xpu": "XPUGraph", "mtia": "MTIAGraph", "npu": "NPUGraph"}


@functools.cache
def device_functions(device_type: str) -> DeviceModule:
    """The functions of a device type; one object for each type."""
    return DeviceModule(device_type, _GRAPH_NAMES.get(device_type, "Graph"))


def fill(
    namespace: dict[str, Any],
    device_type: str,
    *,
    without: str = "",
    optional: str = "",
    answers: dict[str, Any] | None = None,
    classes: str = "",
) -> DeviceModule:
    """Put the functions of a device type into the namespace of a module, and its submodules beside it.

    Parameters
    ----------
    namespace
        Of a module ``mindtorch.<device>``.
    without
        Names that PyTorch does not have there, separated by blanks.
    optional, classes
        Names of functions and classes that no runtime must have (`Control.optional`, `Control.optional_class`).
    answers
        Such functions that have an answer where there is no device (`Control.optional_answer`): name -> answer.
    """
    functions = device_functions(device_type)
    left_out = set(without.split())
    namespace[functions.Graph.__name__] = functions.Graph
    names = " ".join((_CONTROL, "device device_of", *_SUBMODULES.values())).split()
    namespace.update(
        {n: getattr(functions, n) for n in names if hasattr(functions, n) and n not in left_out | {"Graph"}}
    )
    namespace.update({name: functions.optional(name) for name in optional.split()})
    namespace.update({name: functions.optional_answer(name, answer) for name, answer in (answers or {}).items()})
    namespace.update({name: functions.optional_class(name) for name in classes.split()})
    for name in set(_SUBMODULES) - left_out:
        members = {exported: namespace[exported] for exported in _SUBMODULES[name].split() if exported in namespace}
        namespace[name] = made_module(f"{namespace['__name__']}.{name}", f"``torch.{device_type}.{name}``.", members)
    return functions


def made_module(name: str, doc: str, members: dict[str, Any]) -> ModuleType:
    """A module of these members, which the import system finds by its name."""
    module = sys.modules[name] = ModuleType(name, doc)
    module.__spec__ = ModuleSpec(name, AliasLoader(name), is_package=False)
    module.__dict__.update(members, __all__=sorted(members))
    return module


def third_party_module(device_type: str) -> ModuleType:
    """``torch.<device>`` of a device type that PyTorch has no module for; made once.

    It has every function that ``torch.cuda`` shares with other devices, and the runtime's own members besides.
    """
    name = f"mindtorch.{device_type}"
    found = sys.modules.get(name)
    if found is not None:
        return found
    module = made_module(name, f"``torch.{device_type}``: devices of type '{device_type}', by their backend.", {})
    module.__path__ = []  # its submodules are made with it
    functions = fill(module.__dict__, device_type)
    device_methods.generate_for_backends()  # a backend that was registered in this process has none yet

    def __getattr__(attribute: str) -> Any:
        if attribute == "default_generators":
            return functions.default_generators
        members = functions.members()
        if attribute not in members:
            raise AttributeError(f"module 'torch.{device_type}' has no attribute '{attribute}'")
        return members[attribute]

    module.__dict__["__getattr__"] = __getattr__
    return module
