"""``torch.distributed._functional_collectives``: collectives with new results, as operators.

- `operators`: the operators of ``torch.ops._c10d_functional``, what they do, their shapes and derivatives.
- `waiting`: what was begun and not waited for yet; `AsyncCollectiveTensor`, a result that waits when it is used.
- `collectives`: the functions that programs call.
"""

from .collectives import (
    all_gather_into_tensor_coalesced,
    all_gather_tensor,
    all_gather_tensor_autograd,
    all_reduce,
    all_reduce_coalesced,
    all_to_all_single,
    all_to_all_single_autograd,
    broadcast,
    permute_tensor,
    reduce_scatter_tensor,
    reduce_scatter_tensor_autograd,
    reduce_scatter_tensor_coalesced,
    wait_tensor,
)
from .waiting import AsyncCollectiveTensor

__all__ = [
    "AsyncCollectiveTensor",
    "all_gather_into_tensor_coalesced",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced",
    "wait_tensor",
]
