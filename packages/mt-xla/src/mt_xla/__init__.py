"""Programs compiled by XLA, through `jax`: a backend of ``torch.compile``."""

from __future__ import annotations

__all__: list[str] = []
