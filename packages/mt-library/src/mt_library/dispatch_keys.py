"""The dispatch keys by PyTorch's names, and which of them count where in the core's dispatch."""

from __future__ import annotations

from mt_core import device
from mt_core.devices import backend_key, device_type_of, third_party_keys
from mt_core.dispatch.dispatcher import backend_key_of
from mt_core.keys import AUTOGRAD, BACKENDS, CPU, CUDA, META, NPU, PRIVATE
from mt_core.state import mode_triple

__all__ = ["ANY_DEVICE", "COMPOSITE", "check_key", "core_keys", "key_of_device_type", "keys_by_priority"]

#: The key of kernels written in other operators: they differentiate by their parts.
COMPOSITE = "CompositeImplicitAutograd"
#: The key of kernels for every device.
ANY_DEVICE = "CompositeExplicitAutograd"

_AUTOGRAD = "Autograd"
_BACKEND_NAMES = {CPU: "CPU", CUDA: "CUDA", NPU: "NPU", META: "Meta"}

_KEYS_WITHOUT_SLOT = frozenset(
    """
    ADInplaceOrView AutocastCPU AutocastCUDA BackendSelect Batched CompositeExplicitAutogradNonFunctional
    CompositeImplicitAutogradNestedTensor Conjugate FuncTorchBatched FuncTorchDynamicLayerBackMode
    FuncTorchDynamicLayerFrontMode FuncTorchVmapMode Functionalize Named Negative PreDispatch PrivateUse1 PrivateUse2
    PrivateUse3 Python PythonDispatcher PythonTLSSnapshot QuantizedCPU QuantizedCUDA SparseCPU SparseCUDA SparseCsrCPU
    SparseCsrCUDA Tracer VmapMode ZeroTensor
    """.split()
)


def _backend_name(key: int) -> str:
    return _BACKEND_NAMES.get(key) or device_type_of(key).upper()


def key_of_device_type(device_type: str) -> str:
    """The dispatch key of kernels for a device type: ``"CPU"`` for ``"cpu"``.

    Raises
    ------
    RuntimeError
        For a word that is no device type.
    """
    return _backend_name(backend_key(device(device_type).type))


def check_key(name: str) -> None:
    """Refuse a word that is no dispatch key.

    Raises
    ------
    RuntimeError
        For such a word.
    NotImplementedError
        For a key of PyTorch at which nothing can be registered here.
    """
    if name in _KEYS_WITHOUT_SLOT:
        raise NotImplementedError(f"kernels cannot be registered for the dispatch key {name}")
    if name not in (COMPOSITE, ANY_DEVICE, _AUTOGRAD) and not _backends_named(name.removeprefix(_AUTOGRAD)):
        raise RuntimeError(f"could not parse dispatch key: {name}")


def _backends_named(name: str) -> list[int]:
    return [key for key in (*BACKENDS, *third_party_keys()) if key != PRIVATE and _backend_name(key) == name]


def core_keys(name: str) -> list[int]:
    """The core's keys at which a registration for a dispatch key may count."""
    if name.startswith(_AUTOGRAD):
        return [AUTOGRAD]
    if name in (COMPOSITE, ANY_DEVICE):
        return [*BACKENDS, AUTOGRAD]
    return _backends_named(name)


def keys_by_priority(key: int, coded: int, registered: set[str]) -> list[str]:
    """The dispatch keys whose kernels count at one of the core's keys, the first before the next.

    At a device: its own kernel, one for all devices, one written in other operators; else an autograd kernel, which in
    PyTorch runs whether or not a tensor requires grad. At autograd: the device's autograd kernel; one written in other
    operators, unless the device has a kernel of its own; one for all autograd keys.
    """
    backend = _backend_name(backend_key_of(coded))
    if key != AUTOGRAD:
        is_below_autograd = mode_triple(coded)[1] & AUTOGRAD
        return [backend, ANY_DEVICE, COMPOSITE, *([] if is_below_autograd else [_AUTOGRAD + backend, _AUTOGRAD])]
    has_own = backend in registered or ANY_DEVICE in registered
    return [_AUTOGRAD + backend, *([] if has_own else [COMPOSITE]), _AUTOGRAD]
