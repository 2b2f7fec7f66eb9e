"""``torch.fx.passes.utils``: finding parts of graphs."""

from __future__ import annotations

from ...._lazy import lazy_submodules

__getattr__, __dir__ = lazy_submodules(__name__, "common fuser_utils matcher_utils")
