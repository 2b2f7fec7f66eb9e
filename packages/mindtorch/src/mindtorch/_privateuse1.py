"""Device types from outside of PyTorch: modules by name, and the one type that a program may name.

PyTorch has one private device type, ``privateuseone``, which a program gives a name; here any number of backends bring
names of their own. Naming the private type after one of them makes that one the accelerator, and is how programs
written for such a device begin.
"""

import sys
from types import ModuleType
from typing import Any

import mt_core
from mt_core import device_methods
from mt_core.plugins import discovery, runtime_access
from mt_core.plugins.runtime_access import RENAMED

from . import _device_module

__all__ = [
    "_register_device_module",
    "generate_methods_for_privateuse1_backend",
    "get_device_module",
    "module_of_backend",
    "rename_privateuse1_backend",
]

_PRIVATE = "privateuseone"
#: Device types with names of their own in PyTorch.
_IN_TREE = frozenset(
    "cpu cuda fpga hip hpu ideep ipu lazy maia meta mkldnn mps mtia opencl opengl ve vulkan xla xpu".split()
)

#: Those of them for which PyTorch has no module: a backend's runtime makes one.
_WITHOUT_MODULE = frozenset(("xla",))


def rename_privateuse1_backend(backend_name: str) -> None:
    """Give PyTorch's private device type a name, once in a process: ``torch.device(name)`` is it from then on.

    Raises
    ------
    RuntimeError
        When it has another name already, or the name is that of a device type of PyTorch's.
    """
    if backend_name in _IN_TREE:
        raise RuntimeError(f"Cannot register privateuse1 backend with in-tree device name: {backend_name}")
    given = RENAMED.setdefault(_PRIVATE, backend_name)
    if given != backend_name:
        raise RuntimeError(f"torch.register_privateuse1_backend() has already been set! Current backend: {given}")


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: list[Any] | None = None,
) -> None:
    """Give tensors, modules, packed sequences and storages a method that moves them to the named device.

    For a device ``foo`` these are ``Tensor.foo()``, ``Tensor.is_foo``, ``Module.foo()`` and so on.

    Parameters
    ----------
    unsupported_dtype
        Dtypes that the storages of the device do not take.

    Raises
    ------
    RuntimeError
        When a class has an attribute of that name.
    """
    name = RENAMED.get(_PRIVATE, _PRIVATE)
    wanted = {
        "tensor": for_tensor,
        "module": for_module,
        "packed sequence": for_packed_sequence,
        "storage": for_storage,
    }
    for kind, is_wanted in wanted.items():
        if is_wanted:
            device_methods.generate(name, kind, unsupported_dtype or [])


def module_of_backend(name: str) -> ModuleType | None:
    """``torch.<name>`` of a third party's device type, or of the private one once it is named and served; else None."""
    registered = _registered.get(name)
    if registered is not None:
        return registered
    has_none = name in _IN_TREE and name not in _WITHOUT_MODULE
    if has_none or name not in discovery.backend_entry_points():
        return None
    return _device_module.third_party_module(name)


_registered: dict[str, ModuleType] = {}


def _register_device_module(device_type: str, module: ModuleType) -> None:
    """Make a module ``torch.<device_type>``.

    Raises
    ------
    RuntimeError
        When there is no such device type, or it has a module.
    """
    kind = mt_core.device(device_type).type
    torch: Any = sys.modules[__package__]
    found = _registered.get(kind) or vars(torch).get(kind) or (kind in torch._SUBMODULES and getattr(torch, kind))
    if found:
        raise RuntimeError(f"The runtime module of '{device_type}' has already been registered with '{found}'")
    _registered[kind] = module
    setattr(torch, kind, module)
    sys.modules[f"{__package__}.{kind}"] = module


def get_device_module(device: Any = None) -> ModuleType:
    """``torch.cpu``, ``torch.cuda`` and so on for a device; without one, that of the accelerator or else the CPU.

    Raises
    ------
    RuntimeError
        When there is no such device type, or no module for it.
    """
    kind = (runtime_access.accelerator_type() or "cpu") if device is None else mt_core.device(device).type
    torch: Any = sys.modules[__package__]
    found = getattr(torch, kind, None)
    if not isinstance(found, ModuleType) or kind == "meta":
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return found
