"""``torch.fx.passes.dialect.common``: changes of graphs of any operators."""
