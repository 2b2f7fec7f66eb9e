"""The functions that graphs compute sizes with."""

from __future__ import annotations

import math
import operator
from typing import Any

from .. import _symbolic as symbolic

__all__ = ["NAMES", "SIZE_FUNCTIONS"]

#: The name in files -> the function.
NAMES: dict[str, Any] = {
    **{f"_operator.{name}": getattr(operator, name) for name in
       "add sub mul truediv floordiv mod pow neg pos eq ne lt le gt ge and_ or_ xor lshift rshift".split()},
    **{f"math.{name}": getattr(math, name) for name in ("ceil", "floor", "trunc")},
    **{f"torch.{name}": getattr(symbolic, name) for name in symbolic.__all__ if name.startswith("sym_")},
    **{f"torch._sym_{name}": getattr(symbolic, f"_sym_{name}") for name in
       "sqrt cos cosh sin sinh tan tanh asin acos atan log2".split()},
    "builtins.round": round, "builtins.abs": abs,
}  # fmt: skip
SIZE_FUNCTIONS = frozenset(NAMES.values())
