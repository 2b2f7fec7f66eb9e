"""``torch.cuda.amp.common``: whether scaling of losses can have a device."""

from importlib.util import find_spec

from .. import is_available

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is neither a device of CUDA's nor the package ``torch_xla``."""
    return not (is_available() or find_spec("torch_xla"))
