"""Bridge between mindtorch and MindSpore: its tensors as ours, and a backend on its kernels.

Importing this package does not import MindSpore.
"""

from mt_mindspore.dtypes import MINDSPORE_NAMES
from mt_mindspore.interop import from_mindspore, set_interop_warning, to_mindspore
from mt_mindspore.runtime import require_mindspore, why_unavailable

__all__ = [
    "MINDSPORE_NAMES", "from_mindspore", "require_mindspore", "set_interop_warning", "to_mindspore", "why_unavailable",
]  # fmt: skip
