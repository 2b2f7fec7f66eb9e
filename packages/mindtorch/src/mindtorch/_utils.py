"""``torch._utils``: the functions that PyTorch's pickles call to make tensors and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mindtorch as torch  # PyTorch's pickles call memory formats ``torch._utils torch.channels_last``
from mt_core.printing import printoptions
from mt_core.serialization import rebuild as _rebuild
from mt_core.torch_names import _REBUILDERS
from mt_nn.parameter import _rebuild_parameter as _rebuild_parameter
from mt_nn.parameter import _rebuild_parameter_with_state as _rebuild_parameter_with_state

__all__: list[str] = []

globals().update({name: getattr(_rebuild, name) for name in _REBUILDERS})


def _element_size(dtype: torch.dtype) -> int:
    """Bytes of one element."""
    return dtype.itemsize


def is_compiling() -> bool:
    """Whether a program is being compiled: ``torch.compiler.is_compiling()``."""
    return torch.compiler.is_compiling()


def render_call(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """A call as a program would write it, tensors without their elements."""
    with printoptions(threshold=0, edgeitems=0):
        written = [repr(value) for value in args] + [f"{key}={value!r}" for key, value in kwargs.items()]
    return f"{torch.overrides.resolve_name(fn) or fn}({', '.join(written)})"
