"""What operators do to masked tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.dispatch.registry import find_overload

from ..._compound.layer import elements
from .. import _ops
from .core import RULES, MaskedTensor, masked, with_values
from .matching import refuse_other_layout, same_masks

__all__ = ["RULES"]


def _parts(value: Any) -> tuple[Any, Any]:
    """Elements and mask of an argument, or the argument twice; of lists, item by item."""
    if isinstance(value, MaskedTensor):
        return elements(value), value._array.mask
    if isinstance(value, (list, tuple)) and any(isinstance(one, MaskedTensor) for one in value):
        pairs = [_parts(one) for one in value]
        return [data for data, _ in pairs], [mask for _, mask in pairs]
    return value, value


def _told(value: Any) -> tuple[Any, Any]:
    """As `_parts`, of sparse layouts the tensors of that layout."""
    if isinstance(value, MaskedTensor) and value.layout is not mt.strided:
        return value._array.whole(elements(value)), value._array.pattern
    return _parts(value)


def _mask_of_all(args: Any) -> Tensor:
    """The mask that all masked tensors have, beside their elements.

    Raises
    ------
    ValueError
        Where they have several, or several layouts, in PyTorch's words.
    """
    first, *others = [arg._array for arg in args if isinstance(arg, MaskedTensor)]
    for other in others:
        refuse_other_layout(first, other)
        if not same_masks(first, other):
            raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    return first.mask  # type: ignore[no-any-return]


def _beside(mask: Tensor, value: Any) -> Any:
    """The elements of a masked tensor; an ordinary one so that only what is beside elements that are there counts.

    Its gradient elsewhere is 0, even where that of the operator is NaN.
    """
    if isinstance(value, Tensor) and not isinstance(value, MaskedTensor) and value.layout is not mt.strided:
        value = (value.coalesce() if value.layout is mt.sparse_coo else value).values()
    if not isinstance(value, Tensor) or isinstance(value, MaskedTensor) or not value.requires_grad:
        return _parts(value)[0]
    return mt.where(mask, value, value.detach())


def _refuse_ordinary(first: Any, args: Any) -> None:
    """Refuse ordinary tensors beside one of a sparse layout whose values are not beside its own.

    Raises
    ------
    ValueError
        For other layouts, and other indices.
    """
    for arg in args:
        if not isinstance(arg, Tensor) or isinstance(arg, MaskedTensor) or not arg.dim():
            continue
        refuse_other_layout(first._array, arg)
        if arg.layout is mt.sparse_coo:
            theirs, ours = [arg.coalesce().indices()], [first._array.pattern.indices()]
        elif arg.layout is mt.sparse_csr:
            theirs = [arg.crow_indices(), arg.col_indices()]
            ours = [first._array.pattern.crow_indices(), first._array.pattern.col_indices()]
        else:
            continue
        if not all(a.shape == b.shape and mt.equal(a, b) for a, b in zip(theirs, ours, strict=True)):
            raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")


def pointwise(overload: Any) -> Callable[..., Any]:
    """The callable for an elementwise operator: it works on all elements."""

    def run(*args: Any) -> Any:
        mask = _mask_of_all(args)
        first = next(arg for arg in args if isinstance(arg, MaskedTensor))
        _refuse_ordinary(first, args)
        made = overload.call(*[_beside(mask, arg) for arg in args])
        if first.layout is not mt.strided:
            return with_values(first._array.pattern, made)
        return masked(made, mask if mask.shape == made.shape else mask.expand(made.shape))

    return run


RULES.elementwise = pointwise


@RULES.rule(
    "alias", "as_strided", "diagonal", "expand", "permute", "select.int", "slice.Tensor", "split.Tensor",
    "split_with_sizes", "squeeze", "squeeze.dim", "squeeze.dims", "transpose.int", "unbind.int", "unfold", "unsqueeze",
    "view", "_unsafe_view", "_reshape_alias", "t", "cat", "stack", "flip", "roll", "index_select", "repeat", "gather",
)  # fmt: skip
def moved(overload: Any, *args: Any) -> Any:
    """Operators that move elements: the mask goes with them."""
    both = [_told(arg) for arg in args]
    if overload.name in ("cat", "stack") and not all(isinstance(one, MaskedTensor) for one in args[0]):
        raise TypeError(f"{overload.name}: masked tensors are joined with masked tensors only")
    data, mask = (overload.call(*[pair[which] for pair in both]) for which in (0, 1))
    if isinstance(data, Tensor):
        return masked(data, mask)
    return type(data)([masked(*pair) for pair in zip(data, mask, strict=True)])


@RULES.rule("index.Tensor")
def index(overload: Any, self: Any, indices: Any) -> Any:
    return moved(overload, self, indices)


@RULES.rule(
    "clone", "contiguous", "_to_copy", "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like",
    "dropout",
)  # fmt: skip
def kept(overload: Any, self: Any, *args: Any) -> Any:
    """Copies, and tensors like others: the mask is that of the first."""
    data, mask = elements(self), self._array.mask
    if self.layout is not mt.strided:
        if overload.name == "contiguous":
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        if overload.name not in ("clone", "_to_copy"):
            raise RULES.refused(overload.name)
        return with_values(self._array.pattern, overload.call(data, *args))
    made = overload.call(data, *args)
    if made is data:
        return self
    if overload.name == "clone":
        mask = mask.clone()
    return masked(made, mask if mask.device == made.device else mask.to(made.device))


@RULES.rule("detach")
def detach(overload: Any, self: Any) -> Any:
    return self.detach()


@RULES.rule("copy_")
def copy_(overload: Any, self: Any, src: Any, non_blocking: bool) -> Any:
    _mask_of_all((self, src))
    if not isinstance(self, MaskedTensor):
        raise TypeError("copy_: a masked tensor cannot be copied to an ordinary one; use to_tensor(value)")
    if self.requires_grad or src.requires_grad:
        raise NotImplementedError("copy_ of masked tensors is not differentiable here")
    data = overload.call(self._array.data.clone(), _parts(src)[0], non_blocking)
    self._array.take(self._array.with_data(data))
    return self


@RULES.rule("where.self")
def where(overload: Any, condition: Any, self: Any, other: Any) -> Any:
    if any(isinstance(one, Tensor) and one.layout is not mt.strided for one in (condition, self, other)):
        raise RULES.refused("where.self")
    if isinstance(condition, MaskedTensor):
        raise TypeError("where: the condition must be an ordinary tensor")
    everywhere = mt.ones([], dtype=mt.bool, device=condition.device)
    (x, x_mask), (y, y_mask) = (
        _parts(one) if isinstance(one, MaskedTensor) else (one, everywhere) for one in (self, other)
    )
    return masked(overload.call(condition, x, y), mt.where(condition, x_mask, y_mask))


@RULES.rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(overload: Any, *args: Any) -> Any:
    return pointwise(overload)(*args)


def _reduced(function: Any, self: Any, dims: Any, keepdim: bool, **options: Any) -> Any:
    name = function.__name__
    if self.layout is not mt.strided:
        if dims is not None:
            raise TypeError(
                f"Multiple dispatch failed for 'torch.Tensor.{name}'; all __torch_function__ handlers returned "
                f"NotImplemented: no dim= for MaskedTensor of the layout {self.layout}"
            )
        if name in ("argmax", "argmin"):  # an index of all elements, not of the values
            self = self.to_dense()
    data, mask = elements(self), self._array.mask
    made = function(data, dims, keepdim=keepdim, mask=mask, **options)
    return masked(made.to(data.dtype), _ops._output_mask(function, data, dims, keepdim=keepdim, mask=mask))


def _enter_reductions() -> None:
    """Reductions of the elements that are there, in the dtype of these; where there is none, none is left."""
    for name in ("sum", "mean", "prod", "amax", "amin", "argmax", "argmin"):
        function = getattr(_ops, name)
        one_dim = name in ("argmax", "argmin", "prod")

        def over_dims(overload: Any, self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, *,
                      function: Any = function, one_dim: bool = one_dim) -> Any:  # fmt: skip
            if dtype is not None:
                raise TypeError(f"{overload.name}: dtype= is not supported for MaskedTensor")
            dims = dim if one_dim or dim is None else tuple(dim) or None
            return _reduced(function, self, dims, keepdim)

        forms = {"prod": ["prod.dim_int"], "sum": ["sum.dim_IntList"], "mean": ["mean.dim"]}.get(name, [name])
        RULES.rule(*forms)(over_dims)
        if name in ("sum", "mean", "prod"):

            def whole(overload: Any, self: Any, dtype: Any = None, *, function: Any = function) -> Any:
                if dtype is not None:
                    raise TypeError(f"{overload.name}: dtype= is not supported for MaskedTensor")
                return _reduced(function, self, None, False)

            RULES.rule(name)(whole)
    for name in ("var", "std"):
        function = getattr(_ops, name)

        def spread(
            overload: Any, self: Any, dim: Any, correction: Any, keepdim: bool, *, function: Any = function
        ) -> Any:
            if correction not in (None, 0, 1):
                raise TypeError(f"{overload.name}: correction={correction} is not supported for MaskedTensor")
            return _reduced(function, self, None if dim is None else tuple(dim), keepdim, unbiased=correction != 0)

        RULES.rule(f"{name}.correction")(spread)

        def spread_of_all(overload: Any, self: Any, unbiased: bool = True, *, function: Any = function) -> Any:
            return _reduced(function, self, None, False, unbiased=unbiased)

        RULES.rule(name)(spread_of_all)

        def spread_over(overload: Any, self: Any, dim: Any, unbiased: bool = True, keepdim: bool = False, *,
                        function: Any = function) -> Any:  # fmt: skip
            return _reduced(function, self, None if dim is None else tuple(dim), keepdim, unbiased=unbiased)

        RULES.rule(f"{name}.dim")(spread_over)


_enter_reductions()


@RULES.rule("all", "all.dim", "all.dims", "any", "any.dim", "any.dims")
def truth(overload: Any, self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Elements that are not there do not count."""
    if self.layout is not mt.strided:
        raise RULES.refused(overload.name)
    data, mask = elements(self), self._array.mask
    neutral = overload.name.startswith("all")
    given = () if dim is None and overload.name in ("all", "any") else (dim, keepdim)
    found = overload.call(data.masked_fill(~mask, neutral), *given)
    there = find_overload(overload.name.replace("all", "any")).call(mask, *given)
    return masked(found, there)


@RULES.rule("_softmax", "_log_softmax")
def softmax(overload: Any, self: Any, dim: int, half_to_float: bool) -> Any:
    if self.layout is not mt.strided:
        raise RULES.refused(overload.name)
    function = _ops.softmax if overload.name == "_softmax" else _ops.log_softmax
    return masked(function(elements(self), dim, mask=self._array.mask), self._array.mask)
