"""Operators over lists of tensors, item by item (`mt_core.declarations.foreach`).

In place each item gets the node of its own operator, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from ..api import _functions as ops
from ..declarations.foreach import ITEMS
from ..dispatch.registry import Overload, find_overload
from ..dispatch.registry import register_composite as composite
from ..dtypes import float32, scalar_type_name
from ..promotion import result_type_of
from ..schema import MISSING, Schema
from ..state import tls

__all__: list[str] = []

Lists = Sequence[Sequence[Any]]


def _check_tensors(lists: Lists) -> None:
    first, *others = lists
    if not first:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in others:
        if len(other) != len(first):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(first)} and {len(other)}")


def _check_numbers(numbers: Sequence[Any], count: int) -> None:
    if len(numbers) != count:
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _check_pairs_of_matrices(lists: Lists) -> None:
    """`_foreach_mm` says the same in words of its own."""
    first, second = lists
    if not first:
        raise RuntimeError("_foreach_mm requires non-empty tensor lists")
    if len(first) != len(second):
        raise RuntimeError("_foreach_mm: self and mat2 must have the same number of tensors")


def _check_single(tensor: Any) -> None:
    if tensor.dim():
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {tensor.dim()} dimensions and {tensor.numel()} elements."
        )


def _unpacked(scalars: Any, count: int) -> list[Any]:
    """The numbers in a tensor of one dimension, one for each of `count` items."""
    if not scalars.is_contiguous():
        raise RuntimeError("Expected scalars to be contiguous.")
    if scalars.dim() != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.dim()} instead.")
    if len(scalars) != count:
        raise RuntimeError(
            f"Expected length of scalars to match input of length {count} but got {len(scalars)} instead."
        )
    return scalars.tolist()


class EachItem:
    """One operator over lists: which arguments are lists, and where each goes in the item's operator."""

    def __init__(self, overload: Overload, item: Overload) -> None:
        arguments = overload.schema.arguments
        self.cache = item.cache
        self.check = _check_pairs_of_matrices if item.name == "mm" else _check_tensors
        self.tensors = [i for i, a in enumerate(arguments) if a.is_tensor and a.is_list]
        self.numbers = [i for i, a in enumerate(arguments) if a.is_list and not a.is_tensor]
        self.packed = [i for i, a in enumerate(arguments) if a.is_tensor and not a.is_list and a.name == "scalars"]
        self.singles = [i for i, a in enumerate(arguments) if a.is_tensor and not a.is_list and a.name != "scalars"]
        self.writes = overload.schema.is_mutable
        self.places = _places(overload.schema, item.schema)
        self.tensor_places = [self.places[i] for i in (*self.tensors, *self.singles)]
        self.defaults = [() if a.default is MISSING else a.default for a in item.schema.arguments]

    def __call__(self, *args: Any) -> Any:
        made, cache, mode = [], self.cache, tls.mode
        for row in zip(*self.columns(args), strict=True):
            keys = mode
            for place in self.tensor_places:
                keys |= row[place]._keys
            made.append(cache[keys](*row))
        return None if self.writes else tuple(made)

    def columns(self, args: tuple[Any, ...]) -> list[Any]:
        """For each argument of the item's operator what the items have there; checked."""
        given, lists = list(args), [args[i] for i in self.tensors]
        count = len(lists[0])
        for i in self.packed:
            given[i] = _unpacked(args[i], count)
        self.check(lists)
        for i in self.numbers:
            _check_numbers(args[i], count)
        for i in self.singles:
            _check_single(args[i])
        per_item = {*self.tensors, *self.numbers, *self.packed}
        columns: list[Any] = [repeat(default, count) for default in self.defaults]
        for i, place in enumerate(self.places):
            columns[place] = given[i] if i in per_item else repeat(given[i], count)
        return columns


def _places(schema: Schema, item: Schema) -> list[int]:
    """Where each argument goes in the item's operator: to that of its name, else to that of its place."""
    names = [a.name for a in item.arguments]
    return [names.index(a.name) if a.name in names else i for i, a in enumerate(schema.arguments)]


