"""The dispatch keys by PyTorch's names, and which of them count where in the core's dispatch."""

from __future__ import annotations

from mt_core import device
from mt_core.devices import backend_key, device_type_of, third_party_keys
from mt_core.dispatch.dispatcher import backend_key_of
from mt_core.keys import (
    ADINPLACE_OR_VIEW,
    AUTOCAST,
    AUTOGRAD,
    BACKENDS,
    CONJUGATE,
    CPU,
    CUDA,
    FORWARD_GRAD,
    FUNCTION_TRANSFORM,
    FUNCTIONALIZE,
    GRAD_OFF,
    META,
    NEGATIVE,
    NPU,
    PRIVATE,
    PYTHON,
)
from mt_core.state import mode_triple

__all__ = [
    "ANY_DEVICE", "AUTOGRAD_OF_ALL", "COMPOSITE", "LAYER_KEYS", "TRANSFORM_KEYS", "backend_name_of", "check_key",
    "core_keys", "has_device_kernel", "is_device_key", "is_key", "key_of_device_type", "keys_by_priority",
]  # fmt: skip

#: The key of kernels written in other operators: they differentiate by their parts.
COMPOSITE = "CompositeImplicitAutograd"
#: The key of kernels for every device.
ANY_DEVICE = "CompositeExplicitAutograd"
#: The key of kernels for every device type of third parties that has none under its own name.
THIRD_PARTY = "PrivateUse1"

#: The key of autograd kernels for every device.
AUTOGRAD_OF_ALL = "Autograd"
_BACKEND_NAMES = {CPU: "CPU", CUDA: "CUDA", NPU: "NPU", META: "Meta"}
#: Key -> device type, of devices that PyTorch knows and that only a third party could serve here.
_FOREIGN = {
    "HIP": "hip", "HPU": "hpu", "IPU": "ipu", "Lazy": "lazy", "MAIA": "maia", "MPS": "mps", "MTIA": "mtia", "VE": "ve",
    "XLA": "xla", "XPU": "xpu",
}  # fmt: skip
#: Those of them that have an autograd key; PyTorch does not read the names of the others.
_FOREIGN_AUTOGRAD = ("HPU", "IPU", "Lazy", "MPS", "XLA", "XPU")
_FOREIGN_NAMES = {device_type: name for name, device_type in _FOREIGN.items()}

_KEYS_WITHOUT_SLOT = frozenset(
    """
    ADInplaceOrView AutocastCPU AutocastCUDA AutocastHPU AutocastIPU AutocastMAIA AutocastMPS AutocastMTIA
    AutocastPrivateUse1 AutocastXLA AutocastXPU AutogradFunctionality AutogradNestedTensor AutogradOther
    AutogradPrivateUse2 AutogradPrivateUse3 BackendSelect Batched BatchedNestedTensor
    CompositeExplicitAutogradNonFunctional CompositeImplicitAutogradNestedTensor Conjugate DeferredInit Dense FPGA
    FuncTorchBatched FuncTorchBatchedDecomposition FuncTorchDynamicLayerBackMode FuncTorchDynamicLayerFrontMode
    FuncTorchGradWrapper FuncTorchVmapMode Functionalize Metal MkldnnCPU Negative NestedTensor NestedTensorCPU
    NestedTensorCUDA NestedTensorHPU NestedTensorMeta NestedTensorPrivateUse1 NestedTensorXPU PreDispatch PrivateUse2
    PrivateUse3 Python PythonDispatcher PythonTLSSnapshot Quantized QuantizedCPU QuantizedCUDA QuantizedPrivateUse1
    QuantizedXPU Sparse SparseCPU SparseCUDA SparseCsr SparseCsrCPU SparseCsrCUDA SparseCsrHIP SparseCsrMPS
    SparseCsrMeta SparseCsrPrivateUse1 SparseCsrVE SparseCsrXPU SparseHIP SparseMPS SparseMeta SparsePrivateUse1
    SparseVE SparseXPU TESTING_ONLY_GenericMode TESTING_ONLY_GenericWrapper Tracer Undefined VmapMode Vulkan
    ZeroTensor
    """.split()
)


#: Keys that no tensor here has: kernels for them are kept, and never run.
_OF_NO_TENSOR = frozenset(
    name
    for name in _KEYS_WITHOUT_SLOT
    if name.startswith(("Quantized", "NestedTensor"))
    or name
    in "AutogradNestedTensor AutogradOther AutogradPrivateUse2 AutogradPrivateUse3 PrivateUse2 PrivateUse3 "
    "BatchedNestedTensor CompositeImplicitAutogradNestedTensor DeferredInit FPGA Metal MkldnnCPU "
    "TESTING_ONLY_GenericMode TESTING_ONLY_GenericWrapper Undefined Vulkan ZeroTensor".split()
)
#: Key -> the core's key of the layer before which its kernels run.
_LAYERS = {"Conjugate": CONJUGATE, "Negative": NEGATIVE, "Functionalize": FUNCTIONALIZE, "Python": PYTHON}
#: Keys that every call comes by below autograd, in this order.
_OF_EVERY_CALL = ("ADInplaceOrView", "BackendSelect")
_AUTOCAST_KEYS = frozenset(name for name in _KEYS_WITHOUT_SLOT if name.startswith("Autocast"))
_TAKEN = _OF_NO_TENSOR | _AUTOCAST_KEYS | frozenset((*_LAYERS, *_OF_EVERY_CALL))

