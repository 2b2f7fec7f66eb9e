"""``torch.version``: what this build is made for."""

from __future__ import annotations

from .torch_version import TorchVersion

#: The version of PyTorch that mindtorch follows, marked as mindtorch.
__version__ = TorchVersion("2.13.0+mindtorch")
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version = "Unknown"
