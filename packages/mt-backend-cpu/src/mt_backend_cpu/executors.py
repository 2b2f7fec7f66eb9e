"""The native library's executors of the plainest calls (`mt_core.plugins.executors.Executors`)."""

from __future__ import annotations

from typing import Any

from mt_core.cell import Cell
from mt_core.dtypes import dtype, int64
from mt_core.state import nested, tls
from mt_core.tensor import Tensor

from .native import library

__all__ = ["executors"]


class NativeExecutors:
    """Objects of the library that are called without a frame of Python's."""

    def __init__(self, library: Any) -> None:
        library.use_core(Tensor, Cell, dtype, tls, nested)
        self.elementwise = library.Elementwise
        self.planned = library.Planned
        self.view = library.View
        self.basic_index = library.basic_index
        self.recorder = library.Recorder
        self.writer = library.Writer
        self.factory = library.Factory
        self.direct = library.Direct
        self.functions = {
            "_to_copy": (library.to_dtype, 1),
            "embedding": (library.pick_rows, 0),
            "index.Tensor": (library.pick, 0),
            "masked_select": (library.pick_masked, 0),
            "nonzero": (library.nonzero, int64),
            "one_hot": (library.one_hot, int64),
        }
        self.writes = {"copy_": library.copy_into, "fill_.Scalar": library.fill_into, "zero_": library.zero_into}


#: None where there is no library, or where NumPy's warnings are not kept in a context of the thread (NumPy 1).
executors = (
    NativeExecutors(library)
    if library is not None and hasattr(getattr(tls.run_kernel, "__self__", None), "run")
    else None
)
