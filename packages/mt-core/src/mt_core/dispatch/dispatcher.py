"""From the keys of a call to the callable that handles it.

Resolution happens once per operator and call keys, from the highest key down, and what it returns is kept in the
overload's cache until something is registered. A key with a layer asks the layer; a key without one is an error, unless
it is listed as transparent. The lowest key is a backend's. This is the only place that knows about composites:

* in a backend's slot, the first that exists of: a direct kernel, a kernel on the backend contract, an explicit
  composite (held to the operator's rule, where it has one; the meta device asks the rule alone), an implicit composite,
  what derives from another form of the operator;
* in a layer's slot: what the layer has for the operator itself, else an implicit composite, unless the backend has a
  kernel for the whole, else what the layer does for any operator. Where handlers of ``__torch_dispatch__`` are below
  (the key `PYTHON`), operators are taken apart that PyTorch takes apart, and no others (`taken_apart`).

Nothing here knows an operator by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cell import counts_writes
from ..devices import backend_key, describe_keys, device, device_type_of
from ..errors import no_kernel
from ..keys import (
    AUTOGRAD,
    BACKEND_MASK,
    CPU,
    FLAGS,
    FUNCTION_TRANSFORM,
    FUNCTIONALIZE,
    HOLLOW,
    INFERENCE,
    KEY_MASK,
    META,
    NAMES,
    OTHER_INDEX,
    PRIVATE,
    PRIVATE_TYPES,
    PYTHON,
    SPARSE,
    STRIDED,
    TRANSPARENT,
    WIDTH,
)
from ..plugins.discovery import find_layer
from ..plugins.protocols import FALLTHROUGH
from ..state import effective_keys, intern_mode, mode_triple, tls
from . import composed, derived, direct, executors, taken_apart, writers
from .dtype_checks import asked_before
from .kernel import Kernel
from .lookup import backend_for, composite_of, kernels_of
from .memory import kept_apart
from .registry import (
    COMPOSITES,
    CONTRACT_KERNELS,
    FALLBACKS,
    INTERCEPTORS,
    KERNELS,
    STANDING_FOR,
    Composite,
    Overload,
    Resolver,
    find_overload,
    forget_all,
    load_family,
    overrides_built_in,
    refuse_while_loading,
)
from .several_devices import has_several_devices, on_one_device, two_third_parties

__all__ = [
    "backend_for", "backend_key_of", "call_keys_of", "check_written", "layer_for", "register_layer", "resolve",
    "withdraw_layer",
]  # fmt: skip

Callee = Callable[..., Any]

#: Key -> the layer that handles it, or the entry-point name under which to find it.
_LAYERS: dict[int, Any] = {}
_NOTHING: dict[str, Any] = {}
_ONE_BIT = (1 << WIDTH) - 1


def register_layer(key: int, layer: Any) -> None:
    """Enter a layer object, or the name of the entry point that provides it, for a dispatch key."""
    _LAYERS[key] = layer
    forget_all()


def withdraw_layer(key: int) -> None:
    """Take a layer away that `register_layer` entered."""
    del _LAYERS[key]
    forget_all()


def layer_for(key: int) -> Any:
    """The layer of a key, loaded if it is still a name; None when the key has no layer."""
    layer = _LAYERS.get(key)
    if isinstance(layer, str):
        layer = _LAYERS[key] = find_layer(layer)
    return layer


def call_keys_of(overload: Overload, args: tuple[Any, ...]) -> int:
    """The call keys of arguments that are bound to the schema.

    A number or None in a tensor's place counts as `STRIDED`: executors then leave their shortest path.
    """
    keys = tls.mode
    for position in overload.tensor_positions:
        keys |= getattr(args[position], "_keys", STRIDED)
    for position in overload.list_positions:
        for item in args[position] or ():
            if item is not None:
                keys |= item._keys
    if not keys & BACKEND_MASK:
        keys |= _key_without_tensors(overload, args)
    return keys


def _key_without_tensors(overload: Overload, args: tuple[Any, ...]) -> int:
    """The backend key of a call without tensors: its ``device=``, else the default device."""
    for argument, value in zip(overload.schema.arguments, args, strict=True):
        if argument.type == "Device" and value is not None:
            return backend_key(value.type)
    return default_backend_key()


def default_backend_key() -> int:
    """The backend key of the default device."""
    default = tls.default_device
    return CPU if default is None else backend_key(default.type)


def backend_key_for(requested: device | None) -> int:
    """The backend key of a factory's ``device=`` argument."""
    return default_backend_key() if requested is None else backend_key(requested.type)


