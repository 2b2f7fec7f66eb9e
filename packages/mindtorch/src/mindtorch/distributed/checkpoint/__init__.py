"""``torch.distributed.checkpoint``: files that all ranks write and read together, which are not supported."""

from __future__ import annotations

from ..._unsupported import unsupported_function

__all__ = ["async_save", "load", "save"]

_REMEDY = "torch.save on one rank and torch.load on each are."

async_save = unsupported_function("torch.distributed.checkpoint.async_save", _REMEDY)
load = unsupported_function("torch.distributed.checkpoint.load", _REMEDY)
save = unsupported_function("torch.distributed.checkpoint.save", _REMEDY)
