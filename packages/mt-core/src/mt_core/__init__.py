"""Tensors, operator declarations, shape rules, dispatch and plugin discovery of mindtorch."""
