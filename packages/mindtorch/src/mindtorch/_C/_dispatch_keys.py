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

#: What a key of a device is an instance of -> its part of the name.
_FUNCTIONALITIES = {
    "Dense": "", "Quantized": "Quantized", "Sparse": "Sparse", "SparseCsr": "SparseCsr",
    "NestedTensor": "NestedTensor", "AutogradFunctionality": "Autograd",
}  # fmt: skip
_DEVICES = """
    CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta
""".split()
#: A set is a number: a bit for each device, and above them one for each functionality.
_WIDTH = len(_DEVICES)
_DEVICE_MASK = (1 << _WIDTH) - 1
#: The last key that has a bit of its own; above are keys of devices, and aliases, which are in no set.
_LAST = 47


def _functionality_bit(key: Any) -> int:
    return 1 << (_WIDTH + key.value - 1)


def _bits_of_names() -> dict[str, int]:
    found = {key.name: _functionality_bit(key) for key in DispatchKey if 0 < key.value <= _LAST}
    for functionality, prefix in _FUNCTIONALITIES.items():
        for index, device_name in enumerate(_DEVICES):
            found[prefix + device_name] = found[functionality] | 1 << index
    return found


_BITS = _bits_of_names()


def key_set_of_names(which: str) -> list[str]:
    """The names of the keys of devices (``"dense"``)."""
    return list(_DEVICES) if which == "dense" else list(_BITS)


class DispatchKeySet:
    """A set of keys, as PyTorch has them: of devices, and of what is done on them.

    A set with the keys ``AutogradCPU`` and ``CUDA`` has ``AutogradCUDA`` and ``CPU`` as well. To take a key away takes
    what it does away, and leaves its device.
    """

    __module__ = "torch"  # where PyTorch says it is
    __slots__ = ("_bits",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, key: Any) -> None:
        if not isinstance(key, DispatchKey):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                f"    1. torch._C.DispatchKeySet(arg0: torch._C.DispatchKey)\n\nInvoked with: {key!r}"
            )
        self._bits = _BITS.get(key.name, 0)

    @staticmethod
    def from_raw_repr(bits: int) -> DispatchKeySet:
        """The set of a number that `raw_repr` gave."""
        made = DispatchKeySet.__new__(DispatchKeySet)
        made._bits = bits
        return made

    def raw_repr(self) -> int:
        """The set as a number."""
        return self._bits

    def has(self, key: Any) -> bool:
        """Whether a key is among them."""
        wanted = _BITS.get(key.name, 0)
        return self._bits & wanted == wanted

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one more."""
        return self.from_raw_repr(self._bits | _BITS.get(key.name, 0))

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without what a key does."""
        return self.from_raw_repr(self._bits & ~(_BITS.get(key.name, 0) & ~_DEVICE_MASK))

    def highestPriorityTypeId(self) -> Any:
        """The key that sees a call first; ``Undefined`` of none."""
        keys = list(self)
        return keys[-1] if keys else DispatchKey.Undefined

    def __iter__(self) -> Iterator[Any]:
        """The keys, those that see a call last before the others."""
        for key in DispatchKey:
            if 0 < key.value <= _LAST and self._bits & _functionality_bit(key):
                prefix = _FUNCTIONALITIES.get(key.name)
                if prefix is None:
                    yield key
                    continue
                for index, device_name in enumerate(_DEVICES):
                    if self._bits >> index & 1:
                        yield DispatchKey[prefix + device_name]

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(self._bits | other._bits)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(self._bits & other._bits)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(self._bits & (_DEVICE_MASK | ~other._bits))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and other._bits == self._bits

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in self)})"

    def __reduce__(self) -> Any:
        return DispatchKeySet.from_raw_repr, (self._bits,)


def _of(keys: Iterable[Any]) -> DispatchKeySet:
    bits = 0
    for key in keys:
        bits |= _BITS.get(key.name, 0)
    return DispatchKeySet.from_raw_repr(bits)


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


def bit_of(key: Any) -> int:
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
    for key in keys:
        found |= bit_of(key)
    return found


class _ExcludeDispatchKeyGuard(_Guard):
    """Leaves the keys of a set out."""

    def __init__(self, keys: DispatchKeySet) -> None:
        super().__init__(_bits(keys))


class _IncludeDispatchKeyGuard(_Guard):
    """Adds a key."""

    def __init__(self, key: Any) -> None:
        super().__init__(0, bit_of(key))


