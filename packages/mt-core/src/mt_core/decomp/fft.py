"""Fourier transforms in terms of the three kernels."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..factories import check_options
from ..tensor import wrap_dim

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
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
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
    if last_scale and (s is None or s[-1] == -1) and dims:
        sizes[-1] = 2 * (self.shape[dims[-1]] - 1)
    for n in sizes:
        _positive(n)
    return dims, tuple(sizes)


def _real_input(self: Any, words: str) -> Any:
    if self.is_complex():
        raise RuntimeError(f"{words} {dtypes.scalar_type_name(self.dtype)}")
    return _floating(self, False)


def _c2r(self: Any, dims: Ints, normalization: int, size: int) -> Any:
    return find_overload("_fft_c2r").call(self, dims, normalization, size)


# One dimension


@composite("fft_fft")
def fft(self: Any, n: Any, dim: int, norm: Any) -> Any:
    """self (*, N, *) -> (*, n, *) of complex, along `dim`."""
    size, dims = _one(self, n, dim)
    return _complex_transform(_resized(_floating(self, True), dims, (size,)), dims, norm, True)


@composite("fft_ifft")
def ifft(self: Any, n: Any, dim: int, norm: Any) -> Any:
    """self (*, N, *) -> (*, n, *) of complex, along `dim`."""
    size, dims = _one(self, n, dim)
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
    return _r2c_then(_resized(source, dims, sizes), dims, _normalization(norm, True), True)


def _r2c_then(source: Any, dims: Ints, normalization: int, forward: bool) -> Any:
    """The real transform of the last dimension, the complex one of the others."""
    half = find_overload("_fft_r2c").call(source, dims[-1:], normalization, True)
    half = half if forward else half.conj()
    if len(dims) == 1:
        return half
    return find_overload("_fft_c2c").call(half, dims[:-1], normalization, forward)


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
    return _r2c_then(_resized(source, dims, sizes), dims, _normalization(norm, False), False)


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
    _frequency_dtype(dtype)
    count = ops.arange(n, dtype=dtype or dtypes.get_default_dtype(), device=device)
    half = (n + 1) // 2
    return ops.where(count < half, count, count - n) * (1.0 / (n * d))


def _frequency_dtype(dtype: Any) -> None:
    if dtype is not None and dtype.category < 2:
        raise RuntimeError(
            f"fftfreq requires a floating point or complex dtype, but got {dtypes.scalar_type_name(dtype)}"
        )


@composite("fft_rfftfreq")
def rfftfreq(n: int, d: float, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """-> (n // 2 + 1,): the frequencies of `rfft`'s results, for samples `d` apart."""
    check_options(layout, pin_memory)
    _frequency_dtype(dtype)
    count = ops.arange(n // 2 + 1, dtype=dtype or dtypes.get_default_dtype(), device=device)
    return count * (1.0 / (n * d))


def _shifted(self: Any, dim: Any, towards_middle: bool) -> Any:
    dims = tuple(range(self.dim())) if dim is None else tuple(dim)
    if not dims:
        return self.clone()
    shifts = [self.shape[d] // 2 if towards_middle else (self.shape[d] + 1) // 2 for d in dims]
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
    """self (L,) or (B, L) -> (B, F, T) of complex, or (B, F, T, 2); F frequencies, T frames, `hop_length` apart."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if return_complex is None:
        if not self.is_complex() and not (window is not None and window.is_complex()):
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require "
                "that return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if self.dim() not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {self.dim()}D")
    signal = self if self.dim() == 2 else self.unsqueeze(0)
    if center:
        signal = ops.pad(signal.unsqueeze(1), (n_fft // 2, n_fft // 2), pad_mode).squeeze(1)
    size = signal.shape[1]
    if not 0 < n_fft <= size:
        raise RuntimeError(f"stft: expected 0 < n_fft < {size}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"stft: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and (window.dim() != 1 or window.shape[0] != length):
        raise RuntimeError(
            f"stft: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window.shape)}"
        )
    frames = signal.unfold(-1, n_fft, hop)
    shape = _full_window(window, length, n_fft, signal)
    if shape is not None:
        frames = frames * shape
    complex_ = frames.is_complex()
    half = not complex_ if onesided is None else onesided
    if complex_ and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else None
    spectrum = rfft(frames, None, -1, norm) if half else fft(frames, None, -1, norm)
    spectrum = spectrum.transpose(1, 2)
    result = spectrum if self.dim() == 2 else spectrum.squeeze(0)
    return result if return_complex else ops.view_as_real(result.contiguous())


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
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    spectrum, half = _spectrum(self, n_fft, onesided)
    _check_windows(n_fft, hop, win, window)
    real = self.real if not self.is_conj() else self.conj().real
    shape = _full_window(
        window if window is not None else ops.ones((win,), dtype=real.dtype, device=real.device), win, n_fft, real
    )
    norm = "ortho" if normalized else None
    if return_complex:
        frames = ifft(spectrum, None, -1, norm)
    else:
        source = spectrum if half else spectrum.narrow(-1, 0, n_fft // 2 + 1)
        frames = irfft(source, n_fft, -1, norm)
    result = _synthesized(frames, shape, n_fft, hop, center, length)
    return result if self.dim() == 3 else result.squeeze(0)


def _spectrum(self: Any, n_fft: int, onesided: Any) -> tuple[Any, bool]:
    """(frames (B, T, F), whether they hold half of the frequencies)."""
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if self.dim() not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {self.dim()}")
    if not self.numel():
        raise RuntimeError("istft: input tensor cannot be empty.")
    spectrum = (self if self.dim() == 3 else self.unsqueeze(0)).transpose(1, 2)
    bins = spectrum.shape[-1]
    half = bins != n_fft if onesided is None else onesided
    if bins != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + "
            f"1 when onesided=True, but got {bins}"
        )
    return spectrum, half


def _check_windows(n_fft: int, hop: int, win: int, window: Any) -> None:
    if not 0 < hop <= win:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"istft: expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and (window.dim() != 1 or window.shape[0] != win):
        raise RuntimeError(f"istft: Invalid window shape. window has to be 1D and length of `win_length`={win}")


def _synthesized(frames: Any, shape: Any, n_fft: int, hop: int, center: bool, length: Any) -> Any:
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
    if float(envelope.abs().min()) < 1e-11:
        raise RuntimeError("window overlap add min: 1")
    result = signal / envelope
    if end > total:
        result = ops.constant_pad_nd(result, (0, end - total), 0)
    return result


def _overlap_add(frames: Any, total: int, n_fft: int, hop: int) -> Any:
    """Frames added up at their places: (batch, total)."""
    batch, count = frames.shape[:2]
    place = ops.arange(count, device=frames.device).unsqueeze(1) * hop + ops.arange(n_fft, device=frames.device)
    return frames.new_zeros((batch, total)).index_add(1, place.reshape(-1), frames.reshape((batch, count * n_fft)))
