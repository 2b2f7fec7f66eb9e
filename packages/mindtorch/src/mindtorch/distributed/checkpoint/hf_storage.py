"""``torch.distributed.checkpoint.hf_storage``: safetensors files that all ranks write, which are not supported."""

from __future__ import annotations

from ..._unsupported import unsupported_class

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

_REMEDY = "The package safetensors reads and writes these files on one rank."

HuggingFaceStorageReader = unsupported_class(
    "torch.distributed.checkpoint.hf_storage.HuggingFaceStorageReader", _REMEDY
)
HuggingFaceStorageWriter = unsupported_class(
    "torch.distributed.checkpoint.hf_storage.HuggingFaceStorageWriter", _REMEDY
)
