"""``torch.distributed.checkpoint.hf_storage``: safetensors files that all ranks write, which are not supported."""

from __future__ import annotations

from .. import refusing as _refusing

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

_HOME = "torch.distributed.checkpoint.hf_storage"
_REMEDY = "The package safetensors reads and writes these files on one rank."

HuggingFaceStorageReader = _refusing.refused_class(_HOME, "HuggingFaceStorageReader", _REMEDY)
HuggingFaceStorageWriter = _refusing.refused_class(_HOME, "HuggingFaceStorageWriter", _REMEDY)
