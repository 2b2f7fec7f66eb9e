"""Checks of functions that take sparse tensors: by the values that make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.autograd_state import no_grad

__all__ = ["by_values", "tells_zeros_apart", "with_sparse_support"]


def _is_checked(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout is not mt.strided and value.requires_grad


def _all_elements(x: Tensor) -> Tensor:
    """A sparse tensor of the layout of another that holds all elements, the zeros too."""
    full = x.detach().to_dense()
    ones = mt.ones(full.shape, dtype=full.dtype, device=full.device)
    if x.layout is mt.sparse_coo:
        pattern = ones.to_sparse(x.sparse_dim()).coalesce()
    else:
        pattern = ones.to_sparse(layout=x.layout, dense_dim=x.dense_dim())
    return full.sparse_mask(pattern)


def _taken_apart(x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """The values of a sparse tensor, and what makes such a tensor of them."""
    shape = x.shape
    if x.layout is mt.sparse_coo:
        values, indices, coalesced = x._values(), x._indices(), x.is_coalesced()
        return values, lambda given: mt.sparse_coo_tensor(indices, given, shape, is_coalesced=coalesced)
    by_rows = x.layout is mt.sparse_csr
    pointers, plain = (x.crow_indices(), x.col_indices()) if by_rows else (x.ccol_indices(), x.row_indices())
    layout = x.layout
    return x.values(), lambda given: mt.sparse_compressed_tensor(pointers, plain, given, shape, layout=layout)


def by_values(func: Callable[..., Any], inputs: Sequence[Any], masked: bool) -> tuple[Callable[..., Any], list[Any]]:
    """A function of values in place of one of sparse tensors, and its inputs.

    Parameters
    ----------
    func, inputs
        Sparse tensors that require grad are taken for their values.
    masked
        Whether only the elements count that a sparse tensor holds; otherwise all do, and it is made to hold them.
    """
    taken: list[Any] = []
    makers: list[Callable[[Tensor], Tensor] | None] = []
    for one in inputs:
        if not _is_checked(one):
            taken.append(one)
            makers.append(None)
            continue
        values, maker = _taken_apart(one.detach() if masked else _all_elements(one))
        taken.append(values.detach().clone().requires_grad_())
        makers.append(maker)

    def of_values(*args: Any) -> Any:
        return func(*[arg if maker is None else maker(arg) for arg, maker in zip(args, makers, strict=True)])

    return of_values, taken


def tells_zeros_apart(func: Callable[..., Any], inputs: Sequence[Any]) -> bool:
    """Whether a function makes something else of sparse inputs that hold all elements, the zeros too."""
    if not any(map(_is_checked, inputs)):
        return False
    with no_grad():
        found, expected = (
            func(*[change(one) if _is_checked(one) else one for one in inputs])
            for change in (lambda one: one.detach(), _all_elements)
        )
    pairs = zip(*(one if isinstance(one, (tuple, list)) else [one] for one in (found, expected)), strict=True)
    return any(
        isinstance(a, Tensor)
        and a.layout is mt.strided
        and (a.shape != b.shape or not mt.allclose(a, b, equal_nan=True))
        for a, b in pairs
    )


def with_sparse_support(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """A check that takes functions of sparse tensors, and sparse results, on top of one that takes neither.

    Parameters
    ----------
    gradcheck
        ``torch.autograd.gradcheck``, or a function with its arguments.
    """

    def check(func: Callable[..., Any], inputs: Any, masked: bool = False, **kwargs: Any) -> Any:
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        of_values, taken = by_values(func, given, masked)

        def dense(result: Any) -> Any:
            if isinstance(result, (list, tuple)):
                return tuple(dense(one) for one in result)
            if isinstance(result, Tensor) and result.layout is not mt.strided and result.requires_grad:
                return result.to_dense(masked_grad=masked)
            return result

        return gradcheck(lambda *args: dense(of_values(*args)), tuple(taken), **kwargs)

    return check
