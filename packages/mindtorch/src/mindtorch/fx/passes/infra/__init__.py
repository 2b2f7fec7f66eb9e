"""``torch.fx.passes.infra``: running passes one after another."""

from __future__ import annotations

from ...._lazy import lazy_submodules

__getattr__, __dir__ = lazy_submodules(__name__, "pass_base pass_manager")