def _carrying_out(overload: Overload, item: Overload) -> Callable[..., Any]:
    """What makes its `EachItem` at the first call: the item's family need not be loaded before."""
    made: list[EachItem] = []

    def run(*args: Any) -> Any:
        if not made:
            made.append(EachItem(overload, item))
        return made[0](*args)

    return run


#: Where PyTorch shares a gradient out at ties, as `maximum` does: these are no bounds then.
_SHARING = [f"_foreach_{name}.{form}" for name in ("maximum", "minimum") for form in ("Scalar", "ScalarList", "List")]

#: Written below.
_OF_THEIR_OWN = {*_SHARING, "_foreach_norm.Scalar", "_foreach_max"}

for _name, _item in ITEMS.items():
    if _name not in _OF_THEIR_OWN:
        composite(_name)(_carrying_out(find_overload(_name), find_overload(_item)))


def _extreme_of_number(function: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(tensor: Any, number: Any) -> Any:
        dtype = result_type_of((tensor, number))
        return function(tensor, ops.full((), number, dtype=dtype, device=tensor.device))

    return extreme


def _declare_extreme(name: str) -> None:
    """``name.Scalar``, ``name.ScalarList`` and ``name.List`` of `maximum` and `minimum`."""
    function: Callable[..., Any] = getattr(ops, name)
    of_number = _extreme_of_number(function)

    @composite(f"_foreach_{name}.Scalar")
    def scalar(self: Any, number: Any) -> Any:
        _check_tensors([self])
        return tuple(of_number(tensor, number) for tensor in self)

    @composite(f"_foreach_{name}.ScalarList")
    def scalars(self: Any, numbers: Any) -> Any:
        _check_tensors([self])
        _check_numbers(numbers, len(self))
        return tuple(of_number(tensor, number) for tensor, number in zip(self, numbers, strict=True))

    @composite(f"_foreach_{name}.List")
    def tensors(self: Any, other: Any) -> Any:
        _check_tensors([self, other])
        return tuple(map(function, self, other))


for _name in ("maximum", "minimum"):
    _declare_extreme(_name)


@composite("_foreach_norm.Scalar")
def foreach_norm(self: Any, ord: Any, dtype: Any) -> Any:
    """self [(*S)] -> [()]: the norm of order `ord` of all elements."""
    _check_tensors([self])
    if ord == float("inf") and any(tensor.numel() == 0 for tensor in self):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an "
            "identity"
        )
    return tuple(ops.linalg_vector_norm(tensor, ord, dtype=dtype) for tensor in self)


@composite("_foreach_max")
def foreach_max(self: Any) -> Any:
    """self [(*S)] -> [()]."""
    _check_tensors([self])
    if any(tensor.numel() == 0 for tensor in self):
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined."
        )
    return tuple(ops.max(tensor) for tensor in self)


@composite("_foreach_powsum.Scalar")
def foreach_powsum(self: Any, ord: Any, dtype: Any) -> Any:
    """self [(*S)] -> [()]: sum of abs(element)**ord."""
    _check_tensors([self])
    for tensor in self:
        if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            raise NotImplementedError(f"\"powsum_cpu\" not implemented for '{scalar_type_name(tensor.dtype)}'")
    return tuple(ops.pow(ops.abs(tensor.to(dtype or tensor.dtype)), ord).sum() for tensor in self)


@composite("_amp_foreach_non_finite_check_and_unscale_")
def amp_non_finite_check_and_unscale(self: Any, found_inf: Any, inv_scale: Any) -> None:
    """self [(*S)], found_inf (1), inv_scale (1): gradients are multiplied, and `found_inf` becomes 1 or stays."""
    for name, tensor in (("inv_scale", inv_scale), ("found_inf", found_inf)):
        if tensor.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
    for name, tensor in (("inv_scale", inv_scale), ("found_inf", found_inf)):
        if tensor.dtype is not float32:
            raise RuntimeError(f"{name} must be a float tensor.")
    for gradient in self:
        if not gradient.dtype.is_floating_point:
            raise NotImplementedError(
                '"_amp_foreach_non_finite_check_and_unscale_cpu" not implemented for '
                f"'{scalar_type_name(gradient.dtype)}'"
            )
        if not bool(ops.isfinite(gradient).all()):
            found_inf.fill_(1)
        gradient.mul_(inv_scale.to(gradient.dtype).reshape(()))
