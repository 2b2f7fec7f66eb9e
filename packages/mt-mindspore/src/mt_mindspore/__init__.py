"""Bridge between mindtorch and MindSpore: the contract, the dtype map and the check for MindSpore.

Interchange of tensors and the call of MindSpore's kernels are declared in `mt_mindspore.contract` and raise until they
are written. Importing this package does not import MindSpore.
"""

from mt_mindspore.contract import Bridge, from_mindspore, to_mindspore
from mt_mindspore.dtypes import MINDSPORE_NAMES
from mt_mindspore.runtime import require_mindspore, why_unavailable

__all__ = ["MINDSPORE_NAMES", "Bridge", "from_mindspore", "require_mindspore", "to_mindspore", "why_unavailable"]
