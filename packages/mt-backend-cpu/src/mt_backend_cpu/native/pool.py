"""Pooling by the native library: planes, or rows of channels as they lie in memory."""

from __future__ import annotations

import functools
from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, float16, float32
from mt_core.windows import pooled_size, windows_of

from ..registry import fused, kernel
from . import library

Ints = tuple[int, ...]


def geometry(shape: Ints, spatial: int, ceil_mode: bool, *window: Ints) -> Ints:
    """The sizes of the output, and the window's kernel, stride, padding and dilation, one after the other."""
    return _geometry(shape, spatial, ceil_mode, *map(tuple, window))


@functools.lru_cache(maxsize=512)
def _geometry(shape: Ints, spatial: int, ceil_mode: bool, *window: Ints) -> Ints:
    values = windows_of(spatial, *window)
    kernel_size, stride, padding = values[:3]
    dilation = values[3] if len(values) > 3 else (1,) * spatial
    sizes = [
        pooled_size(n, k, s, p, d, ceil_mode)
        for n, k, s, p, d in zip(shape[-spatial:], kernel_size, stride, padding, dilation, strict=True)
    ]
    return (*sizes, *kernel_size, *stride, *padding, *dilation)


if library is not None:
    _max_pool, _avg_pool, _avg_pool_backward = library.max_pool, library.avg_pool, library.avg_pool_backward
    _adaptive_max_pool, _adaptive_avg_pool = library.adaptive_max_pool, library.adaptive_avg_pool
    _adaptive_avg_pool_backward = library.adaptive_avg_pool_backward

    def _has_small_planes(self: Any, *rest: Any) -> bool:
        """Whether places in a plane fit what they are counted in."""
        planes = 1
        for n in self._array.shape[-3:]:
            planes *= n
        return planes < 1 << 31

    #: Half types come widened.
    _SINGLE = frozenset((float32, bfloat16, float16))

    def _maximum(spatial: int) -> None:
        ranks = {"self": (3,)} if spatial == 1 else {}
        accepts = Accepts(dtypes=_SINGLE, ranks=ranks, also=_has_small_planes)

        @fused(f"max_pool{spatial}d", accepts)
        def max_pool(self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Any:
            """self (*, *S) -> largest elements (*, *T)."""
            return _max_pool(
                self, geometry(self.shape, spatial, ceil_mode, kernel_size, stride, padding, dilation), False
            )

        if spatial == 1:
            return

        @kernel(f"max_pool{spatial}d_with_indices", accepts=accepts)
        def max_pool_with_indices(
            self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
        ) -> Any:
            """self (*, *S) -> largest elements and their places (*, *T)."""
            return _max_pool(
                self, geometry(self.shape, spatial, ceil_mode, kernel_size, stride, padding, dilation), True
            )

        @kernel(f"adaptive_max_pool{spatial}d", accepts=accepts)
        def adaptive_max_pool(self: Any, output_size: Ints) -> Any:
            """self (*, *S) -> largest elements and their places (*, *output_size)."""
            return _adaptive_max_pool(self, tuple(output_size))

    def _average(spatial: int) -> None:
        @kernel(f"avg_pool{spatial}d", accepts=Accepts(dtypes=_SINGLE, also=_has_small_planes))
        def avg_pool(
            self: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
            divisor_override: int | None,
        ) -> Any:  # fmt: skip
            """self (*, *S) -> means (*, *T)."""
            window = geometry(self.shape, spatial, ceil_mode, kernel_size, stride, padding)
            return _avg_pool(self, window, count_include_pad, divisor_override)

        @kernel(f"avg_pool{spatial}d_backward", accepts=Accepts(dtypes=_SINGLE, also=_has_small_planes))
        def avg_pool_backward(
            grad_output: Any, self: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
            count_include_pad: bool, divisor_override: int | None,
        ) -> Any:  # fmt: skip
            """grad_output (*, *T), self (*, *S) -> (*, *S)."""
            window = geometry(self.shape, spatial, ceil_mode, kernel_size, stride, padding)
            sizes = self.shape[-spatial:]
            return _avg_pool_backward(grad_output, window, sizes, count_include_pad, divisor_override)

        @fused(f"_adaptive_avg_pool{spatial}d", Accepts(dtypes=_SINGLE, also=_has_small_planes))
        def adaptive_avg_pool(self: Any, output_size: Ints) -> Any:
            """self (*, *S) -> means (*, *output_size)."""
            return _adaptive_avg_pool(self, tuple(output_size))

        @fused(
            f"_adaptive_avg_pool{spatial}d_backward",
            Accepts(dtypes=_SINGLE, also=lambda grad_output, self: _has_small_planes(self)),
        )
        def adaptive_avg_pool_backward(grad_output: Any, self: Any) -> Any:
            """grad_output (*, *T), self (*, *S) -> (*, *S)."""
            return _adaptive_avg_pool_backward(grad_output, self.shape[-spatial:])

    for _spatial in (1, 2, 3):
        _maximum(_spatial)
        if _spatial > 1:
            _average(_spatial)
