"""``torch.distributed._functional_collectives``: collectives with new results, which are not supported."""

from __future__ import annotations

from .._unsupported import unsupported_function

__all__ = ["all_to_all_single_autograd", "wait_tensor"]

_REMEDY = "torch.distributed.nn.functional has collectives with new results and gradients."

all_to_all_single_autograd = unsupported_function(
    "torch.distributed._functional_collectives.all_to_all_single_autograd", _REMEDY
)
wait_tensor = unsupported_function("torch.distributed._functional_collectives.wait_tensor", _REMEDY)
