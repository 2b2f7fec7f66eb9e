"""``torch.distributed.checkpoint.hf_storage``: safetensors files that all ranks write, which are not supported."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class _Refused:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(type(self).__name__)


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.distributed.checkpoint.hf_storage.{name} is not supported by mindtorch. The package safetensors reads "
        "and writes these files on one rank."
    )


class HuggingFaceStorageReader(_Refused):
    """Not supported: making one raises NotImplementedError."""


class HuggingFaceStorageWriter(_Refused):
    """Not supported: making one raises NotImplementedError."""
