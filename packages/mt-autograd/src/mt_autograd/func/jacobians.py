"""Jacobians, by ``vmap`` over the rows or the columns of the identity."""

from __future__ import annotations

__all__: list[str] = []
