"""``torch.fx.passes.infra``: changes of graphs in their order."""
