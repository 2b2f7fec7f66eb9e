"""Communication hooks by name."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any

from . import default_hooks as default

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class DDPCommHookType(Enum):
    """The hooks that there are. Quantizing and PowerSGD ones are not among them."""

    ALLREDUCE = partial(default.allreduce_hook)
    FP16_COMPRESS = partial(default.fp16_compress_hook)
    BF16_COMPRESS = partial(default.bf16_compress_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register a hook with a `DistributedDataParallel`, by name."""
    model.register_comm_hook(state, comm_hook_type.value.func)
