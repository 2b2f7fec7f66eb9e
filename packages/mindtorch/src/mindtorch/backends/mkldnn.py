"""``torch.backends.mkldnn``: oneDNN is absent; its preferences can be set and have no effect."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["flags", "is_available", "set_flags"]

enabled = True
deterministic = False
#: A preference of Intel GPUs: without them it stays unset, as in PyTorch.
allow_tf32: bool | None = None
_fp32_precision = "none"

_PRECISIONS = ("none", "ieee", "tf32", "bf16")

Flags = tuple[bool, bool, "bool | None", str]


def is_available() -> bool:
    """Whether mindtorch's kernels use it."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = "none",
) -> Flags:
    """Set the preferences that are given, and return all as they were.

    Raises
    ------
    RuntimeError
        For a value that is no bool, or an unknown precision.
    """
    module = vars(sys.modules[__name__])
    before = (module["enabled"], module["deterministic"], module["allow_tf32"], module["_fp32_precision"])
    for name, value in (("enabled", _enabled), ("deterministic", _deterministic)):
        if value is not None:
            _check_bool(f"set_{name}_mkldnn", value)
            module[name] = value
    if _fp32_precision is not None:
        if _fp32_precision not in _PRECISIONS:
            raise RuntimeError(f"Unknown precision: {_fp32_precision}")
        module["_fp32_precision"] = _fp32_precision
    return before


def _check_bool(function: str, value: object) -> None:
    if not isinstance(value, bool):
        raise RuntimeError(f"{function} expects a bool, but got {type(value).__name__}")


@contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> Iterator[None]:
    """Other preferences for the time of a ``with`` statement."""
    before = set_flags(enabled, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        set_flags(*before)
