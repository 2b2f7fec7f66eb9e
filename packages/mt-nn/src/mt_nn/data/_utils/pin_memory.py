"""Batches in page-locked memory, which the accelerator copies while the program goes on."""

import copy
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """A batch with all its tensors, and whatever else has a method `pin_memory`, in page-locked memory.

    `device` is that of the accelerator, whatever it says. Mappings, named tuples, tuples and other sequences are
    searched, and keep their types; what is neither stays as it is.
    """
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _pinned_mapping(data)
    if isinstance(data, tuple):
        values = [pin_memory(value) for value in data]
        return type(data)(*values) if hasattr(data, "_fields") else tuple(values)
    if isinstance(data, Sequence):
        return _pinned_sequence(data)
    return data


def _pinned_mapping(data: Mapping[Any, Any]) -> Any:
    pinned = {key: pin_memory(value) for key, value in data.items()}
    if isinstance(data, MutableMapping):
        result = copy.copy(data)
        result.update(pinned)
        return result
    return pinned if type(data) is dict else _rebuilt(data, pinned)


def _pinned_sequence(data: Sequence[Any]) -> Any:
    pinned = [pin_memory(value) for value in data]
    return pinned if type(data) is list else _rebuilt(data, pinned)


def _rebuilt(data: Any, content: Any) -> Any:
    """The content in the type of the data, or as it is where the type takes no content alone, as ``range``."""
    try:
        return type(data)(content)
    except TypeError:
        return content
