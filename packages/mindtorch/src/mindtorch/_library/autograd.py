"""``torch._library.autograd``: a ``Function`` that takes lists of tensors."""

from mt_library.tensor_lists import supports_tensorlist as supports_tensorlist
