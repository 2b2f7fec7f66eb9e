"""Reading and writing elements by index: declarations."""

from __future__ import annotations

from ._declare import Family

ops = Family("indexing")

ops.plain("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", variants="",
          doc="Elements at broadcast integer indices (or masks) of some dimensions; None keeps a dimension.")
ops.plain("index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)", variants="method function",
          doc="Write (or add) values at broadcast integer indices or masks.")
