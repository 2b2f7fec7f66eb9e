"""How the work of `linear_cross_entropy` may be divided."""

from dataclasses import dataclass

import mt_core as mt

__all__ = ["LinearCrossEntropyOptions"]

_METHODS = ("auto", "aspect_ratio", None)
_POLICIES = ("accurate", "balanced", "compact", "auto")


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """A wish to compute `functional.linear_cross_entropy` in chunks of the batch, which saves memory.

    Parameters
    ----------
    allow_retain_graph
        Whether the loss may be differentiated twice.
    batch_chunk_size
        Number of samples in a chunk; by default chosen by `chunking_method`.
    chunking_method
        ``"auto"``, ``"aspect_ratio:<number>"`` or `None`.
    acc_policy
        Where to accumulate: ``"accurate"``, ``"balanced"``, ``"compact"`` or ``"auto"``.
    acc_dtype
        The dtype in which to accumulate.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: mt.dtype | None = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size}")
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in _METHODS and not _is_aspect_ratio(self.chunking_method):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        allowed = (None, mt.float16, mt.bfloat16, mt.float32, mt.float64)
        if self.acc_dtype not in allowed:
            listed = ", ".join(map(str, allowed))
            raise ValueError(
                f"acc_dtype must be one of {{{listed}}}, got {self.acc_dtype}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )


def _is_aspect_ratio(method: str | None) -> bool:
    name, _, number = (method or "").partition(":")
    return name == "aspect_ratio" and number.isdigit() and int(number) > 0
