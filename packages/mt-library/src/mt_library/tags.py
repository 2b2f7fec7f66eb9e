"""``torch.Tag``: words about an operator that other parts may ask for."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

__all__ = ["Tag", "as_tags", "tags_of_built_in"]


class Tag(Enum):
    """A word about an operator. As PyTorch's, a tag is no number, though `int` gives one."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


def as_tags(tags: Tag | Iterable[Tag] | None) -> tuple[Tag, ...]:
    """A tuple of tags from one, several or none.

    Raises
    ------
    TypeError
        For something else.
    """
    if tags is None:
        return ()
    found = (tags,) if isinstance(tags, Tag) else tuple(tags)
    for tag in found:
        if not isinstance(tag, Tag):
            raise TypeError(f"the tags of an operator must be of the type torch.Tag, not {type(tag).__name__}")
    return found


@functools.cache
def _built_in() -> dict[str, tuple[Tag, ...]]:
    groups = json.loads(Path(__file__).with_name("_aten_tags.json").read_text())
    return {name: tuple(Tag[tag] for tag in tags.split()) for tags, names in groups.items() for name in names.split()}


def tags_of_built_in(name: str) -> tuple[Tag, ...]:
    """The tags that PyTorch gives to an operator of its own: ``"add.Tensor"``."""
    return _built_in().get(name, ())
