"""``torch.distributed.tensor``: tensors that are spread over the ranks of a mesh.

- `placement_types`, `spec`: where elements lie. `redistribution`: from some placements to others.
- `_api`: `DTensor`, `distribute_tensor`, `distribute_module`; `factories`: ``zeros`` and the like.
- `dispatching`: what an operator does to them. `strategies`: how a rule is written and chosen; `rules`: those that
  there are, by family; `special`: operators that are more than that.
"""

from . import dispatching as _dispatching  # noqa: F401 - it enters what carries operators out
from ._api import DTensor, distribute_module, distribute_tensor
from .factories import empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full",
    "ones", "rand", "randn", "zeros",
]  # fmt: skip
