"""PyTorch's names of our classes and functions, so that files travel both ways.

A pickle names classes by module. ``torch.save`` writes ``torch.nn.modules.linear Linear`` where the class really is
``mt_nn.modules.linear.Linear``, and ``torch.load`` finds it again. The core's own names stand in a table here. Other
distributions add theirs by entry points of the group ``mindtorch.torch_names``, which are read without importing
anything:

``"torch.nn" = "mt_nn"``
    a module and everything below it;
``"torch._utils._rebuild_parameter" = "mt_nn.parameter:_rebuild_parameter"``
    one class or function.

Only the project's own distributions give names under ``torch``; third parties give names of their own.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import warnings
from collections.abc import Iterator
from typing import Any

from .dispatch import registry
from .dtypes import ALL_DTYPES
from .plugins.discovery import entry_points_of
from .plugins.entry_points import OWN_DISTRIBUTIONS, EntryPoint

__all__ = ["is_named", "register_global_alias", "register_module_alias", "resolve", "torch_name"]

Name = tuple[str, str]

#: Top-level names that no third party may rename, as files know them or as they are.
_PROTECTED = frozenset({"torch", *(name.replace("-", "_") for name in OWN_DISTRIBUTIONS)})

_STORAGES = (
    "Double", "Float", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool", "BFloat16", "ComplexDouble",
    "ComplexFloat", "QUInt8", "QInt8", "QInt32", "QUInt4x2", "QUInt2x4",
)  # fmt: skip
_REBUILDERS = (
    "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_meta_tensor_no_storage",
    "_rebuild_device_tensor_from_numpy", "_rebuild_device_tensor_from_cpu_tensor", "_rebuild_sparse_tensor",
    "_rebuild_nested_tensor", "_rebuild_qtensor", "_rebuild_wrapper_subclass",
)  # fmt: skip

_QUANTIZATION_SCHEMES = (
    "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
    "per_channel_affine_float_qparams",
)  # fmt: skip

_own_of: dict[Name, Name] = {
    ("torch", "Tensor"): ("mt_core.tensor", "Tensor"),
    ("torch", "Size"): ("mt_core.size", "Size"),
    ("torch", "device"): ("mt_core.devices", "device"),
    ("torch", "dtype"): ("mt_core.dtypes", "dtype"),
    ("torch._tensor", "_rebuild_from_type_v2"): ("mt_core.serialization.rebuild", "_rebuild_from_type_v2"),
    ("torch.serialization", "_get_layout"): ("mt_core.serialization.rebuild", "_get_layout"),
    ("torch.storage", "UntypedStorage"): ("mt_core.storage", "UntypedStorage"),
    ("torch.storage", "TypedStorage"): ("mt_core.typed_storage", "TypedStorage"),
    ("torch.storage", "_load_from_bytes"): ("mt_core.serialization.loading", "_load_from_bytes"),
    ("torch.utils.dlpack", "DLDeviceType"): ("mt_core.dlpack", "DLDeviceType"),
    ("torch.utils.hooks", "RemovableHandle"): ("mt_core.hooks", "RemovableHandle"),
    ("torch._C", "Generator"): ("mt_core.random.generator", "Generator"),
    **{("torch", d.name): ("mt_core.dtypes", d.name) for d in ALL_DTYPES},
    **{
        ("torch", name): ("mt_core.formats", name)
        for name in ("channels_last", "channels_last_3d", "contiguous_format", "preserve_format")
    },
    **{("torch", f"{name}Storage"): ("mt_core.typed_storage", f"{name}Storage") for name in _STORAGES},
    **{("torch._utils", name): ("mt_core.serialization.rebuild", name) for name in _REBUILDERS},
    **{("torch", name): ("mt_core.quantized.tensors", name) for name in _QUANTIZATION_SCHEMES},
    **{
        ("torch.autograd.grad_mode", name): ("mt_core.autograd_state", name)
        for name in ("enable_grad", "inference_mode", "no_grad", "set_grad_enabled")
    },
}
_torch_of: dict[Name, Name] = {own: torch for torch, own in _own_of.items()}
# Second names, for reading alone: through them PyTorch's pickler reaches functions and methods that are written in C++.
_own_of["torch._C", "_VariableFunctionsClass"] = ("mt_core.api", "_functions")
_own_of["torch._C", "TensorBase"] = ("mt_core.tensor", "Tensor")
_OPERATORS = "mt_core.api._functions"
#: Namespace of an operator's function -> the module that PyTorch's pickles name for it, where the two differ.
_OPERATOR_MODULES = {f"torch.{name}": f"torch._C._{name}" for name in ("fft", "linalg", "nested", "sparse", "special")}
#: (PyTorch's module, our module), each standing for itself and everything below it.
_modules: list[Name] = [(module, _OPERATORS) for module in ("torch", "torch._C._nn", *_OPERATOR_MODULES.values())]


def register_global_alias(own: Name, torch: Name) -> None:
    """Let the class or function `own`, (module, qualified name), be called `torch` in files."""
    _own_of[torch] = own
    _torch_of[own] = torch


def register_module_alias(own: str, torch: str) -> None:
    """Let the module `own`, and every module below it, be called `torch` in files: ``("mt_nn", "torch.nn")``."""
    if (torch, own) not in _modules:
        _modules.append((torch, own))


@functools.cache
def _read_entry_points(own: bool) -> None:
    """Take over the names that our own distributions give, or those of third parties, which may be refused."""
    for point in entry_points_of("mindtorch.torch_names"):
        if point.is_own != own:
            continue
        if not own and (reason := _why_refused(point)):
            warnings.warn(
                f"{point.distribution}: the entry point '{point.name} = {point.value}' of {point.group} is left out: "
                f"{reason}. Correct or uninstall {point.distribution}",
                stacklevel=2,
            )
        elif point.attr:
            module, _, name = point.name.rpartition(".")
            register_global_alias((point.module, point.attr), (module, name))
        else:
            register_module_alias(point.module, point.name)


def _why_refused(point: EntryPoint) -> str | None:
    """Third parties add names of their own to files; they change neither PyTorch's names nor ours."""
    if point.name.partition(".")[0] in _PROTECTED:
        return "what the names of torch mean in files is decided by mindtorch alone"
    if point.module.partition(".")[0] in _PROTECTED:
        return f"under which name {point.module} is written to files is decided by mindtorch alone"
    return None


