"""``torch._subclasses``: tensors without memory for tracing. On the meta device there are tensors without memory."""

from ._unsupported import unsupported_class

__all__ = ["FakeTensor", "FakeTensorMode"]

FakeTensor = unsupported_class("torch._subclasses.FakeTensor", "Use device='meta'.")
FakeTensorMode = unsupported_class("torch._subclasses.FakeTensorMode", "Use `with torch.device('meta'):`.")
