"""Discrete Fourier transforms: declarations. `_fft_c2c`, `_fft_r2c` and `_fft_c2r` are the kernels.

All else is written in them.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype
from ._checks import COMPLEX, COMPLEX_HALF, REAL, OutDtypes, Refusal, Supported, is_exactly
from ._declare import Family

family = Family("fft")

family.plain(
    "_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor",
    dtypes=Supported("_fft_c2c", COMPLEX | COMPLEX_HALF, Refusal(REAL, "Only supports complex dtypes, but found: {}")),
    variants="",
    doc="Complex transform over some dimensions, scaled by 1 (0), 1/sqrt(n) (1) or 1/n (2).",
)
family.plain(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    variants="",
    doc="Transform of real input.",
)
family.plain(
    "_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor",
    dtypes=Supported("_fft_c2r", COMPLEX | COMPLEX_HALF, Refusal(REAL, "Only supports complex dtypes, but found: {}")),
    variants="",
    doc="Real output of Hermitian input.",
)


def _alike(result: dtype, out: dtype) -> bool:
    return result.category == out.category


class _Conjugate(OutDtypes):
    """Of real input, the last step conjugates, which casts nothing."""

    __slots__ = ()

    def require(self, name: str, result: dtype, out: dtype, first: Any) -> None:
        super().require(name, result, out, first)
        if not first.is_complex():
            is_exactly(result, out)


def _is_real(self: Any) -> bool:
    return not self.is_complex()


def _declare(name: str, arguments: str, doc: str) -> None:
    what = "complex" if name.rstrip("2n") in ("fft", "ifft", "rfft", "ihfft") else "floating point"
    # PyTorch's messages have one name for both directions of a complex transform over several dimensions.
    conjugates = name in ("ifft", "ihfft")
    shown = {"fft2": "fftn", "ifft2": "fftn", "ifftn": "fftn"}.get(name, name.replace("2", "n"))
    family.composite(
        f"fft_{name}({arguments}) -> Tensor",
        variants="function",
        namespace="torch.fft",
        python_name=name,
        out=True,
        out_check=(_Conjugate if conjugates else OutDtypes)(
            f"{shown} expects a {what} output tensor, but got {{out}}", _alike
        ),
        laid_out=_is_real if conjugates else False,
        doc=doc,
    )


for _name, _what in (
    ("fft", "Fourier transform"),
    ("ifft", "Inverse Fourier transform"),
    ("rfft", "Half of the Fourier transform of real input"),
    ("irfft", "Real inverse of `rfft`'s half"),
    ("hfft", "Real Fourier transform of half of a Hermitian signal"),
    ("ihfft", "Inverse of `hfft`"),
):
    _declare(_name, "Tensor self, int? n=None, int dim=-1, str? norm=None", f"{_what}, along a dimension.")
    _declare(
        f"{_name}2",
        "Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None",
        f"{_what}, along two dimensions.",
    )
    _declare(
        f"{_name}n",
        "Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None",
        f"{_what}, along several dimensions.",
    )
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
for _name in ("fftfreq", "rfftfreq"):
    family.composite(
        f"fft_{_name}(int n, float d=1.0, *, {_OPTIONS}) -> Tensor",
        out=True,
        any_shape_out=True,
        count_told=True,
        doc=f"Frequencies that belong to the results of `{_name.removesuffix('freq')}`, for samples `d` apart.",
        variants="function",
        namespace="torch.fft",
        python_name=_name,
    )
for _name in ("fftshift", "ifftshift"):
    family.composite(
        f"fft_{_name}(Tensor self, int[1]? dim=None) -> Tensor",
        doc="Frequency 0 moved to the middle, or back (`ifftshift`).",
        variants="function",
        namespace="torch.fft",
        python_name=_name,
    )
family.composite(
    "stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
    'center=True, str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, '
    "bool? align_to_window=None) -> Tensor",
    doc="Transforms of overlapping windows of a signal: (*, n) -> (*, frequencies, frames).",
)
family.composite(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
    "center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
    doc="The signal whose `stft` this is, by overlap-add (Griffin and Lim 1984).",
)
