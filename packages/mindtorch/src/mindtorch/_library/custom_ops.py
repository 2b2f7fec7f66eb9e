"""``torch._library.custom_ops``: where `custom_op` and the class of what it makes are."""

from mt_library.custom_ops import CustomOpDef as CustomOpDef
from mt_library.custom_ops import custom_op as custom_op
from mt_library.custom_ops import find_custom_op as _maybe_get_opdef  # noqa: F401 - PyTorch's name
