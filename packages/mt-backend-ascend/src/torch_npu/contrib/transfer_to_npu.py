"""``from torch_npu.contrib import transfer_to_npu``: programs for CUDA run on the device ``npu`` from here on.

Wherever ``cuda`` names a device, it is ``npu``: in ``torch.device("cuda:0")``, ``tensor.to("cuda")``, ``device=`` of
factories, ``torch.autocast("cuda")``. ``Tensor.cuda``, ``Tensor.is_cuda`` and ``Module.cuda`` are those of ``npu``, and
so is every function of ``torch.cuda`` that ``torch.npu`` has. A process group over ``nccl`` is one over ``hccl``. This
cannot be undone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch as torch
from mt_core.plugins.runtime_access import RENAMED

__all__: list[str] = []


def _autocast_of_npu(make: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(make)
    def init(self: Any, device_type: Any, *args: Any, **kwargs: Any) -> None:
        make(self, "npu" if device_type == "cuda" else device_type, *args, **kwargs)

    return init


def _group_over_hccl(join: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(join)
    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(backend, str):
            backend = backend.replace("nccl", "hccl").replace("cuda:", "npu:")
        return join(backend, *args, **kwargs)

    return init_process_group


def _transfer() -> None:
    device_module = torch.npu
    RENAMED["cuda"] = "npu"
    for name in dir(torch.cuda):
        if not name.startswith("_") and hasattr(device_module, name):
            setattr(torch.cuda, name, getattr(device_module, name))
    for owner in (torch.Tensor, torch.nn.Module):
        owner.cuda = owner.npu
    torch.Tensor.is_cuda = torch.Tensor.is_npu
    torch.autocast.__init__ = _autocast_of_npu(torch.autocast.__init__)
    if torch.distributed.is_available():
        torch.distributed.init_process_group = _group_over_hccl(torch.distributed.init_process_group)


_transfer()
