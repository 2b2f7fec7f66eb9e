"""``torch._export``: what subclasses say of themselves to ``torch.export``."""

from . import wrappers as wrappers
