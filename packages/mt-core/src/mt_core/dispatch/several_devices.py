"""Calls whose tensors are on more than one device: 0-dim CPU tensors follow the others, anything else is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..devices import device_type_of, third_party_keys
from ..keys import BACKEND_MASK, CPU, KEY_MASK, PRIVATE, PRIVATE_TYPES
from ..tensor import Tensor, new_tensor
from .elementwise import check_same_device, different_devices
from .registry import Overload

__all__ = ["has_several_devices", "on_one_device", "two_third_parties"]


def has_several_devices(call_keys: int) -> bool:
    """Whether the tensors behind a call's keys are on more than one device type."""
    backends = call_keys & KEY_MASK & BACKEND_MASK & ~PRIVATE_TYPES
    return backends & (backends - 1) != 0


def two_third_parties(types: int) -> RuntimeError:
    """The error for tensors of two third-party device types in one call."""
    names = [device_type_of(key) for key in third_party_keys() if key & types & ~PRIVATE]
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {names[0]} and {names[1]}!"
    )


def on_one_device(
    overload: Overload, key: int, backend: Any, handled: Callable[..., Any], as_numbers: bool
) -> Callable[..., Any]:
    """What a backend does with an operator, behind a look at the devices: its kernel sees arrays of its own only.

    Tensors given as ``out=`` are left to what writes them, which refuses another device in its own words. Copies from
    one device to another are no mistake: an operator on the backend contract looks at the devices itself.

    A 0-dim CPU tensor is written to the device, but where it is an operand of an elementwise operator, and not the
    first: the executor then hands it over as a number (`elementwise.Elementwise.arrays`), and nothing is transferred.
    """
    arguments = overload.schema.arguments
    written = [i for i, a in enumerate(arguments) if a.writes and not a.kwarg_only]
    outputs = [i for i, a in enumerate(arguments) if a.writes and a.kwarg_only]
    singles = [i for i in overload.tensor_positions if i not in outputs]
    lists = [i for i in overload.list_positions if i not in outputs]
    transferred = singles[:1] if as_numbers else singles

    def tensors_of(args: tuple[Any, ...]) -> Iterator[Tensor]:
        for value in (*[args[i] for i in singles], *[t for i in lists for t in args[i] or ()]):
            if isinstance(value, Tensor):
                yield value

    def bring(value: Any, index: int | None) -> Any:
        if not isinstance(value, Tensor) or value._keys & key == key:
            return value
        # A number that happens to be a tensor: of no dimensions, on the CPU.
        array = backend.from_host(value._backend.to_host(value._array), value._dtype, index)
        return new_tensor(array, value._dtype, value._keys & ~CPU | key)

    def run(*args: Any) -> Any:
        tensors = list(tensors_of(args))
        check_same_device(tensors)
        ours = next((t for t in tensors if t._keys & key == key), None)
        for target in (t for i in written for t in (args[i] if i in lists else (args[i],))):
            if target._keys & key != key and ours is not None:
                raise different_devices(target, ours)
        index = backend.index_of(ours._array) if ours is not None else None
        brought = list(args)
        for i in transferred:
            brought[i] = bring(args[i], index)
        for i in lists:
            brought[i] = args[i] and [bring(t, index) for t in args[i]]
        return handled(*brought)

    return run
