"""Communication hooks by name."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

from . import default_hooks as default
from . import powerSGD_hook as power

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def _as_it_is(model: Any, state: Any, hook: Callable[..., Any]) -> None:
    model.register_comm_hook(state, hook)


def _with_power(model: Any, state: Any, hook: Callable[..., Any], rank: int) -> None:
    model.register_comm_hook(power.PowerSGDState(state, matrix_approximation_rank=rank), hook)


class DDPCommHookType(Enum):
    """The hooks that there are. Quantizing ones are not among them."""

    ALLREDUCE = partial(_as_it_is, hook=default.allreduce_hook)
    FP16_COMPRESS = partial(_as_it_is, hook=default.fp16_compress_hook)
    BF16_COMPRESS = partial(_as_it_is, hook=default.bf16_compress_hook)
    POWER_SGD = partial(_with_power, hook=power.powerSGD_hook, rank=1)
    POWER_SGD_RANK2 = partial(_with_power, hook=power.powerSGD_hook, rank=2)
    BATCHED_POWER_SGD = partial(_with_power, hook=power.batched_powerSGD_hook, rank=1)
    BATCHED_POWER_SGD_RANK2 = partial(_with_power, hook=power.batched_powerSGD_hook, rank=2)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register a hook with a `DistributedDataParallel`, by name; `state` is the process group."""
    comm_hook_type.value(model=model, state=state)
