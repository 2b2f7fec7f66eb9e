"""The device type ``xla``: tensors in mutable boxes around jax's arrays, which do not change."""

from __future__ import annotations

__all__: list[str] = []
