"""Where a value that is guarded comes from, as the expression that reads it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

__all__ = [
    "AttrSource", "ChainedSource", "ConstantSource", "GetItemSource", "LocalSource", "Source", "TensorProperty",
    "TensorPropertySource",
]  # fmt: skip


class Source:
    """Where a value comes from; `name` is the expression that reads it."""

    @property
    def name(self) -> str:
        raise NotImplementedError(f"{type(self).__name__}.name")


@dataclass(frozen=True)
class ConstantSource(Source):
    """Something known by a name of its own."""

    source_name: str

    @property
    def name(self) -> str:
        return self.source_name


@dataclass(frozen=True)
class LocalSource(Source):
    """An argument, or a variable, of a function: ``L['x']``."""

    local_name: str
    is_input: bool = False

    @property
    def name(self) -> str:
        return f"L[{self.local_name!r}]"


@dataclass(frozen=True)
class ChainedSource(Source):
    """A part of what another source reads."""

    base: Source


@dataclass(frozen=True)
class AttrSource(ChainedSource):
    """An attribute."""

    member: str

    @property
    def name(self) -> str:
        return f"{self.base.name}.{self.member}"


@dataclass(frozen=True)
class GetItemSource(ChainedSource):
    """An item."""

    index: Any

    @property
    def name(self) -> str:
        return f"{self.base.name}[{self.index!r}]"


class TensorProperty(enum.Enum):
    """What of a tensor's layout is a number."""

    SIZE = 0
    STRIDE = 1
    STORAGE_OFFSET = 2

    def method_name(self) -> str:
        """The method that tells it."""
        return self.name.lower()


@dataclass(frozen=True)
class TensorPropertySource(ChainedSource):
    """A size, a stride or the offset of a tensor."""

    prop: TensorProperty
    idx: int | None = None

    @property
    def name(self) -> str:
        call = f"{self.base.name}.{self.prop.method_name()}()"
        return call if self.idx is None else f"{call}[{self.idx}]"