def resolve(overload: Overload, call_keys: int) -> Callee:
    """Find, build and cache the callable for the keys of a call."""
    found = _resolve(overload, call_keys)
    if _is_guarded(call_keys):
        found = _guarded(overload, found) if overload.schema.is_mutable else composed.counting_writes(overload, found)
    if overload.schema.is_mutable and overload.declaration.form != "out" and not is_hollow(call_keys):
        # out= forms ask once the output has its shape
        found = writers.still_before(kept_apart(overload, found, lambda: _rule_of_either(overload)), found)
    overload.cache[call_keys] = found
    return found


def _rule_of_either(overload: Overload) -> Callee | None:
    """The shape rule of a form that writes, or of the functional form."""
    functional = overload.declaration.functional
    return executors.rule_of(overload) or (None if functional is None else executors.rule_of(find_overload(functional)))


def is_hollow(call_keys: int) -> bool:
    """Whether a call's tensors may have no memory: it comes by again with those that have."""
    return bool(effective_keys(call_keys) & (HOLLOW | PYTHON | FUNCTION_TRANSFORM))


def _is_guarded(call_keys: int) -> bool:
    """Whether inference tensors may not be written to; what autograd has against a call it says first."""
    outside = call_keys & INFERENCE and not mode_triple(call_keys)[2] & INFERENCE
    return bool(outside) and not effective_keys(call_keys) & AUTOGRAD


def _guarded(overload: Overload, callee: Callee) -> Callee:
    """Refuse to write to inference tensors outside of inference mode, as PyTorch does: once it is written.

    It is counting the write that PyTorch refuses; what is wrong with the call itself is said before.
    """
    written = [i for i, a in enumerate(overload.schema.arguments) if a.writes]

    def check(*args: Any) -> Any:
        result = callee(*args)
        if any(getattr(args[i], "_keys", 0) & INFERENCE and not counts_writes(args[i]) for i in written):
            raise _written_outside_inference()
        return result

    return check


def check_written(tensor: Any) -> None:
    """Refuse that an inference tensor has been written to outside of inference mode (`_guarded`)."""
    if tensor._keys & INFERENCE and not (mode_triple(tls.mode)[2] & INFERENCE or counts_writes(tensor)):
        raise _written_outside_inference()


def _written_outside_inference() -> RuntimeError:
    return RuntimeError(
        "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
        "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
    )


def _resolve(overload: Overload, call_keys: int) -> Callee:
    stands_for = STANDING_FOR.get(overload.name)
    if stands_for is not None and any(stands_for in table for table in tuple(INTERCEPTORS.values())):
        return composite_of(overload).function  # type: ignore[union-attr]
    effective = effective_keys(call_keys)
    keys = effective & ~FLAGS & _ONE_BIT
    while keys:
        top = 1 << (keys.bit_length() - 1)
        backend = backend_of(effective, top) if top & BACKEND_MASK else top
        for slot in (backend,) if backend == top else (backend, top):
            build = INTERCEPTORS.get(slot, _NOTHING).get(overload.name)
            if build is not None and (intercepting := build(call_keys)) is not None:
                return intercepting
        if top & BACKEND_MASK:
            return _backend_slot(overload, backend, call_keys)
        if not top & TRANSPARENT and (handled := _layer_slot(overload, top, call_keys)) is not None:
            return handled
        keys &= ~top
    raise missing_kernel(overload, effective)


