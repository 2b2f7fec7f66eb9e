"""``torch._VF``: the operators that PyTorch has in ``torch``, as they are before Python wraps some of them.

The generated module holds more: operators of ``torch.linalg`` and ``torch._C._nn``, names of its own, and internal
operators. Some of these have a name that means another operator in PyTorch (``_linalg_det``), so names are let through
one by one.
"""

from __future__ import annotations

from typing import Any

import mindtorch as _torch
from mt_core.api import _functions

#: Operators that are not in ``torch``, or there in another form.
_BELOW = ("_fft_c2c", "_fft_c2r", "_fft_r2c", "detach", "unique_consecutive", "unique_dim")
#: Functions that are no operators.
_QUESTIONS = (
    "as_tensor", "asarray", "can_cast", "from_file", "from_numpy", "frombuffer", "get_device", "is_complex", "is_conj",
    "is_floating_point", "is_inference", "is_neg", "is_nonzero", "is_same_size", "is_signed", "numel", "promote_types",
    "result_type", "tensor",
)  # fmt: skip

_OPERATORS = frozenset((*(own for _, own in _functions.NAMESPACES["torch"]), *_BELOW))


def __getattr__(name: str) -> Any:
    if name in _OPERATORS:
        return getattr(_functions, name)
    if name in _QUESTIONS:
        return getattr(_torch, name)
    raise AttributeError(f"'torch._C._VariableFunctionsClass' object has no attribute '{name}'")
