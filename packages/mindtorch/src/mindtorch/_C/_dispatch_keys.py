"""``torch._C.DispatchKey`` and ``DispatchKeySet``: what takes part in a call, by PyTorch's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

from mt_core import Tensor
from mt_core.devices import device
from mt_core.keys import ADINPLACE_OR_VIEW, AUTOCAST, AUTOGRAD, CONJUGATE, INFERENCE, NEGATIVE, PYTHON
from mt_core.state import tls
from mt_library.dispatch_keys import key_of_device_type

__all__ = ["DispatchKey", "DispatchKeySet"]

#: The keys in the order of their numbers, each one more than the one before unless it says so.
_KEYS = """
    Undefined Dense Quantized=5 Sparse=8 SparseCsr NestedTensor BackendSelect Python=13
    FuncTorchDynamicLayerBackMode Functionalize Conjugate Negative ZeroTensor ADInplaceOrView AutogradOther
    AutogradFunctionality AutogradNestedTensor AutocastCPU=24 AutocastXPU=27 AutocastIPU AutocastHPU AutocastMPS=31
    AutocastCUDA AutocastPrivateUse1 FuncTorchBatched FuncTorchVmapMode=36 FuncTorchGradWrapper=39
    PythonTLSSnapshot=41 FuncTorchDynamicLayerFrontMode PreDispatch=45 PythonDispatcher StartOfDenseBackends=48 CPU
    CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta EndOfDenseBackends=64
    StartOfQuantizedBackends QuantizedCPU QuantizedCUDA QuantizedHIP QuantizedXLA QuantizedMPS QuantizedIPU
    QuantizedXPU QuantizedHPU QuantizedVE QuantizedLazy QuantizedMTIA QuantizedMAIA QuantizedPrivateUse1
    QuantizedPrivateUse2 QuantizedPrivateUse3 QuantizedMeta EndOfQuantizedBackends=81 StartOfSparseBackends
    SparseCPU SparseCUDA SparseHIP SparseXLA SparseMPS SparseIPU SparseXPU SparseHPU SparseVE SparseLazy SparseMTIA
    SparseMAIA SparsePrivateUse1 SparsePrivateUse2 SparsePrivateUse3 SparseMeta EndOfSparseBackends=98
    StartOfSparseCsrBackends SparseCsrCPU SparseCsrCUDA SparseCsrHIP SparseCsrXLA SparseCsrMPS SparseCsrIPU
    SparseCsrXPU SparseCsrHPU SparseCsrVE SparseCsrLazy SparseCsrMTIA SparseCsrMAIA SparseCsrPrivateUse1
    SparseCsrPrivateUse2 SparseCsrPrivateUse3 SparseCsrMeta EndOfSparseCsrBackends=115 StartOfNestedTensorBackends
    NestedTensorCPU NestedTensorCUDA NestedTensorHIP NestedTensorXLA NestedTensorMPS NestedTensorIPU NestedTensorXPU
    NestedTensorHPU NestedTensorVE NestedTensorLazy NestedTensorMTIA NestedTensorMAIA NestedTensorPrivateUse1
    NestedTensorPrivateUse2 NestedTensorPrivateUse3 NestedTensorMeta EndOfNestedTensorBackends=132
    StartOfAutogradFunctionalityBackends AutogradCPU AutogradCUDA AutogradHIP AutogradXLA AutogradMPS AutogradIPU
    AutogradXPU AutogradHPU AutogradVE AutogradLazy AutogradMTIA AutogradMAIA AutogradPrivateUse1
    AutogradPrivateUse2 AutogradPrivateUse3 AutogradMeta EndOfAutogradFunctionalityBackends=149 Autograd
    CompositeImplicitAutograd FuncTorchBatchedDecomposition CompositeImplicitAutogradNestedTensor
    CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional
