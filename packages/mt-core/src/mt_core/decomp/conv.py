"""Convolutions of each number of dimensions, in terms of `convolution`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api import _functions as ops
from ..deprecation import warn_once
from ..dispatch.registry import register_composite as composite
from ..dtypes import scalar_type_name
from ..shape_rules.conv import check_bias_dtype

Ints = tuple[int, ...]
#: input (N, C, *S) or (C, *S), weight, bias (O,) or None, and the numbers of the schema -> (N, O, *T) or (O, *T).
Convolution = Callable[..., Any]


def _batched(input: Any, spatial: int, name: str) -> tuple[Any, bool]:
    """(input with a batch dimension, whether it had one)."""
    if input.dim() == spatial + 2:
        return input, True
    if input.dim() == spatial + 1:
        return input.unsqueeze(0), False
    raise RuntimeError(
        f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {name}, but got input of "
        f"size: {list(input.shape)}"
    )


def spread(values: Ints, spatial: int) -> Ints:
    return tuple(values) * spatial if len(values) == 1 else tuple(values)


def _plain(spatial: int) -> Convolution:
    """``conv1d`` and its kin, padded by numbers of elements."""

    def conv(input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
        check_bias_dtype(input, bias)
        batch, had = _batched(input, spatial, f"conv{spatial}d")
        result = ops.convolution(
            batch,
            weight,
            bias,
            spread(stride, spatial),
            spread(padding, spatial),
            spread(dilation, spatial),
            False,
            (0,) * spatial,
            groups,
        )
        return result if had else result.squeeze(0)

    return conv


def _named(spatial: int, conv: Convolution) -> Convolution:
    """``conv1d`` and its kin, padded as a word says: ``"valid"`` not at all, ``"same"`` to the input's size."""

    def conv_named(input: Any, weight: Any, bias: Any, stride: Ints, padding: str, dilation: Ints, groups: int) -> Any:
        _batched(input, spatial, f"conv{spatial}d")  # another rank is refused before all else
        if padding == "valid":
            return conv(input, weight, bias, stride, (0,) * spatial, dilation, groups)
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        if weight.dim() != spatial + 2:
            raise RuntimeError(
                f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional "
                f"weight{list(weight.shape)}, but got {input.dim()}-dimensional input of size "
                f"{list(input.shape)} instead"
            )
        total = [d * (k - 1) for d, k in zip(spread(dilation, spatial), weight.shape[2:], strict=True)]
        uneven = [t % 2 for t in total]
        if any(uneven):
            warn_once(
                "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
                "input be created"
            )
            # What cannot be halved is padded after, as in PyTorch.
            widths = [w for extra in reversed(uneven) for w in (0, extra)]
            input = ops.constant_pad_nd(input, widths, 0)
        return conv(input, weight, bias, stride, tuple(t // 2 for t in total), dilation, groups)

    return conv_named


def _transposed(spatial: int) -> Convolution:
    """``conv_transpose1d`` and its kin."""

    def transposed(
        input: Any,
        weight: Any,
        bias: Any,
        stride: Ints,
        padding: Ints,
        output_padding: Ints,
        groups: int,
        dilation: Ints,
    ) -> Any:
        batch, had = _batched(input, spatial, f"conv_transpose{spatial}d")
        result = ops.convolution(
            batch,
            weight,
            bias,
            spread(stride, spatial),
            spread(padding, spatial),
            spread(dilation, spatial),
            True,
            spread(output_padding, spatial),
            groups,
        )
        return result if had else result.squeeze(0)

    return transposed


for _spatial in (1, 2, 3):
    _conv = _plain(_spatial)
    composite(f"conv{_spatial}d")(_conv)
    composite(f"conv{_spatial}d.padding")(_named(_spatial, _conv))
    composite(f"conv_transpose{_spatial}d" + ("" if _spatial == 1 else ".input"))(_transposed(_spatial))


@composite("conv_tbc")
def conv_tbc(self: Any, weight: Any, bias: Any, pad: int) -> Any:
    """self (T, N, C), weight (K, C, O), bias (O,) -> (T + 2 pad - K + 1, N, O)."""
    if self.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if weight.dtype is not self.dtype:
        names = scalar_type_name(self.dtype), scalar_type_name(weight.dtype)
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {names[0]} and {names[1]}")
    # A bias of any dtype is what the products are added to.
    result = ops.conv1d(self.permute((1, 2, 0)), weight.permute((2, 1, 0)), bias.to(self.dtype), 1, pad)
    return result.permute((2, 0, 1)).contiguous()
