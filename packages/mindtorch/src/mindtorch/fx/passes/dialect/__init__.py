"""``torch.fx.passes.dialect``: changes of graphs of certain operators."""
