"""Nested tensors like others."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core.formats import contiguous_format, preserve_format, strided

from ..layouts import contiguous_layout
from ..strided_tensor import RULES, around, like


@RULES.rule("zeros_like", "ones_like", "randn_like", "empty_like")
def made_like(overload: Any, self: Any, *args: Any) -> Any:
    names = [argument.name for argument in overload.schema.arguments][1:]
    given = dict(zip(names, args))
    if given["layout"] not in (None, strided):
        raise RuntimeError(f"{overload.name}: the layout {given['layout']} is not supported for nested tensors")
    form = given["memory_format"]
    if form not in (None, contiguous_format, preserve_format):
        name = {"torch.channels_last": "ChannelsLast", "torch.channels_last_3d": "ChannelsLast3d"}[str(form)]
        raise RuntimeError(
            f"{overload.name}_nested only supports memory format Preserve or Contiguous, but got {name} instead."
        )
    placed = self._array.placed
    if overload.name != "empty_like" and not placed.is_contiguous():
        raise RuntimeError("NestedTensor must be contiguous to get buffer.")
    given["layout"] = given["memory_format"] = None
    kept = placed.is_contiguous() or self._array.covered and form is not contiguous_format
    template = mt.empty(sum(placed.numels()), dtype=self._array.data.dtype, device=self._array.data.device)
    made = overload.call(template, *given.values())
    return like(self, made) if kept else around(made, contiguous_layout(placed.sizes))
