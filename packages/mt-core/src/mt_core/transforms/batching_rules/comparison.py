"""Comparisons of whole tensors: batching rules."""

from __future__ import annotations

from typing import Any, NoReturn

from ..batched import Lanes
from ._rules import Batch, batching_rule, rows_of


@batching_rule("allclose")
def allclose(batch: Batch, *args: Any) -> NoReturn:
    raise RuntimeError(
        "vmap over torch.allclose isn't supported yet. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature."
    )


@batching_rule("equal")
def equal(batch: Batch, *args: Any) -> NoReturn:
    raise RuntimeError("Batching rule not implemented for aten::equal. We could not generate a fallback.")


@batching_rule("isin.Tensor_Tensor")
def isin(batch: Batch, elements: Lanes, test_elements: Lanes, assume_unique: bool, invert: bool) -> Any:
    """Each element of a lane against each that it is looked for among: (batch, elements, tested)."""
    if test_elements.dim is None:
        return batch.overload.call(elements.front(), test_elements.value, False, invert)
    tested = rows_of(test_elements).unsqueeze(1)
    found = (elements.spread(batch.size).reshape(batch.size, -1, 1) == tested).any(-1)
    return (~found if invert else found).reshape(batch.size, *elements.shape)