def backend_of(keys: int, top: int) -> int:
    """The backend key whose dispatch bit is `top`: of a third party's, its own bit belongs to it.

    Raises
    ------
    RuntimeError
        When there are tensors of two third-party devices.
    """
    if top != PRIVATE:
        return top
    types = keys & PRIVATE_TYPES
    if types & (types - 1):
        raise two_third_parties(types)
    return top | types


def backend_key_of(call_keys: int) -> int:
    """The backend key that the keys of a call come down to."""
    keys = effective_keys(call_keys)
    backends = keys & BACKEND_MASK & _ONE_BIT
    return backend_of(keys, 1 << (backends.bit_length() - 1))


def without(call_keys: int, key: int) -> int:
    """Call keys less one key, whether a tensor or the mode brought it."""
    include, exclude, flags = mode_triple(call_keys)
    mode = intern_mode(include & ~key, exclude, flags)
    return mode | (call_keys & KEY_MASK & ~key)


# Layers


def _layer_slot(overload: Overload, key: int, call_keys: int) -> Callee | None:
    """What happens at a layer's key; None where the call passes on unchanged."""
    layer = layer_for(key)
    if layer is None:
        raise NotImplementedError(
            f"could not run {overload.qualified_name}: a tensor or the thread's mode has the dispatch key "
            f"{NAMES[key]}, and nothing that handles it is installed or registered"
        )

    def below() -> Callee:
        return overload.cache[without(call_keys, key)]

    told = AUTOGRAD | PYTHON | FUNCTIONALIZE
    for_handlers = bool(key & told and effective_keys(call_keys) & (PYTHON | FUNCTIONALIZE))
    if for_handlers and (parts := taken_apart.parts_of(overload)) is not None:
        return executors.with_named_results(overload, asked_before(overload, parts))
    if call_keys & SPARSE and key <= AUTOGRAD and (others := layer_for(SPARSE).parts_of(overload)) is not None:
        return executors.with_named_results(overload, others)
    handled = layer.build(overload, call_keys, below)
    if handled is None:
        composite = parts_of(overload, call_keys)
        if composite is not None and not for_handlers and not _has_kernel(overload, call_keys):
            return composite
        handled = layer.fallback(overload, call_keys, below, composite)
    return None if handled is FALLTHROUGH else handled


def parts_of(overload: Overload, call_keys: int) -> Callee | None:
    """An implicit composite, or the in-place form of one, as the operators it is made of."""
    found = composite_of(overload)
    if found is not None:
        return None if found.explicit else _carried_out(overload, found)
    functional = overload.declaration.functional
    if overload.declaration.form == "inplace" and functional is not None:
        made_of = composite_of(find_overload(functional))
        if made_of is not None and not made_of.explicit:
            return derived.inplace_of_composite(find_overload(functional))
    return None


def _has_kernel(overload: Overload, call_keys: int) -> bool:
    """Whether the backend of a call has a kernel for the whole operator, fused forms for inference aside."""
    if not effective_keys(call_keys) & BACKEND_MASK:
        return False
    key = backend_key_of(call_keys)
    functional = overload.declaration.functional
    names = [overload.name] if functional is None or overload.declaration.form == "out" else [overload.name, functional]
    return any(kernel.recorded for name in names for kernel in kernels_of(find_overload(name), key))


def _serving(overload: Overload, key: int) -> list[Kernel]:
    """A backend's kernels for an operator, without its fused forms of several where someone intercepts a part of one.

    Which operators a fused form stands for is not written down: any that is intercepted counts.
    """
    kernels = kernels_of(overload, key)
    if any(overrides_built_in(slot) for slot in (key, key & ~PRIVATE_TYPES, AUTOGRAD)):
        return [kernel for kernel in kernels if kernel.recorded or not kernel.own]
    return kernels


# Backends


