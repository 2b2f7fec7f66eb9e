"""``torch.fx.passes.graph_drawer``: pictures of graphs, which are not drawn."""

from __future__ import annotations

from ..._unsupported import unsupported_class

__all__ = ["FxGraphDrawer"]

FxGraphDrawer = unsupported_class(
    "torch.fx.passes.graph_drawer.FxGraphDrawer", "GraphModule.print_readable prints a graph."
)