#: The core's keys of layers at which kernels of libraries count.
LAYER_KEYS = (*_LAYERS.values(), AUTOCAST)
#: Those above which an operator that is written in others is taken apart.
TRANSFORM_KEYS = (FUNCTION_TRANSFORM, FORWARD_GRAD)


def _backend_name(key: int) -> str:
    if key in _BACKEND_NAMES:
        return _BACKEND_NAMES[key]
    device_type = device_type_of(key)
    return _FOREIGN_NAMES.get(device_type, device_type.upper())


def key_of_device_type(device_type: str) -> str:
    """The dispatch key of kernels for a device type: ``"CPU"`` for ``"cpu"``.

    Raises
    ------
    RuntimeError
        For a word that is no device type.
    """
    return _backend_name(backend_key(device(device_type).type))


def is_key(name: str) -> bool:
    """Whether a word is a dispatch key, here or in PyTorch."""
    known = name in (COMPOSITE, ANY_DEVICE, AUTOGRAD_OF_ALL) or name in _KEYS_WITHOUT_SLOT or name in _FOREIGN
    return known or _names_backend(name.removeprefix(AUTOGRAD_OF_ALL), name.startswith(AUTOGRAD_OF_ALL))


def is_device_key(name: str) -> bool:
    """Whether a key is one of a device's kernels."""
    return name in _FOREIGN or name in _BACKEND_NAMES.values() or name == THIRD_PARTY


def _names_backend(name: str, of_autograd: bool) -> bool:
    if name in _FOREIGN:
        return name in _FOREIGN_AUTOGRAD or not of_autograd
    return name == THIRD_PARTY or bool(_backends_named(name))


def check_key(name: str) -> None:
    """Refuse a word that is no dispatch key.

    Raises
    ------
    RuntimeError
        For such a word.
    NotImplementedError
        For a key of PyTorch at which nothing can be registered here.
    """
    if name in _KEYS_WITHOUT_SLOT - _TAKEN:
        raise NotImplementedError(f"kernels cannot be registered for the dispatch key {name}")
    if not is_key(name):
        raise RuntimeError(f"could not parse dispatch key: {name}")


def _backends_named(name: str) -> list[int]:
    return [key for key in (*BACKENDS, *third_party_keys()) if key != PRIVATE and _backend_name(key) == name]


def core_keys(name: str) -> list[int]:
    """The core's keys at which a registration for a dispatch key may count."""
    if name == COMPOSITE:
        return [*BACKENDS, AUTOGRAD, *TRANSFORM_KEYS]
    if name in (ANY_DEVICE, AUTOGRAD_OF_ALL):
        return [*BACKENDS, AUTOGRAD]
    if name in _TAKEN:
        return _keys_of_taken(name)
    if name.startswith(AUTOGRAD_OF_ALL):
        return [*core_keys(name.removeprefix(AUTOGRAD_OF_ALL)), AUTOGRAD]
    if name == THIRD_PARTY:
        return [PRIVATE]  # the bit that all of them share
    return [backend_key(_FOREIGN[name])] if name in _FOREIGN else _backends_named(name)


def _keys_of_taken(name: str) -> list[int]:
    if name in _OF_EVERY_CALL:
        return list(BACKENDS)
    if name in _AUTOCAST_KEYS:
        return [AUTOCAST]
    return [_LAYERS[name]] if name in _LAYERS else []


def keys_by_priority(key: int, call_keys: int, registered: set[str]) -> list[str]:
    """The dispatch keys whose kernels count at one of the core's keys, the first before the next.

    At a layer's key: its own kernels. At a device: an autograd kernel, which in PyTorch runs whether or not a tensor
    requires grad; what every call comes by; then its own kernel, one for all third parties if it is one, one for all
    devices, one written in other operators. At autograd: the device's autograd kernel; one written in other operators,
    unless the device has a kernel of its own; one for all autograd keys.
    """
    own = _keys_of_device(call_keys)
    if key in LAYER_KEYS:
        autocast = [f"Autocast{name}" for name in own] if key == AUTOCAST else []
        return [*autocast, *(name for name, bit in _LAYERS.items() if bit == key)]
    autograd = [AUTOGRAD_OF_ALL + name for name in own]
    if key != AUTOGRAD:
        is_below_autograd = mode_triple(call_keys)[1] & (AUTOGRAD | GRAD_OFF) == AUTOGRAD
        views = [] if mode_triple(call_keys)[1] & ADINPLACE_OR_VIEW else ["ADInplaceOrView"]
        below = [*views, "BackendSelect", *own, ANY_DEVICE, COMPOSITE]
        return below if is_below_autograd else [*keys_by_priority(AUTOGRAD, call_keys, registered), *below]
    return [*autograd, *([] if has_device_kernel(call_keys, registered) else [COMPOSITE]), AUTOGRAD_OF_ALL]


def has_device_kernel(call_keys: int, registered: set[str]) -> bool:
    """Whether a kernel for the device of a call, or for all, is among those that are registered."""
    return ANY_DEVICE in registered or any(name in registered for name in _keys_of_device(call_keys))


def backend_name_of(call_keys: int) -> str:
    """The key of the device of a call."""
    return _backend_name(backend_key_of(call_keys))


def _keys_of_device(call_keys: int) -> list[str]:
    backend = _backend_name(backend_key_of(call_keys))
    return [backend] if backend in _BACKEND_NAMES.values() else [backend, THIRD_PARTY]