def _backend_slot(overload: Overload, key: int, call_keys: int) -> Callee:
    kernels = _serving(overload, key)
    # Where a kernel takes every call, what else there is need not even be loaded.
    complete = any(kernel.accepts.everything() for kernel in kernels)
    otherwise = None if complete else _made_of_operators(overload)
    if otherwise is not None and not kernels:
        if key != CPU:
            return otherwise
        if overload.schema.is_mutable:
            return writers.onto_memory(overload, otherwise, backend_for(key), call_keys)
        keys = executors.result_keys(key, call_keys)
        made = writers.making(overload, otherwise, backend_for(key), keys, call_keys)
        return direct.before(overload, made, [], backend_for(key), keys, call_keys)
    several = has_several_devices(call_keys) and key != META
    own_kernel_writes = bool(kernels) and overload.schema.is_mutable
    as_numbers = several and overload.declaration.kind == "elementwise" and not own_kernel_writes
    if as_numbers:
        call_keys |= STRIDED  # the short paths take arrays of the backend only
    if otherwise is None and not complete:
        otherwise = _under_rule(overload, key, call_keys)
    built = executors.build(overload, kernels, otherwise, backend_for(key), key, call_keys) if kernels else otherwise
    if built is None:
        built = executors.build(overload, [], None, backend_for(key), key, call_keys)
    if built is None and (fallback := FALLBACKS.get(key) or FALLBACKS.get(key & ~PRIVATE_TYPES)) is not None:
        return fallback(overload, call_keys)
    if built is None:
        raise missing_kernel(overload, effective_keys(call_keys))
    # The meta device has no kernels that would meet another device's arrays; its rules accept what PyTorch's accept.
    if several or call_keys & OTHER_INDEX and key != META:
        built = on_one_device(overload, key, backend_for(key), built, as_numbers)
    elif kernels and key != META:
        keys = executors.result_keys(key, call_keys)
        built = direct.before(overload, built, kernels, backend_for(key), keys, call_keys)
    return composed.counting(overload, built)


def _under_rule(overload: Overload, key: int, call_keys: int) -> Callee | None:
    """What carries an operator out without a kernel, but under its rule: an explicit composite, or another form."""
    composite = composed.standing_in(overload)
    if composite is not None and key != META:
        return composed.build(overload, composite, backend_for(key), key, call_keys)
    return derived.form_of(overload, key, call_keys)


def _made_of_operators(overload: Overload) -> Callee | None:
    """What carries an operator out on any backend, by the contract or by other operators alone; None: nothing does."""
    load_family("mt_core.contract_kernels", overload.family)
    on_contract = CONTRACT_KERNELS.get(overload.name)
    if on_contract is not None:
        return on_contract
    composite = composite_of(overload)
    if composite is None or composed.standing_in(overload) is not None:
        return None
    function = _carried_out(overload, composite)
    if not composite.explicit:
        return function
    return composed.unrecorded(function) if overload.schema.is_mutable else composed.making_new(function)


def _carried_out(overload: Overload, composite: Composite) -> Callee:
    """A composite that refuses what its declaration does, and hands over what its schema says."""
    carried_out = executors.with_named_results(overload, asked_before(overload, composite.function))
    return composed.counting(overload, carried_out)


def missing_kernel(overload: Overload, keys: int) -> NotImplementedError:
    """The error for a key set that nothing handles, naming what is registered.

    Raises
    ------
    RuntimeError
        When the operator's family is being loaded: nothing is missing then.
    """
    refuse_while_loading(overload)
    registered = [_backend_name(key) for key, table in KERNELS.items() if table.get(overload.name)]
    if overload.name in COMPOSITES:
        registered.append("Composite")
    return no_kernel(
        f"could not find kernel for op {overload.qualified_name} with keys {describe_keys(keys)}. "
        f"It is registered for: {', '.join(registered) or 'nothing'}"
    )


def _backend_name(key: int) -> str:
    return NAMES.get(key) or device_type_of(key)


Resolver.resolve = staticmethod(resolve)  # type: ignore[assignment]
Resolver.call_keys_of = staticmethod(call_keys_of)  # type: ignore[assignment]
