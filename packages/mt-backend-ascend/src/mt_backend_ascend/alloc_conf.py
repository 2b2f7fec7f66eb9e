"""``PYTORCH_NPU_ALLOC_CONF``: how the allocator treats device memory."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = ["VARIABLE", "AllocatorSettings", "settings_of"]

VARIABLE = "PYTORCH_NPU_ALLOC_CONF"
_KNOWN = "max_split_size_mb, garbage_collection_threshold, expandable_segments"


class AllocatorSettings(NamedTuple):
    """Attributes: the largest block that is split, in bytes; the share of the memory from which idle blocks go back."""

    max_split_size: int | None = None
    garbage_collection_threshold: float = 0.0


def settings_of(text: str | None = None) -> AllocatorSettings:
    """The settings of ``name:value,name:value``; of the environment by default.

    Raises
    ------
    RuntimeError
        For names and values that torch_npu does not take.
    NotImplementedError
        For options that are not implemented.
    """
    text = os.environ.get(VARIABLE, "") if text is None else text
    settings = AllocatorSettings()
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, value = (p.strip() for p in part.partition(":"))
        if name == "max_split_size_mb":
            settings = settings._replace(max_split_size=_megabytes(value))
        elif name == "garbage_collection_threshold":
            settings = settings._replace(garbage_collection_threshold=_share(value))
        elif name == "expandable_segments":
            if value not in ("True", "False"):
                raise RuntimeError("Expected a single True/False argument for expandable_segments")
            if value == "True":
                raise NotImplementedError(f"{VARIABLE}: expandable_segments:True is not implemented; leave it out")
        elif name in ("base_addr_aligned_kb", "page_size", "segment_size_mb"):
            raise NotImplementedError(f"{VARIABLE}: {name} is not implemented; leave it out")
        else:
            raise RuntimeError(f"{VARIABLE}: unrecognized CachingAllocator option: {name} (known: {_KNOWN})")
    return settings


def _megabytes(value: str) -> int:
    try:
        count = int(value)
    except ValueError:
        raise RuntimeError(f"CachingAllocator option max_split_size_mb: {value!r} is no whole number") from None
    if count <= 20:
        raise RuntimeError("CachingAllocator option max_split_size_mb too small, must be > 20 MB")
    return count << 20


def _share(value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        raise RuntimeError(f"CachingAllocator option garbage_collection_threshold: {value!r} is no number") from None
    if not 0.0 < share < 1.0:
        bound = "too small, set it 0.0~1.0" if share <= 0 else "too big, set it 0.0~1.0"
        raise RuntimeError(f"garbage_collection_threshold {bound}")
    return share
