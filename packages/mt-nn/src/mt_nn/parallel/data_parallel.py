"""`DataParallel`: a module whose batches may be divided among devices."""

from collections.abc import Sequence
from typing import Any

import mt_core as mt

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls a module with its whole input: there is no device to divide batches among.

    It keeps the names (``module.*``) that models saved from a `DataParallel` have.

    Parameters
    ----------
    module
        The module.
    device_ids
        The devices; none, or one.
    output_device
        Where results go.
    dim
        The dimension along which inputs would be divided.

    Raises
    ------
    NotImplementedError
        More than one device is asked for.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | mt.device] | None = None,
        output_device: int | mt.device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError(
                f"DataParallel over {len(device_ids)} devices is not implemented; use one device, or device_ids=None"
            )
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[int | mt.device] | None = None,
    output_device: int | mt.device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a module with its whole input, as `DataParallel` does."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
