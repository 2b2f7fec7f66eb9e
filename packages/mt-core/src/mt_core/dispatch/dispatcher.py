"""From a key set to the callable that handles it.

Resolution happens once per operator and key set: the highest key with something registered wins, and what it returns is
kept in the overload's cache. Nothing here knows an operator by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..devices import BACKENDS, backend_key, device, device_type_of
from ..keys import AUTOGRAD, BACKEND_MASK, CPU, FLAGS, INFERENCE, KEY_MASK, META, NAMES, STRIDED, describe
from ..plugins.discovery import find_backend, find_layer
from ..state import effective_keys, excluding, mode_code, mode_triple, tls
from . import executors
from .registry import COMPOSITES, GENERIC, HANDLERS, KERNELS, KernelDef, Overload, load_room
from .several_devices import has_several_devices, on_one_device

__all__ = ["backend_for", "keys_of", "layer_for", "register_layer", "resolve"]

#: Key -> the layer that handles it, or the entry-point name under which to find it.
_LAYERS: dict[int, Any] = {}
_NOTHING: dict[str, Any] = {}


def register_layer(key: int, layer: Any) -> None:
    """Enter a layer object, or the name of the entry point that provides it, for a dispatch key."""
    _LAYERS[key] = layer


def layer_for(key: int) -> Any:
    """The layer of a key, loaded if it is still a name; None when the key has no layer."""
    layer = _LAYERS.get(key)
    if isinstance(layer, str):
        layer = _LAYERS[key] = find_layer(layer)
    return layer


def backend_for(key: int) -> Any:
    """The backend object behind a backend key."""
    backend = BACKENDS.get(key)
    if backend is None:
        if key == META:
            from ..meta_backend import backend as meta

            backend = meta
        else:
            backend = find_backend(device_type_of(key))
        BACKENDS[key] = backend
    return backend


def keys_of(overload: Overload, args: tuple[Any, ...]) -> int:
    """The coded key set of a call whose arguments are bound to the schema.

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


def resolve(overload: Overload, coded: int) -> Callable[..., Any]:
    """Find, build and cache the callable for a coded key set."""
    found = _resolve(overload, coded)
    if coded & INFERENCE and not mode_triple(coded)[2] & INFERENCE and overload.schema.is_mutable:
        found = _guarded(overload, found)
    overload.cache[coded] = found
    return found


def _guarded(overload: Overload, callee: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse to write to inference tensors outside of inference mode, as PyTorch does."""
    written = [i for i, a in enumerate(overload.schema.arguments) if a.writes]

    def check(*args: Any) -> Any:
        if any(getattr(args[i], "_keys", 0) & INFERENCE for i in written):
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to "
                "get a normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for "
                "more details."
            )
        return callee(*args)

    return check


def _resolve(overload: Overload, coded: int) -> Callable[..., Any]:
    keys = effective_keys(coded) & ~FLAGS
    while keys:
        top = 1 << (keys.bit_length() - 1)
        build = HANDLERS.get(top, _NOTHING).get(overload.name)
        if build is not None and (handler := build(coded)) is not None:
            return handler
        if top & BACKEND_MASK:
            return _backend_callable(overload, top, coded)
        layer = layer_for(top)
        if layer is not None:
            handled = layer.build(overload, coded, overload.cache[without(coded, top)])
            if handled is not None:
                return handled
        keys &= ~top
    raise missing_kernel(overload, effective_keys(coded))


def without(coded: int, key: int) -> int:
    """A coded key set less one key, whether a tensor or the mode brought it."""
    include, exclude, flags = mode_triple(coded)
    mode = mode_code(include & ~key, exclude, flags)
    return mode | (coded & KEY_MASK & ~key)


def kernel_for(name: str, family: str, key: int) -> KernelDef | None:
    """A backend's kernel for an operator, its family loaded first."""
    if key != META:
        backend_for(key).load(family)
    return KERNELS.get(key, {}).get(name)


def has_composite(overload: Overload) -> bool:
    """Whether the operator is written in other operators for all to differentiate (an implicit composite)."""
    load_room("mt_core.decomp", overload.family)
    composite = COMPOSITES.get(overload.name)
    return composite is not None and not composite.explicit


def _backend_callable(overload: Overload, key: int, coded: int) -> Callable[..., Any]:
    kernel = kernel_for(overload.name, overload.family, key)
    if kernel is None:
        load_room("mt_core.generic", overload.family)
        generic = GENERIC.get(overload.name)
        if generic is not None:
            return generic
        load_room("mt_core.decomp", overload.family)
        composite = COMPOSITES.get(overload.name)
        if composite is not None:
            function = executors.with_named_results(overload, composite.function)
            return unrecorded(function) if composite.explicit else function
    built = _executor(overload, kernel, key, coded)
    # The meta device has no kernels that would meet another device's arrays; its rules accept what PyTorch's accept.
    if has_several_devices(coded) and key != META:
        return on_one_device(overload, key, backend_for(key), built)
    return built


def _executor(overload: Overload, kernel: KernelDef | None, key: int, coded: int) -> Callable[..., Any]:
    built = executors.derived_form(overload, key, coded) if kernel is None else None
    if built is None:
        built = executors.build(overload, kernel, backend_for(key), key, coded)
    if built is None:
        raise missing_kernel(overload, effective_keys(coded))
    return built


def unrecorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """An explicit composite: autograd has recorded the whole, so its parts are not recorded again."""

    def run(*args: Any) -> Any:
        with excluding(AUTOGRAD):
            return function(*args)

    return run


def missing_kernel(overload: Overload, keys: int) -> NotImplementedError:
    """The error for a key set that nothing handles, naming what is registered."""
    registered = [NAMES[key] for key, table in KERNELS.items() if overload.name in table]
    if overload.name in COMPOSITES:
        registered.append("Composite")
    return NotImplementedError(
        f"could not find kernel for op {overload.qualified_name} with keys {describe(keys & ~FLAGS)}. "
        f"It is registered for: {', '.join(registered) or 'nothing'}"
    )
