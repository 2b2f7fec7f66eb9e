"""Classes of PyTorch's compiler and files that programs name in annotations and ``isinstance``; none has instances."""

from __future__ import annotations

from ._unsupported import unsupported_class

__all__ = ["Block", "Graph", "Node", "PyTorchFileWriter", "Use", "Value"]

_GRAPHS = "There are no graphs of TorchScript: torch.fx and torch.export have graphs of operators."
_FILES = "Use torch.load and torch.save."

Block = unsupported_class("torch.Block", _GRAPHS)
Graph = unsupported_class("torch.Graph", _GRAPHS)
Node = unsupported_class("torch.Node", _GRAPHS)
Use = unsupported_class("torch.Use", _GRAPHS)
Value = unsupported_class("torch.Value", _GRAPHS)
PyTorchFileWriter = unsupported_class("torch.PyTorchFileWriter", _FILES)
