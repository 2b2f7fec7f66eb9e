"""Derivatives of bags of rows."""

from __future__ import annotations

from ..rules import non_differentiable
from ._parts import derivative_of_parts

for _overload, _node in (
    ("embedding_bag", None),
    ("embedding_bag.padding_idx", "EmbeddingBagBackward0"),
    ("_embedding_bag", None),
):
    derivative_of_parts(
        _overload, "weight", "per_sample_weights", node=_node, differentiable_outputs=(True, False, False, False)
    )
non_differentiable("_rowwise_prune")
