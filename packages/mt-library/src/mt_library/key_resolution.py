"""At which dispatch key a call finds its kernel: at its own, or at an alias that stands for it."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.dispatcher import layer_for

from .dispatch_keys import ANY_DEVICE, AUTOGRAD_OF_ALL, COMPOSITE, core_keys
from .fallbacks import fallback_at
from .key_sets import DEVICES, DispatchKey
from .operator_base import OperatorBase

__all__ = ["has_backend_fallback", "is_included_in_alias", "resolve_key"]

#: Keys that stand for several, in the order in which they are asked.
_NON_FUNCTIONAL, _DECOMPOSED = "CompositeExplicitAutogradNonFunctional", "FuncTorchBatchedDecomposition"
ALIASES = frozenset(
    (AUTOGRAD_OF_ALL, ANY_DEVICE, _NON_FUNCTIONAL, COMPOSITE, "CompositeImplicitAutogradNestedTensor", _DECOMPOSED)
)

#: Where calls fall through, and what takes every operator inside of ``torch.func`` (`mt_core.transforms`).
_EVERY_OPERATOR = frozenset(
    """
    ADInplaceOrView AutogradOther BackendSelect FuncTorchBatched FuncTorchDynamicLayerBackMode
    FuncTorchDynamicLayerFrontMode FuncTorchGradWrapper FuncTorchVmapMode
    """.split()
)


def is_included_in_alias(key: str, alias: str) -> bool:
    """Whether a key is one of those that an alias stands for."""
    if alias == AUTOGRAD_OF_ALL:
        return key.startswith(AUTOGRAD_OF_ALL) and key != alias
    if alias not in ALIASES:
        return key == alias
    return key in DEVICES or alias == COMPOSITE and key.startswith(AUTOGRAD_OF_ALL)


def has_backend_fallback(key: str) -> bool:
    """Whether a key has something for every operator: a layer, or the fallback of a library."""
    if fallback_at(key) is not None or key in _EVERY_OPERATOR:
        return True
    keys = core_keys(key) if key not in ALIASES and key not in DEVICES else []
    try:
        return any(layer_for(bit) is not None for bit in keys)
    except NotImplementedError:
        return False


def resolve_key(op: OperatorBase, k: Any) -> Any:
    """The key whose kernel a call of an operator that comes by the key `k` is carried out by.

    Raises
    ------
    NotImplementedError
        Where there is none.
    """
    name = str(getattr(k, "name", k))
    if op.has_kernel_for_dispatch_key(k):
        return k
    is_open = name == "Undefined"
    for alias in (_NON_FUNCTIONAL, ANY_DEVICE):
        if (is_open or is_included_in_alias(name, alias)) and op.has_kernel_for_dispatch_key(DispatchKey[alias]):
            return DispatchKey[alias]
    has_backend = name.startswith(AUTOGRAD_OF_ALL) and op.has_kernel_for_dispatch_key(
        name.removeprefix(AUTOGRAD_OF_ALL)
    )
    stands_for = is_open or is_included_in_alias(name, COMPOSITE)
    if stands_for and not has_backend and op.has_kernel_for_dispatch_key(DispatchKey[COMPOSITE]):
        return DispatchKey[COMPOSITE]
    for alias in (AUTOGRAD_OF_ALL, _DECOMPOSED):
        if is_included_in_alias(name, alias) and op.has_kernel_for_dispatch_key(DispatchKey[alias]):
            return DispatchKey[alias]
    if has_backend_fallback(name):
        return k
    raise NotImplementedError(f"could not find kernel for {op} at dispatch key {k}")
