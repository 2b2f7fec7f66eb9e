"""``torch.Tag``: words about an operator that other parts may ask for."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

__all__ = ["Tag", "as_tags"]

_NAMES = """
    core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view
    maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order
    nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy
"""

Tag = IntEnum("Tag", _NAMES.split(), module=__name__, start=0)  # type: ignore[misc]


def as_tags(tags: Tag | Iterable[Tag] | None) -> tuple[Tag, ...]:
    """A tuple of tags from one, several or none."""
    if tags is None:
        return ()
    return (tags,) if isinstance(tags, Tag) else tuple(tags)
