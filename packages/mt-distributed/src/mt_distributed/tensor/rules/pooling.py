"""Operators over the space of images: batch and channels may be split."""

from __future__ import annotations

from ..strategies import Call, Strategy, rule
from ._common import along

__all__ = ["UPSAMPLES"]

#: Operator -> how many dimensions of space there are, and how many results.
_POOLS = {
    "max_pool2d_with_indices": (2, 2), "max_pool3d_with_indices": (3, 2), "adaptive_max_pool2d": (2, 2),
    "adaptive_max_pool3d": (3, 2), "avg_pool1d": (1, 1), "avg_pool2d": (2, 1), "avg_pool3d": (3, 1),
    "avg_pool2d_backward": (2, 1), "avg_pool3d_backward": (3, 1), "_adaptive_avg_pool2d": (2, 1),
    "_adaptive_avg_pool3d": (3, 1), "_adaptive_avg_pool2d_backward": (2, 1), "_adaptive_avg_pool3d_backward": (3, 1),
}  # fmt: skip
#: Operator -> how many dimensions of space there are.
UPSAMPLES = {
    f"{name}{dims}d": dims
    for name, many in (
        ("upsample_nearest", (1, 2, 3)),
        ("_upsample_nearest_exact", (1, 2, 3)),
        ("upsample_linear", (1,)),
        ("upsample_bilinear", (2,)),
        ("upsample_bicubic", (2,)),
        ("upsample_trilinear", (3,)),
    )
    for dims in many
}


def _leading(call: Call, space: int, results: int) -> list[Strategy]:
    ndim = call.ndim()
    blocked = {dim for dim in range(ndim) if dim >= ndim - space or not call.is_filled(0, dim)}
    return along(call, blocked, results)


@rule(*_POOLS)
def pooled(call: Call) -> list[Strategy]:
    space, results = _POOLS[call.name.partition(".")[0]]
    return _leading(call, space, results)


@rule(*UPSAMPLES, *(f"{name}_backward" for name in UPSAMPLES))
def upsampled(call: Call) -> list[Strategy]:
    return _leading(call, UPSAMPLES[call.name.partition(".")[0].removesuffix("_backward")], 1)


@rule("constant_pad_nd")
def padded(call: Call) -> list[Strategy]:
    ndim = call.ndim()
    return along(call, range(ndim - len(call.args["pad"]) // 2, ndim))
