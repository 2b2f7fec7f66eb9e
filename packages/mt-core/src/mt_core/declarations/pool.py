"""Pooling and resampling: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import float32, float64, int64, uint8
from ._checks import FLOATS, INTEGERS, USUAL, Supported
from ._declare import Family

family = Family("pool")

_NN: dict[str, Any] = {"variants": "function", "namespace": "torch._C._nn"}
_TOP: dict[str, Any] = {"variants": "function"}

_NEAREST_2D = "upsample_nearest2d_channels_last"
_RESAMPLED = {
    "linear1d": Supported("compute_indices_weights_linear", FLOATS),
    "bilinear2d": Supported("upsample_bilinear2d_channels_last", FLOATS | {uint8}),
    "trilinear3d": Supported("compute_indices_weights_linear", FLOATS),
    "bicubic2d": Supported("compute_indices_weights_cubic", FLOATS | {uint8}),
}

#: Of how many dimensions -> which elements windows are averaged of.
_AVERAGED = {2: FLOATS | {int64}, 3: frozenset((float32, float64, int64))}

for _n, _place in ((1, _TOP), (2, _NN), (3, _NN)):
    _adaptive = "3d_cpu" if _n == 3 else "2d"
    _window = f"int[{_n}] kernel_size, int[{_n}] stride=[], int[{_n}] padding=0"
    if _n == 1:
        family.composite(
            f"avg_pool1d(Tensor self, {_window}, bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
            **_TOP,
            doc="Means of windows of (n, c, l) or (c, l).",
        )
    else:
        family.plain(
            f"avg_pool{_n}d(Tensor self, {_window}, bool ceil_mode=False, bool count_include_pad=True, int? "
            "divisor_override=None) -> Tensor",
            dtypes=Supported("avg_pool2d" if _n == 2 else "avg_pool3d_out_frame", _AVERAGED[_n]),
            **_NN,
            out=True,
            exact_out=True,
            doc="Means of sliding windows.",
        )
        family.plain(
            f"avg_pool{_n}d_backward(Tensor grad_output, Tensor self, int[{_n}] kernel_size, int[{_n}] stride, "
            f"int[{_n}] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
            variants="",
            dtypes=Supported(f"avg_pool{_n}d_backward" + ("" if _n == 2 else "_out_frame"), FLOATS | {int64}),
        )
    _dilated = f"{_window}, int[{_n}] dilation=1, bool ceil_mode=False"
    _with_places = f"max_pool{_n}d_with_indices(Tensor self, {_dilated}) -> (Tensor, Tensor)"
    _doc = "Largest elements of sliding windows and their flat indices."
    if _n == 1:
        family.composite(_with_places, **_place, doc=_doc)
    else:
        _ordered = Supported(f"max_pool{_n}d", INTEGERS | FLOATS)
        family.plain(_with_places, dtypes=_ordered, **_place, doc=_doc)
    family.composite(
        f"max_pool{_n}d(Tensor self, {_dilated}) -> Tensor",
        **_TOP,
        doc="Largest elements of windows.",
    )
    if _n > 1:
        _averaged = Supported(f"adaptive_avg_pool{_adaptive}", FLOATS)
        family.plain(f"_adaptive_avg_pool{_n}d(Tensor self, int[{_n}] output_size) -> Tensor", dtypes=_averaged, **_TOP)
        family.plain(
            f"_adaptive_avg_pool{_n}d_backward(Tensor grad_output, Tensor self) -> Tensor",
            variants="",
            dtypes=Supported(f"adaptive_avg_pool{_adaptive.replace('d', 'd_backward', 1)}", FLOATS),
        )
    family.composite(
        f"adaptive_avg_pool{_n}d(Tensor self, int[{_n}] output_size) -> Tensor",
        **_place,
        doc="Means of as many windows as the output has elements.",
    )
    _with_places = f"adaptive_max_pool{_n}d(Tensor self, int[{_n}] output_size) -> (Tensor, Tensor)"
    _doc = "Largest elements of as many windows as asked for, and their indices."
    if _n == 1:
        family.composite(_with_places, **_place, doc=_doc)
    else:
        family.plain(_with_places, dtypes=Supported(f"adaptive_max_pool{_adaptive}", FLOATS), **_place, doc=_doc)
for _n in (2, 3):
    _extra = "" if _n == 2 else ", int[3] stride, int[3] padding"
    family.plain(
        f"max_unpool{_n}d(Tensor self, Tensor indices, int[{_n}] output_size{_extra}) -> Tensor",
        dtypes=Supported(f"max_unpool{_n}d", FLOATS),
        **_NN,
        doc="Elements put back where `max_pool` found them, zeros elsewhere.",
    )


def _resizing(name: str, spatial: int, aligned: bool, dtypes: Supported, doc: str) -> None:
    """An operator, its derivative, and the form that takes a size or factors."""
    letters = ("d", "h", "w")[3 - spatial :]
    scales = ", ".join(f"float? scales_{s}=None" for s in letters) if spatial > 1 else "float? scales=None"
    corners = ", bool align_corners" if aligned else ""
    size = f"int[{spatial}] output_size"
    family.composite(
        f"{name}.vec(Tensor input, int[]? output_size{corners}, float[]? scale_factors) -> Tensor",
        dtypes=dtypes,
        **_NN,
        doc=doc,
    )
    family.plain(f"{name}(Tensor self, {size}{corners}, {scales}) -> Tensor", dtypes=dtypes, **_NN)
    family.plain(
        f"{name}_backward(Tensor grad_output, {size}, int[{spatial + 2}] input_size{corners}, {scales}) -> Tensor",
        variants="",
        dtypes=Supported(f"{name.lstrip('_')}_backward_cpu" if name.endswith("_aa") else f"{name}_backward", FLOATS),
    )


for _n in (1, 2, 3):
    _dtypes = Supported(_NEAREST_2D if _n == 2 else "compute_indices_weights_nearest", FLOATS | {uint8})
    for _full in (f"upsample_nearest{_n}d", f"_upsample_nearest_exact{_n}d"):
        _resizing(_full, _n, False, _dtypes, "Every output element is the nearest input element.")
for _name, _n, _doc in (
    ("linear1d", 1, "Signals resampled linearly."),
    ("bilinear2d", 2, "Images resampled linearly in both dimensions."),
    ("trilinear3d", 3, "Volumes resampled linearly in three dimensions."),
    ("bicubic2d", 2, "Images resampled by cubic convolution."),
):
    _resizing(f"upsample_{_name}", _n, True, _RESAMPLED[_name], _doc)
for _name in ("bilinear", "bicubic", "lanczos"):
    _resizing(
        f"_upsample_{_name}2d_aa", 2, True, Supported("compute_index_ranges_weights", FLOATS | {uint8}),
        f"Images resampled by a {_name} kernel that is as wide as a step of the smaller image.",
    )  # fmt: skip
family.plain(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    **_TOP,
    dtypes=Supported("pixel_shuffle", USUAL, idle="empty"),
    doc="(*, C r^2, H, W) rearranged to (*, C, H r, W r).",
)
family.plain(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    **_TOP,
    dtypes=Supported("pixel_unshuffle", USUAL, idle="empty"),
    doc="(*, C, H r, W r) rearranged to (*, C r^2, H, W).",
)
family.plain(
    "channel_shuffle(Tensor self, int groups) -> Tensor",
    **_TOP,
    dtypes=Supported("channel_shuffle", USUAL, idle="empty"),
    doc="Channels dealt out over groups: (g, c) becomes (c, g).",
)
family.plain(
    "native_channel_shuffle(Tensor self, int groups) -> Tensor",
    **_TOP,
    dtypes=Supported("channel_shuffle", USUAL, idle="empty"),
    doc="`channel_shuffle`.",
)
family.plain(
    "affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor",
    **_TOP,
    doc="Sampling positions of affine maps theta (N, 2, 3) or (N, 3, 4).",
)
family.composite(
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    dtypes=Supported(
        lambda args: "grid_sampler3d_cpu" if args[0].dim() == 5 else "grid_sampler_2d_cpu_kernel_impl", FLOATS
    ),
    **_TOP,
    doc="Values of an image at the positions of a grid in [-1, 1].",
)
family.composite(
    "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> "
    "Tensor",
    dtypes=Supported("grid_sampler_2d_cpu_kernel_impl", FLOATS),
    **_TOP,
    doc="`grid_sampler` of images (N, C, H, W).",
)
family.composite(
    "grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> "
    "Tensor",
    dtypes=Supported("grid_sampler3d_cpu", FLOATS),
    **_TOP,
    doc="`grid_sampler` of volumes (N, C, D, H, W).",
)
