"""``torch._dynamo.source``: where a value that is guarded comes from, as the expression that reads it."""

from __future__ import annotations

from .._sources import AttrSource as AttrSource
from .._sources import ChainedSource as ChainedSource
from .._sources import ConstantSource as ConstantSource
from .._sources import GetItemSource as GetItemSource
from .._sources import LocalSource as LocalSource
from .._sources import Source as Source
from .._sources import TensorProperty as TensorProperty
from .._sources import TensorPropertySource as TensorPropertySource

__all__ = [
    "AttrSource", "ChainedSource", "ConstantSource", "GetItemSource", "LocalSource", "Source", "TensorProperty",
    "TensorPropertySource",
]  # fmt: skip

for _class in (
    AttrSource, ChainedSource, ConstantSource, GetItemSource, LocalSource, Source, TensorProperty, TensorPropertySource,
):  # fmt: skip
    _class.__module__ = __name__
