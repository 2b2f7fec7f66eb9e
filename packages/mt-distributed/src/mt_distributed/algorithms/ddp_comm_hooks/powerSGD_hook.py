"""PowerSGD, which is not supported: its names are here for the libraries that import them beside other hooks."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


def _refused(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook.{name} is not supported by mindtorch: "
        "default_hooks has hooks that compress"
    )


class PowerSGDState:
    """Not supported: making one raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _refused("PowerSGDState")


def powerSGD_hook(state: Any, bucket: Any) -> NoReturn:
    """Not supported: raises NotImplementedError."""
    raise _refused("powerSGD_hook")


def batched_powerSGD_hook(state: Any, bucket: Any) -> NoReturn:
    """Not supported: raises NotImplementedError."""
    raise _refused("batched_powerSGD_hook")
