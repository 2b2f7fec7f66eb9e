"""Functions of parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_core import Tensor

from .. import constraints
from ..utils import lazy_property, sum_rightmost
from .base import Transform

__all__ = ["CatTransform", "StackTransform"]


class _Joined(Transform):
    """Functions of parts of a tensor along a dimension."""

    transforms: list[Transform]

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(t.bijective for t in self.transforms)

    def _require_dim(self, *tensors: Tensor) -> None:
        for tensor in tensors:
            if not -tensor.dim() <= self.dim < tensor.dim():
                raise AssertionError(f"dim {self.dim} out of range for tensor with {tensor.dim()} dimensions")


class CatTransform(_Joined):
    """Functions of stretches of `lengths` along `dim`, one after the other."""

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:  # type: ignore[override]
        """The greatest of the functions."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """How long all stretches are together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _stretches(self, tensor: Tensor) -> list[Tensor]:
        self._require_dim(tensor)
        if tensor.size(self.dim) != self.length:
            raise AssertionError(f"Size of tensor along dim {self.dim} is {tensor.size(self.dim)}, not {self.length}")
        return list(tensor.split(self.lengths, self.dim))

    def _call(self, x: Tensor) -> Tensor:
        return mt.cat([t(part) for t, part in zip(self.transforms, self._stretches(x))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return mt.cat([t.inv(part) for t, part in zip(self.transforms, self._stretches(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        logs = []
        for t, x_part, y_part in zip(self.transforms, self._stretches(x), self._stretches(y)):
            log = t.log_abs_det_jacobian(x_part, y_part)
            if t.event_dim < self.event_dim:
                log = sum_rightmost(log, self.event_dim - t.event_dim)
            logs.append(log)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim = dim + self.event_dim
        return mt.cat(logs, dim=dim) if dim < 0 else sum(logs)  # type: ignore[return-value]

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        """The arguments of the functions, joined."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        """The results of the functions, joined."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Functions of the slices along `dim`."""

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slice(self, z: Tensor) -> list[Tensor]:
        return [z.select(self.dim, i) for i in range(z.size(self.dim))]

    def _slices(self, tensor: Tensor) -> list[Tensor]:
        self._require_dim(tensor)
        if tensor.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"Size of tensor along dim {self.dim} is {tensor.size(self.dim)}, not {len(self.transforms)}"
            )
        return self._slice(tensor)

    def _call(self, x: Tensor) -> Tensor:
        return mt.stack([t(part) for t, part in zip(self.transforms, self._slices(x))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return mt.stack([t.inv(part) for t, part in zip(self.transforms, self._slices(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        logs = [
            t.log_abs_det_jacobian(x_part, y_part)
            for t, x_part, y_part in zip(self.transforms, self._slices(x), self._slices(y))
        ]
        return mt.stack(logs, dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        """The arguments of the functions, stacked."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        """The results of the functions, stacked."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
