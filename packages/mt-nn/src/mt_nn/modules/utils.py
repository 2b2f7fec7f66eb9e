"""Small helpers of modules."""

from typing import Any

from .._arguments import (
    _list_with_default,
    _ntuple,
    _pair,
    _quadruple,
    _reverse_repeat_tuple,
    _single,
    _triple,
)

__all__ = [
    "_list_with_default",
    "_ntuple",
    "_pair",
    "_quadruple",
    "_reverse_repeat_tuple",
    "_single",
    "_triple",
    "consume_prefix_in_state_dict_if_present",
]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the keys of a state dict, in place, where they have it."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        if key == "":
            continue
        if key == prefix.replace(".", "") or key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
