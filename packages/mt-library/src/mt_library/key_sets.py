"""``DispatchKey`` and ``DispatchKeySet``: what takes part in a call, by PyTorch's names and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

from mt_core.keys import AUTOCAST, AUTOGRAD, CONJUGATE, FUNCTIONALIZE, GRAD_OFF, NEGATIVE, PYTHON
from mt_core.state import effective_keys, mode_triple

from .dispatch_keys import backend_name_of

__all__ = ["DEVICES", "DispatchKey", "DispatchKeySet", "KEY_BITS", "key_set", "key_set_of_call"]

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
DEVICES = """
    CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta
""".split()
#: A set is a number: a bit for each device, and above them one for each functionality.
_WIDTH = len(DEVICES)
_DEVICE_MASK = (1 << _WIDTH) - 1
#: The last key that has a bit of its own; above are keys of devices, and aliases, which are in no set.
_LAST = 47


def _functionality_bit(key: Any) -> int:
    return 1 << (_WIDTH + key.value - 1)


def _bits_of_names() -> dict[str, int]:
    found = {key.name: _functionality_bit(key) for key in DispatchKey if 0 < key.value <= _LAST}
    for functionality, prefix in _FUNCTIONALITIES.items():
        for index, device_name in enumerate(DEVICES):
            found[prefix + device_name] = found[functionality] | 1 << index
    return found


KEY_BITS = _bits_of_names()


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
        self._bits = KEY_BITS.get(key.name, 0)

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
        wanted = KEY_BITS.get(key.name, 0)
        return self._bits & wanted == wanted

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one more."""
        return self.from_raw_repr(self._bits | KEY_BITS.get(key.name, 0))

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without what a key does."""
        return self.from_raw_repr(self._bits & ~(KEY_BITS.get(key.name, 0) & ~_DEVICE_MASK))

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
                for index, device_name in enumerate(DEVICES):
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


def key_set(keys: Iterable[Any]) -> DispatchKeySet:
    bits = 0
    for key in keys:
        bits |= KEY_BITS.get(key.name, 0)
    return DispatchKeySet.from_raw_repr(bits)


_ACTIVE = {PYTHON: "Python", CONJUGATE: "Conjugate", NEGATIVE: "Negative", FUNCTIONALIZE: "Functionalize"}


def key_set_of_call(call_keys: int, above_autograd: bool = False) -> DispatchKeySet:
    """The keys that PyTorch gives such a call; those of autograd, recorded or not, where it has not passed them."""
    effective, excluded = effective_keys(call_keys), mode_triple(call_keys)[1]
    backend = backend_name_of(call_keys)
    names = [backend, "BackendSelect", "ADInplaceOrView", *(n for bit, n in _ACTIVE.items() if effective & bit)]
    if above_autograd and excluded & (AUTOGRAD | GRAD_OFF) != AUTOGRAD:
        names.append(f"Autograd{backend}")
    if effective & AUTOCAST:
        names.append(f"Autocast{backend}")
    return key_set(DispatchKey[name] for name in names if name in KEY_BITS)
