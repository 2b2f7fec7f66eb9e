"""``import torch_npu`` for programs that are written for PyTorch on Ascend.

The device ``npu`` itself is mt-backend-ascend's, with or without this module. Here are the operators ``npu_*`` that
programs use most, as operators of the namespace ``npu`` (``torch.ops.npu.npu_rms_norm``) that are written in others:
they run on every device and have gradients. ``torch_npu.contrib.transfer_to_npu`` lets programs for CUDA run on
``npu``. What else PyTorch's torch_npu has raises AttributeError and names itself.
"""

from __future__ import annotations

import sys
from typing import Any

import mindtorch as torch

from . import _amp, _attention, _dense, _formats, _norms
from ._attention import *  # noqa: F403 - every operator, as the module lists them
from ._dense import *  # noqa: F403
from ._formats import *  # noqa: F403
from ._norms import *  # noqa: F403

# ``from torch_npu.npu.amp import autocast`` and ``torch.npu.amp``, as programs name them.
torch.npu.amp = _amp
sys.modules.update({"torch_npu.npu": torch.npu, "torch_npu.npu.amp": _amp, "mindtorch.npu.amp": _amp})

if torch.distributed.is_available():
    from ._hccl import register

    register()

__all__ = [*_attention.__all__, *_dense.__all__, *_formats.__all__, *_norms.__all__]
#: The schemas are those of op-plugin (`op_plugin_functions.yaml` of Ascend/op-plugin, August 2026).
__version__ = "2.13.0"


def __getattr__(name: str) -> Any:
    if name in ("npu", "distributed"):  # found when they are asked for: a device may be registered later
        return getattr(torch, name)
    if name == "contrib":
        from . import contrib  # lazy: few programs use it

        return contrib
    raise AttributeError(
        f"torch_npu.{name} is not there: mindtorch's torch_npu has {len(__all__)} operators "
        f"({', '.join(__all__[:3])} ...), npu, distributed and contrib.transfer_to_npu"
    )