"""


def _numbers() -> Iterator[tuple[str, int]]:
    number = -1
    for word in _KEYS.split():
        name, _, given = word.partition("=")
        number = int(given) if given else number + 1
        yield name, number


_enumerated = IntEnum("DispatchKey", list(_numbers()), module="torch")  # type: ignore[misc]
_enumerated.__str__ = lambda self: f"DispatchKey.{self.name}"  # type: ignore[method-assign, attr-defined, assignment]
DispatchKey: Any = _enumerated
DispatchKey.__doc__ = "What takes part in a call, by PyTorch's name and number."

#: What one key of a device is an instance of: sets list their members in the order of these.
_FUNCTIONALITIES = ("Quantized", "SparseCsr", "Sparse", "NestedTensor", "Autograd")


def _place(key: Any) -> tuple[int, int]:
    """Where a key stands among others: by what it does, then by device."""
    for name in _FUNCTIONALITIES:
        if key.name.startswith(name) and key.value > DispatchKey.StartOfDenseBackends:
            return DispatchKey["AutogradFunctionality" if name == "Autograd" else name].value, key.value
    if DispatchKey.StartOfDenseBackends < key.value <= DispatchKey.EndOfDenseBackends:
        return DispatchKey.Dense.value, key.value
    return key.value, 0


class DispatchKeySet:
    """A set of keys."""

    __module__ = "torch"  # where PyTorch says it is
    __slots__ = ("_keys",)

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def has(self, key: Any) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one more."""
        return _of(self._keys | {key})

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without one."""
        return _of(self._keys - {key})

    def highestPriorityTypeId(self) -> Any:
        """The key that sees a call first; ``Undefined`` of none."""
        return max(self._keys, key=_place, default=DispatchKey.Undefined)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return _of(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return _of(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return _of(self._keys - other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and other._keys == self._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in sorted(self._keys, key=_place))})"


def _of(keys: Iterable[Any]) -> DispatchKeySet:
    return DispatchKeySet(*keys)


#: Bit of the core -> what PyTorch calls it.
_NAMES = {
    PYTHON: "Python", CONJUGATE: "Conjugate", NEGATIVE: "Negative", ADINPLACE_OR_VIEW: "ADInplaceOrView",
}  # fmt: skip


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    """The keys that PyTorch gives such a tensor; those of autograd whether or not it requires grad."""
    backend = key_of_device_type(tensor.device.type)
    names = [backend, *(name for bit, name in _NAMES.items() if tensor._keys & bit)]
    if tensor._keys & PYTHON:
        names.append("PythonTLSSnapshot")
    if not tensor._keys & INFERENCE:
        names += ["ADInplaceOrView", f"Autograd{backend}"]
    if f"Autocast{backend}" in DispatchKey.__members__:
        names.append(f"Autocast{backend}")
    return _of(DispatchKey[name] for name in names)


def _dispatch_key_set(tensor: Tensor) -> str:
    """The keys of a tensor, as text."""
    return repr(_dispatch_keys(tensor))


def _dispatch_key_parse(name: str) -> Any:
    """The key of a name.

    Raises
    ------
    RuntimeError
        For a name that no key has.
    """
    if name not in DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return DispatchKey[name]


def _dispatch_key_name(key: Any) -> str:
    """The name of a key."""
    return key.name  # type: ignore[no-any-return]


def _dispatch_key_for_device(device_type: str) -> str:
    """The name of the key of a device type's kernels."""
    return key_of_device_type(device(device_type).type)


# Guards


def _bit(key: Any) -> int:
    """The core's bit of a key.

    Raises
    ------
    NotImplementedError
        Where the core has none that could be left out or added by itself.
    """
    for bit, name in _NAMES.items():
        if key.name == name:
            return bit
    if key.name.startswith("Autograd"):
        return AUTOGRAD
    if key.name.startswith("Autocast"):
        return AUTOCAST
    raise NotImplementedError(f"the dispatch key {key.name} cannot be included or excluded by itself")


class _Guard:
    """Leaves keys out of the calls of this thread, or adds them: from its making, until it is deleted or left."""

    def __init__(self, exclude: int, include: int = 0) -> None:
        self._previous = tls.exclude, tls.include
        tls.exclude |= exclude
        tls.include |= include
        tls.refresh()
        self._holds = True

    def _end(self) -> None:
        if self._holds:
            self._holds = False
            tls.exclude, tls.include = self._previous
            tls.refresh()

    def __enter__(self) -> None:
        """It holds already."""

    def __exit__(self, *exception: Any) -> None:
        self._end()

    def __del__(self) -> None:
        if hasattr(self, "_holds"):
            self._end()


def _bits(keys: DispatchKeySet) -> int:
    found = 0
    for key in keys._keys:
        found |= _bit(key)
    return found


class _ExcludeDispatchKeyGuard(_Guard):
    """Leaves the keys of a set out."""

    def __init__(self, keys: DispatchKeySet) -> None:
        super().__init__(_bits(keys))


class _IncludeDispatchKeyGuard(_Guard):
    """Adds a key."""

    def __init__(self, key: Any) -> None:
        super().__init__(0, _bit(key))


class _AutoDispatchBelowAutograd(_Guard):
    """Nothing is recorded, and calls go on below autograd."""

    def __init__(self) -> None:
        super().__init__(AUTOGRAD)


class _DisableTorchDispatch(_Guard):
    """Neither modes nor classes are handed operators."""

    def __init__(self) -> None:
        super().__init__(PYTHON)


def _dispatch_tls_is_dispatch_key_excluded(key: Any) -> bool:
    """Whether this thread leaves a key out."""
    return bool(tls.exclude & _bit(key))


def _dispatch_tls_is_dispatch_key_included(key: Any) -> bool:
    """Whether this thread adds a key."""
    return bool(tls.include & _bit(key))


# The stack of modes


def _len_torch_dispatch_stack() -> int:
    """How many dispatch modes are on in this thread."""
    return len(tls.dispatch_modes)


def _get_dispatch_stack_at(index: int) -> Any:
    """The dispatch mode at a place in the stack of this thread, the outermost at 0."""
    return tls.dispatch_modes[index]
