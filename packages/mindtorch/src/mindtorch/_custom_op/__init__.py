"""``torch._custom_op``: deprecated; see ``torch.library``."""

from . import impl as impl
