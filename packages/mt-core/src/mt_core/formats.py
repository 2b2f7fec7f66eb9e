"""``torch.layout`` and ``torch.memory_format``: names for how elements are arranged."""

from __future__ import annotations

__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "layout", "memory_format", "preserve_format",
    "sparse_bsc",
    "jagged", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided",
]  # fmt: skip


class _Named:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: object) -> _Named:
        return self


class layout(_Named):
    """How a tensor is stored: ``torch.strided`` (the only one with kernels) or a sparse form."""

    __slots__ = ()


class memory_format(_Named):
    """A requested order of strides: contiguous, channels last, or that of the input."""

    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
_mkldnn = layout("_mkldnn")
jagged = layout("jagged")

contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
