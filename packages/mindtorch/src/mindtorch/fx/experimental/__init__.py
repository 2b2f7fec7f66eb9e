"""``torch.fx.experimental``: passes and tracers that PyTorch calls experimental."""

from __future__ import annotations

from ..._lazy import lazy_submodules

__getattr__, __dir__ = lazy_submodules(
    __name__,
    """const_fold graph_gradual_typechecker merge_matmul normalize optimization proxy_tensor rewriter""",
)
