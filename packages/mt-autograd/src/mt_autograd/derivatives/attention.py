"""Derivatives of attention."""

from __future__ import annotations

from ._parts import derivative_of_parts

derivative_of_parts("_safe_softmax", "self")
