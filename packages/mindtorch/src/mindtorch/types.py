"""``torch.types``: names for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any

from mt_core import Size, Tensor
from mt_core import device as _device
from mt_core import dtype as _dtype
from mt_core import layout as _layout
from mt_core.storage import UntypedStorage

__all__ = ["Device", "FileLike", "IntLikeType", "Number", "Storage", "py_sym_types"]

_bool = builtins.bool
_complex = builtins.complex
_float = builtins.float
_int = builtins.int
_size = Size | list[builtins.int] | tuple[builtins.int, ...]
_TensorOrTensors = Tensor | Sequence[Tensor]
_dtype = _dtype
_layout = _layout

Device = _device | str | builtins.int | None
FileLike = str | os.PathLike[str] | IO[bytes]
IntLikeType = builtins.int
Number = builtins.int | builtins.float | builtins.bool
_Number = (builtins.int, builtins.float, builtins.bool)
Storage = UntypedStorage
#: Types of symbolic numbers: there are none.
py_sym_types: tuple[Any, ...] = ()