class _AutoDispatchBelowAutograd(_Guard):
    """Nothing is recorded, and calls go on below autograd."""

    def __init__(self) -> None:
        super().__init__(AUTOGRAD)


class _ForceDispatchKeyGuard(_Guard):
    """Adds the keys of one set, leaves those of another out, and no others."""

    def __init__(self, include: DispatchKeySet, exclude: DispatchKeySet) -> None:
        super().__init__(_bits(exclude), _bits(include))


class _SetExcludeDispatchKeyGuard(_Guard):
    """Leaves a key out, or lets it in again."""

    def __init__(self, key: Any, set_excluded: bool) -> None:
        super().__init__(bit_of(key) if set_excluded else 0)
        if not set_excluded:
            tls.exclude &= ~bit_of(key)
            tls.refresh()


class _PreserveDispatchKeyGuard(_Guard):
    """Puts back at its end what this thread adds and leaves out."""

    def __init__(self) -> None:
        super().__init__(0)


class _AutoDispatchBelowADInplaceOrView(_Guard):
    """Calls go on below what counts versions and links views."""

    def __init__(self) -> None:
        super().__init__(AUTOGRAD | ADINPLACE_OR_VIEW)


class ExcludeDispatchKeyGuard(_ExcludeDispatchKeyGuard):
    """Leaves the keys of a set out."""

    __module__ = "torch"  # where PyTorch says it is


class _DisableTorchDispatch(_Guard):
    """Neither modes nor classes are handed operators."""

    def __init__(self) -> None:
        super().__init__(PYTHON)


def _dispatch_tls_is_dispatch_key_excluded(key: Any) -> bool:
    """Whether this thread leaves a key out."""
    return bool(tls.exclude & bit_of(key))


def _dispatch_tls_is_dispatch_key_included(key: Any) -> bool:
    """Whether this thread adds a key."""
    return bool(tls.include & bit_of(key))


def _dispatch_tls_set_dispatch_key_excluded(key: Any, excluded: bool) -> None:
    """Leave a key out in this thread, or let it in again."""
    tls.exclude = tls.exclude | bit_of(key) if excluded else tls.exclude & ~bit_of(key)
    tls.refresh()


def _dispatch_tls_set_dispatch_key_included(key: Any, included: bool) -> None:
    """Add a key in this thread, or no longer."""
    tls.include = tls.include | bit_of(key) if included else tls.include & ~bit_of(key)
    tls.refresh()


def _names_of(bits: int) -> list[str]:
    """What PyTorch calls the core's keys; of autograd, its key for every device."""
    found = [name for bit, name in _NAMES.items() if bits & bit]
    if bits & AUTOGRAD:
        found += [f"Autograd{device_name}" for device_name in _DEVICES]
    return found


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """The keys that this thread adds; PyTorch adds ``BackendSelect`` and ``ADInplaceOrView`` to all calls."""
    names = ["BackendSelect", "ADInplaceOrView", *_names_of(tls.include)]
    if tls.exclude & ADINPLACE_OR_VIEW:
        names.remove("ADInplaceOrView")
    return _of(DispatchKey[name] for name in names)


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """The keys that this thread leaves out; those of autocast are where it is off."""
    names = _names_of(tls.exclude)
    if not tls.include & AUTOCAST:
        names += [name for name in DispatchKey.__members__ if name.startswith("Autocast")]
    return _of(DispatchKey[name] for name in names)


def _dispatch_keyset_full() -> DispatchKeySet:
    """All keys."""
    return _of(DispatchKey[name] for name in _BITS)


def _dispatch_keyset_full_after(key: Any) -> DispatchKeySet:
    """The keys that see a call after a key."""
    before = [*_dispatch_keyset_full()]
    return _of(before[: before.index(key)]) if key in before else _of(())


def _dispatch_keyset_to_string(keys: DispatchKeySet) -> str:
    """The keys of a set, as text."""
    return repr(keys)


def _dispatch_get_backend_keyset_from_autograd(key: Any) -> DispatchKeySet:
    """The key of the device of an autograd key."""
    name = key.name.removeprefix("Autograd")
    return _of([DispatchKey[name]] if name in _DEVICES else [])


# The stack of modes


def _len_torch_dispatch_stack() -> int:
    """How many dispatch modes are on in this thread."""
    return len(tls.dispatch_modes)


def _get_dispatch_stack_at(index: int) -> Any:
    """The dispatch mode at a place in the stack of this thread, the outermost at 0."""
    return tls.dispatch_modes[index]
