"""Fourier transforms in terms of the three kernels."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..deprecation import warn_once
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..factories import check_options
from ..hollow import seen_through
from ..printing_cpp import type_text
from ..tensor import no_dimensions, wrap_dim

Ints = tuple[int, ...]

_PLAIN, _ROOT, _WHOLE = range(3)


def _normalization(norm: str | None, forward: bool) -> int:
    """Which scale a norm mode means for a direction."""
    if norm is None or norm == "backward":
        return _PLAIN if forward else _WHOLE
    if norm == "forward":
        return _WHOLE if forward else _PLAIN
    if norm == "ortho":
        return _ROOT
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _floating(self: Any, complex_: bool) -> Any:
    """The input in a type that can be transformed."""
    d = self.dtype
    if d.name in ("float16", "bfloat16", "complex32"):
        raise RuntimeError(f"Unsupported dtype {dtypes.scalar_type_name(d)}")
    if d.category < 2:
        self, d = self.to(dtypes.get_default_dtype()), dtypes.get_default_dtype()
    return self.to(d.to_complex()) if complex_ and not d.is_complex else self


def _resized(self: Any, dims: Ints, sizes: Ints) -> Any:
    """Cut or padded with zeros to the given sizes."""
    for dim, size in zip(dims, sizes, strict=True):
        have = self.shape[dim]
        if size < have:
            self = self.narrow(dim, 0, size)
        elif size > have:
            pad = [0] * (2 * (self.dim() - dim))
            pad[-1] = size - have
            self = ops.constant_pad_nd(self, pad, 0)
    return self


def _positive(n: int) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _complex_transform(self: Any, dims: Ints, norm: str | None, forward: bool) -> Any:
    return find_overload("_fft_c2c").call(self, dims, _normalization(norm, forward), forward)


def _wrapped(self: Any, dim: int) -> int:
    if not self.dim():
        raise no_dimensions(dim)
    return wrap_dim(dim, self.dim())


def _one(self: Any, n: int | None, dim: int) -> tuple[int, Ints]:
    at = _wrapped(self, dim)
    size = self.shape[at] if n is None else n
    _positive(size)
    return size, (at,)


def _several(self: Any, s: Any, dim: Any, last_scale: bool = False) -> tuple[Ints, Ints]:
    """(dimensions, sizes) of a transform over several dimensions."""
    if dim is not None:
        dims = tuple(_wrapped(self, d) for d in dim)
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > self.dim():
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {self.dim()} dimensions.")
        dims = tuple(range(self.dim() - len(s), self.dim()))
    else:
        dims = tuple(range(self.dim()))
    sizes = [self.shape[d] if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)]
    for n in sizes:
        _positive(n)
    if last_scale and (s is None or s[-1] == -1) and dims:
        sizes[-1] = 2 * (self.shape[dims[-1]] - 1)
        _positive(sizes[-1])
    return dims, tuple(sizes)


def _real_input(self: Any, words: str) -> Any:
    if self.is_complex():
        raise RuntimeError(f"{words} {dtypes.scalar_type_name(self.dtype)}")
    return _floating(self, False)


def _c2r(self: Any, dims: Ints, normalization: int, size: int) -> Any:
    return find_overload("_fft_c2r").call(self, dims, normalization, size)


# One dimension


def _both_sides(self: Any, dims: Ints, size: int, normalization: int) -> Any:
    """The whole spectrum of real elements, whose second half mirrors the first."""
    return find_overload("_fft_r2c").call(_resized(_floating(self, False), dims, (size,)), dims, normalization, False)


@composite("fft_fft")
def fft(self: Any, n: Any, dim: int, norm: Any) -> Any:
    """self (*, N, *) -> (*, n, *) of complex, along `dim`."""
    size, dims = _one(self, n, dim)
    if not self.is_complex():
        return _both_sides(self, dims, size, _normalization(norm, True))
    return _complex_transform(_resized(_floating(self, True), dims, (size,)), dims, norm, True)


@composite("fft_ifft")
def ifft(self: Any, n: Any, dim: int, norm: Any) -> Any:
    """self (*, N, *) -> (*, n, *) of complex, along `dim`."""
    size, dims = _one(self, n, dim)
    if not self.is_complex():
        return _both_sides(self, dims, size, _normalization(norm, False)).conj()
    return _complex_transform(_resized(_floating(self, True), dims, (size,)), dims, norm, False)


@composite("fft_rfft")
def rfft(self: Any, n: Any, dim: int, norm: Any) -> Any:
    """self (*, N, *) of real -> (*, n // 2 + 1, *) of complex, along `dim`."""
    source = _real_input(self, "rfft expects a real input tensor, but got")
    size, dims = _one(self, n, dim)
    return find_overload("_fft_r2c").call(_resized(source, dims, (size,)), dims, _normalization(norm, True), True)


def _half_sizes(self: Any, n: Any, dim: int) -> tuple[int, Ints]:
    at = _wrapped(self, dim)
    size = 2 * (self.shape[at] - 1) if n is None else n
    _positive(size)
    return size, (at,)


@composite("fft_irfft")
def irfft(self: Any, n: Any, dim: int, norm: Any) -> Any:
    """self (*, N, *) -> (*, n, *) of real, along `dim`; n is 2 (N - 1) unless given."""
    size, dims = _half_sizes(self, n, dim)
    return _c2r(_resized(_floating(self, True), dims, (size // 2 + 1,)), dims, _normalization(norm, False), size)


@composite("fft_hfft")
def hfft(self: Any, n: Any, dim: int, norm: Any) -> Any:
    """self (*, N, *) -> (*, n, *) of real, along `dim`; n is 2 (N - 1) unless given."""
    size, dims = _half_sizes(self, n, dim)
    return _c2r(_resized(_floating(self, True), dims, (size // 2 + 1,)).conj(), dims, _normalization(norm, True), size)


@composite("fft_ihfft")
def ihfft(self: Any, n: Any, dim: int, norm: Any) -> Any:
    """self (*, N, *) of real -> (*, n // 2 + 1, *) of complex, along `dim`."""
    source = _real_input(self, "ihfft expects a real input tensor, but got")
    size, dims = _one(self, n, dim)
    return (
        find_overload("_fft_r2c").call(_resized(source, dims, (size,)), dims, _normalization(norm, False), True).conj()
    )


# Several dimensions


@composite("fft_fftn")
def fftn(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    """self (*) -> (*, s, *) of complex, along the dimensions `dim`."""
    dims, sizes = _several(self, s, dim)
    source = _resized(_floating(self, True), dims, sizes)
    return _complex_transform(source, dims, norm, True) if dims else source.clone()


@composite("fft_ifftn")
def ifftn(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    """self (*) -> (*, s, *) of complex, along the dimensions `dim`."""
    dims, sizes = _several(self, s, dim)
    source = _resized(_floating(self, True), dims, sizes)
    return _complex_transform(source, dims, norm, False) if dims else source.clone()


@composite("fft_rfftn")
def rfftn(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    """self (*) of real -> (*, s, *) of complex, along `dim`; s[-1] // 2 + 1 along the last of them."""
    source = _real_input(self, "rfftn expects a real-valued input tensor, but got")
    dims, sizes = _several(self, s, dim)
    if not dims:
        raise RuntimeError("rfftn must transform at least one axis")
    return find_overload("_fft_r2c").call(_resized(source, dims, sizes), dims, _normalization(norm, True), True)


@composite("fft_irfftn")
def irfftn(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    """self (*) -> (*, s, *) of real, along `dim`."""
    dims, sizes = _several(self, s, dim, last_scale=True)
    if not dims:
        raise RuntimeError("irfftn must transform at least one axis")
    source = _resized(_floating(self, True), dims, (*sizes[:-1], sizes[-1] // 2 + 1))
    return _c2r(source, dims, _normalization(norm, False), sizes[-1])


@composite("fft_hfftn")
def hfftn(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    """self (*) -> (*, s, *) of real, along `dim`."""
    dims, sizes = _several(self, s, dim, last_scale=True)
    if not dims:
        raise RuntimeError("hfftn must transform at least one axis")
    source = _resized(_floating(self, True), dims, (*sizes[:-1], sizes[-1] // 2 + 1))
    normalization = _normalization(norm, True)
    if len(dims) > 1:
        source = find_overload("_fft_c2c").call(source, dims[:-1], normalization, True)
    return _c2r(source.conj(), dims[-1:], normalization, sizes[-1])


@composite("fft_ihfftn")
def ihfftn(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    """self (*) of real -> (*, s, *) of complex, along `dim`; s[-1] // 2 + 1 along the last of them."""
    source = _real_input(self, "Only supports floating-point dtypes, but found:")
    dims, sizes = _several(self, s, dim)
    if not dims:
        raise RuntimeError("ihfftn must transform at least one axis")
    normalization = _normalization(norm, False)
    half = find_overload("_fft_r2c").call(_resized(source, dims, sizes), dims[-1:], normalization, True).conj()
    if len(dims) == 1:
        return half
    return find_overload("_fft_c2c").call(half, dims[:-1], normalization, False)


for _name, _function in (
    ("fft", fftn),
    ("ifft", ifftn),
    ("rfft", rfftn),
    ("irfft", irfftn),
    ("hfft", hfftn),
    ("ihfft", ihfftn),
):
    composite(f"fft_{_name}2")(_function)


# Frequencies and shifts


@composite("fft_fftfreq")
def fftfreq(n: int, d: float, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """-> (n,): the frequencies of `fft`'s results, for samples `d` apart."""
    check_options(layout, pin_memory)
    count = _counted("fftfreq", n, dtype, device)
    half = (n + 1) // 2
    return ops.where(count < half, count, count - n) * _step(n, d)


def _counted(name: str, n: int, dtype: Any, device: Any) -> Any:
    """0 ... n - 1, in the dtype of frequencies."""
    if dtype is not None and dtype.category < 2:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if dtype is not None and dtype.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtypes.scalar_type_name(dtype)}'")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    return ops.arange(n, dtype=dtype or dtypes.get_default_dtype(), device=device)


def _step(n: int, d: float) -> float:
    """Distance of neighbouring frequencies."""
    return 1.0 / (n * d) if n * d else math.inf


@composite("fft_rfftfreq")
def rfftfreq(n: int, d: float, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """-> (n // 2 + 1,): the frequencies of `rfft`'s results, for samples `d` apart."""
    check_options(layout, pin_memory)
    # C++ rounds halves of negative numbers towards zero.
    return _counted("rfftfreq", int(n / 2) + 1, dtype, device) * _step(n, d)


def _shifted(self: Any, dim: Any, towards_middle: bool) -> Any:
    dims = tuple(range(self.dim())) if dim is None else tuple(dim)
    shifts = [self.size(d) // 2 if towards_middle else (self.size(d) + 1) // 2 for d in dims]
    return self.roll(shifts, dims)


composite("fft_fftshift")(lambda self, dim: _shifted(self, dim, True))
composite("fft_ifftshift")(lambda self, dim: _shifted(self, dim, False))


# Short-time transforms


@composite("stft.center")
def stft(
    self: Any,
    n_fft: int,
    hop_length: Any,
    win_length: Any,
    window: Any,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: Any,
    return_complex: Any,
    align_to_window: Any,
) -> Any:
    """self (L,) or (B, L) -> (B, F, T) of complex, or (B, F, T, 2); F frequencies, T frames, `hop_length` apart.

    Where windows are shorter than the transform, the first begins at the signal's start with `align_to_window`; else
    it is laid in the middle of the first `n_fft` samples.
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if window is None:
        warn_once(_LEAKAGE)
    hop = _floor(n_fft, 4) if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    return_complex = _says_complex(self, window, return_complex)
    signal = _centered(self, n_fft, pad_mode) if center and self.dim() in (1, 2, 3) else self
    options = {"normalized": normalized, "onesided": onesided, "return_complex": return_complex}
    call = _Call("stft", signal, n_fft, hop, length, window, **options, align_to_window=align_to_window)
    _check_signal(call, signal, n_fft, hop, length, window)
    rows = signal if signal.dim() == 2 else signal.unsqueeze(0)
    if align_to_window:
        before = (n_fft - length) // 2
        rows = ops.constant_pad_nd(rows, (before, n_fft - length - before), 0)
    frames = rows.unfold(-1, n_fft, hop)
    shape = _full_window(window, length, n_fft, signal)
    if shape is not None:
        frames = frames * shape
    spectrum = _spectra(frames, onesided, normalized).transpose_(1, 2)
    result = spectrum if self.dim() == 2 else spectrum.squeeze_(0)
    if return_complex:
        return result
    warn_once(_REAL_RESULT)
    return ops.view_as_real(result)


_LEAKAGE = (
    "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other "
    "windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress "
    "this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
_REAL_RESULT = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for "
    "all inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the "
    "complex output to recover the old return format."
)
_SHORT = (
    "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please "
    "check your center and hop_length settings."
)
_LOSS = (
    "A window was not provided. A rectangular window will be applied.Please provide the same window used by stft to "
    "make the inversion lossless.To suppress this warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`."
)


def _says_complex(self: Any, window: Any, return_complex: bool | None) -> bool:
    if return_complex is not None:
        return return_complex
    if not self.is_complex() and not (window is not None and window.is_complex()):
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require "
            "that return_complex=True in a future PyTorch release."
        )
    return True


def _floor(a: int, b: int) -> int:
    """a / b, rounded towards zero as in C++."""
    return a // b if a >= 0 else -(-a // b)


def _centered(self: Any, n_fft: int, pad_mode: str) -> Any:
    """Half a transform more on both sides."""
    half = _floor(n_fft, 2)
    rows = self.reshape((1,) * (3 - self.dim()) + tuple(self.shape))
    padded = ops.pad(rows, (half, half), pad_mode)
    return padded.reshape(padded.shape[-self.dim() :])


class _Call:
    """What PyTorch says of a call before it says what is wrong with it."""

    def __init__(self, name: str, signal: Any, n_fft: int, hop: int, win: int, window: Any, **options: Any) -> None:
        shown = {"n_fft": n_fft, "hop_length": hop, "win_length": win, "window": None, **options}
        if window is not None:
            shown["window"] = f"{type_text(window)}{{{list(window.shape)}}}"
        words = (f"{k}={int(v) if isinstance(v, bool) else v}" for k, v in shown.items())
        self.words = f"{name}({type_text(signal)}{list(signal.shape)}, {', '.join(words)})"

    def require(self, condition: bool, words: str) -> None:
        """Raise RuntimeError unless the condition holds."""
        if not condition:
            raise RuntimeError(f"{self.words} {words}")


def _check_signal(call: _Call, signal: Any, n_fft: int, hop: int, length: int, window: Any) -> None:
    call.require(signal.dtype.category >= 2, ": expected a tensor of floating point or complex values")
    call.require(signal.dim() in (1, 2), ": expected a 1D or 2D tensor")
    size = signal.shape[-1]
    call.require(0 < n_fft <= size, f": expected 0 < n_fft < {size}, but got n_fft={length}")
    call.require(hop > 0, f": expected hop_length > 0, but got hop_length={hop}")
    call.require(0 < length <= n_fft, f": expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None:
        fits = window.dim() == 1 and window.shape[0] == length
        words = f": expected a 1D window tensor of size equal to win_length={length}, but got window with size "
        call.require(fits, f"{words}{list(window.shape)}")


def _spectra(frames: Any, onesided: bool | None, normalized: bool) -> Any:
    """Transforms of frames (B, T, n_fft): (B, T, F)."""
    complex_ = frames.is_complex()
    half = not complex_ if onesided is None else onesided
    if complex_ and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else None
    return rfft(frames, None, -1, norm) if half else fft(frames, None, -1, norm)


def _full_window(window: Any, length: int, n_fft: int, like: Any) -> Any:
    """The window, padded to the transform's size on both sides; None for a plain one."""
    if length == n_fft:
        return window
    if window is None:
        window = ops.ones((length,), dtype=like.dtype, device=like.device)
    before = (n_fft - length) // 2
    return ops.constant_pad_nd(window, (before, n_fft - length - before), 0)


@composite("istft")
def istft(
    self: Any,
    n_fft: int,
    hop_length: Any,
    win_length: Any,
    window: Any,
    center: bool,
    normalized: bool,
    onesided: Any,
    length: Any,
    return_complex: bool,
) -> Any:
    """self (F, T) or (B, F, T) of complex -> (L,) or (B, L)."""
    if window is None:
        warn_once(_LOSS)
    hop = _floor(n_fft, 4) if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    options = {"center": center, "normalized": normalized, "onesided": onesided, "length": length}
    call = _Call("istft", self, n_fft, hop, win, window, **options, return_complex=return_complex)
    spectrum, half = _spectrum(call, self, n_fft, onesided)
    _check_windows(call, n_fft, hop, win, window)
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    frames = _frames(spectrum, half, n_fft, normalized, return_complex)
    if window is None or window.dtype.category < 2:
        like = {"dtype": self.dtype.to_real(), "device": self.device}
        window = ops.ones((win,), **like) if window is None else window.to(**like)
    result = _synthesized(call, frames, _full_window(window, win, n_fft, window), n_fft, hop, center, length)
    return result if self.dim() == 3 else result.squeeze(0)


def _frames(spectrum: Any, half: bool, n_fft: int, normalized: bool, complex_: bool) -> Any:
    """The signals (B, T, n_fft) of spectra (B, T, F)."""
    norm = "ortho" if normalized else None
    if complex_:
        return ifft(spectrum, None, -1, norm)
    source = spectrum if half else spectrum.narrow(-1, 0, n_fft // 2 + 1)
    return irfft(source, n_fft, -1, norm)


def _spectrum(call: _Call, self: Any, n_fft: int, onesided: Any) -> tuple[Any, bool]:
    """(frames (B, T, F), whether they hold half of the frequencies)."""
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    # PyTorch counts the two parts of a number as a dimension.
    for dim in (-2, -3):
        wrap_dim(dim, self.dim() + 1)
    call.require(self.numel() > 0, ": input tensor cannot be empty.")
    call.require(self.dim() in (2, 3), f": expected a tensor with 3 or 4 dimensions, but got {self.dim() + 1}")
    spectrum = (self if self.dim() == 3 else self.unsqueeze(0)).transpose(1, 2)
    bins = spectrum.shape[-1]
    half = bins != n_fft if onesided is None else onesided
    which, size = ("/ 2 + 1 when onesided=True", _floor(n_fft, 2) + 1) if half else ("when onesided=False", n_fft)
    words = ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft"
    call.require(bins == size, f"{words} {which}, but got {bins}")
    return spectrum, half


def _check_windows(call: _Call, n_fft: int, hop: int, win: int, window: Any) -> None:
    call.require(0 < hop <= win, ": expected 0 < hop_length <= win_length")
    call.require(0 < win <= n_fft, ": expected 0 < win_length <= n_fft")
    if window is not None:
        fits = window.dim() == 1 and window.shape[0] == win
        call.require(fits, ": Invalid window shape. window has to be 1D and length of `win_length`")


def _synthesized(call: _Call, frames: Any, shape: Any, n_fft: int, hop: int, center: bool, length: Any) -> Any:
    """The signals (B, L) of frames (B, T, n_fft) that a window of this shape was laid on."""
    count = frames.shape[1]
    total = n_fft + hop * (count - 1)
    signal = _overlap_add(frames * shape, total, n_fft, hop)
    envelope = _overlap_add((shape * shape).expand((1, count, n_fft)), total, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal, envelope = (
        signal.narrow(1, start, min(end, total) - start),
        envelope.narrow(1, start, min(end, total) - start),
    )
    call.require(float(seen_through(envelope).abs().min()) >= 1e-11, "window overlap add min: 1\n[ CPUBoolType{} ]")
    result = signal / envelope
    if end > total:
        warn_once(_SHORT)
        result = ops.constant_pad_nd(result, (0, end - total), 0)
    return result


def _overlap_add(frames: Any, total: int, n_fft: int, hop: int) -> Any:
    """Frames added up at their places: (batch, total)."""
    batch, count = frames.shape[:2]
    place = ops.arange(count, device=frames.device).unsqueeze(1) * hop + ops.arange(n_fft, device=frames.device)
    return frames.new_zeros((batch, total)).index_add(1, place.reshape(-1), frames.reshape((batch, count * n_fft)))