def _replace_prefix(module: str, old: str, new: str) -> str | None:
    """`module` with its leading `old` replaced, or None if it is not in `old`."""
    if module == old:
        return new
    return new + module[len(old) :] if module.startswith(old + ".") else None


def torch_name(module: str, name: str) -> Name | None:
    """What PyTorch calls our class or function `name` of `module`; None for what is not ours to rename."""
    _read_entry_points(True)
    if module.partition(".")[0] not in _PROTECTED:
        _read_entry_points(False)
    found = _torch_of.get((module, name))
    if found is not None:
        return found
    if module == _OPERATORS:
        return _operator_module(name), name
    for torch, own in sorted(_modules, key=lambda pair: -len(pair[1])):
        renamed = _replace_prefix(module, own, torch)
        if renamed is not None:
            return renamed, name
    return None


def is_named(module: str, name: str) -> bool:
    """Whether files have a name of its own for our class or function, private ones included."""
    _read_entry_points(True)
    return (module, name) in _torch_of


def _operator_module(name: str) -> str:
    """The module that PyTorch's pickles name for an operator's function."""
    packet = registry.PACKETS.get(name)
    if packet is None:
        return "torch"
    namespace = packet.overloads()[0].declaration.namespace
    return _OPERATOR_MODULES.get(namespace, namespace)


def _candidates(module: str, name: str) -> Iterator[Name]:
    """Where an object that PyTorch calls `name` of `module` may be found here, most specific first."""
    _read_entry_points(True)
    if module.partition(".")[0] not in _PROTECTED:
        _read_entry_points(False)
    if (module, name) in _own_of:
        yield _own_of[module, name]
    for torch, own in sorted(_modules, key=lambda pair: -len(pair[0])):
        renamed = _replace_prefix(module, torch, own)
        if renamed is not None:
            yield renamed, name


def resolve(module: str, name: str) -> Any:
    """The object that a file calls `name` of `module`, if PyTorch's name leads to one of ours.

    Raises
    ------
    LookupError
        If it does not.
    """
    for own_module, own_name in _candidates(module, name):
        if _module_exists(own_module):
            found = importlib.import_module(own_module)
            try:
                return functools.reduce(getattr, own_name.split("."), found)
            except AttributeError:
                continue
    raise LookupError(f"{module}.{name}")


def _module_exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False
