"""Batching rules: activations that are not elementwise."""

from __future__ import annotations

from typing import Any

from ...shape_rules.activation_softmax import check_mask
from ..batched import Lanes
from ._lanes import along
from ._rules import Batch, batching_rule, leading, over_dims, shifted_dims

over_dims("_softmax", "_log_softmax", "glu")
along("_softmax_backward_data", "_log_softmax_backward_data", "glu_backward")
leading("log_sigmoid_forward")


@batching_rule("_prelu_kernel_backward")
def prelu_backward(batch: Batch, grad_output: Lanes, self: Lanes, weight: Lanes) -> Any:
    return batch.overload.call(grad_output.spread(batch.size), self.spread(batch.size), weight.at_rank(self.rank))


@batching_rule("_masked_softmax")
def masked_softmax(batch: Batch, self: Lanes, mask: Lanes, dim: int | None, mask_type: int | None) -> Any:
    if not self.rank:
        return NotImplemented
    return batch.overload.call(*_with_mask(batch, self, mask, mask_type), _dim(dim, self.rank), None)


@batching_rule("_masked_softmax_backward")
def masked_softmax_backward(batch: Batch, grad_output: Lanes, output: Lanes, mask: Lanes, dim: int | None) -> Any:
    if not output.rank:
        return NotImplemented
    tensors = [lanes.spread(batch.size) for lanes in (grad_output, output, mask)]
    return batch.overload.call(*tensors, _dim(dim, output.rank))


def _with_mask(batch: Batch, self: Lanes, mask: Lanes, mask_type: int | None) -> tuple[Any, Any]:
    """The tensor and a mask of its shape, with lanes in front."""
    value, hidden = self.spread(batch.size), mask.spread(batch.size)
    if mask.shape != self.shape:
        seen = self.value if self.dim is None else self.value.select(self.dim, 0)
        check_mask(seen, mask.value if mask.dim is None else mask.value.select(mask.dim, 0), mask_type)
        hidden = (hidden.unsqueeze(2) if mask_type == 1 else hidden.unsqueeze(1)).unsqueeze(2 if mask_type else 1)
    return value, hidden.expand(value.shape).contiguous()


def _dim(dim: int | None, rank: int) -> Any:
    return shifted_dims(-1 if dim is None else dim, rank)
