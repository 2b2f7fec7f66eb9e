"""Operators on complex numbers written in other operators."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..cell import cell_of
from ..dispatch.registry import register_composite as composite


@composite("real")
def real(self: Any) -> Any:
    if not self.is_complex():
        return self
    return ops.view_as_real(ops._conj(self) if self.is_conj() else self).select(self.dim(), 0)


@composite("imag")
def imag(self: Any) -> Any:
    if not self.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if self.is_conj():
        return ops._neg_view(ops.view_as_real(ops._conj(self))).select(self.dim(), 1)
    return ops.view_as_real(self).select(self.dim(), 1)


@composite("conj")
def conj(self: Any) -> Any:
    return ops._conj(self) if self.is_complex() else self


@composite("conj_physical")
def conj_physical(self: Any) -> Any:
    return ops._conj_physical(self) if self.is_complex() else self


@composite("conj_physical_", explicit=True)
def conj_physical_(self: Any) -> Any:
    if self.is_complex():
        return self.copy_(ops._conj_physical(self))
    cell_of(self).version += 1
    return self


@composite("resolve_conj")
def resolve_conj(self: Any) -> Any:
    return self.clone() if self.is_conj() else self


@composite("resolve_neg")
def resolve_neg(self: Any) -> Any:
    return self.clone() if self.is_neg() else self
