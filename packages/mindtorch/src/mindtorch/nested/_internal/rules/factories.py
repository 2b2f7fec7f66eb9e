"""Nested tensors like others."""

from __future__ import annotations

from typing import Any

from mt_core.formats import jagged, strided

from ..nested_tensor import RULES, like


@RULES.rule("zeros_like", "ones_like", "empty_like", "full_like")
def like_factory(overload: Any, self: Any, *args: Any) -> Any:
    return _made(overload, self, args)


@RULES.rule("rand_like", "randn_like", "randint_like", "randint_like.low_dtype")
def random_like(overload: Any, self: Any, *args: Any) -> Any:
    return _made(overload, self, args)


def _made(overload: Any, self: Any, args: tuple[Any, ...]) -> Any:
    names = [argument.name for argument in overload.schema.arguments][1:]
    given = dict(zip(names, args))
    if given["layout"] not in (None, jagged, strided):
        raise RuntimeError(f"{overload.name}: the layout {given['layout']} is not supported for NestedTensor")
    if given.get("device") is not None and given["device"] != self.device:
        raise NotImplementedError(f"{overload.name}: a NestedTensor on another device is not supported")
    given["layout"] = None
    return like(self, overload.call(self._array.data, *given.values()))


@RULES.rule("new_empty", "new_zeros", "new_ones", "new_full")
def new(overload: Any, self: Any, size: Any, *args: Any) -> Any:
    if len(size):
        raise RuntimeError("new_empty() not supported for NJT with shape != ()")
    return overload.call(self._array.data, size, *args)
