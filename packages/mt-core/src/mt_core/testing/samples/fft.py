"""Sample inputs: Fourier transforms."""

from __future__ import annotations

from ... import dtypes
from ..sample import call, cases

C64 = dtypes.complex64

cases(
    "_fft_c2c", lambda t: call(t(3, 4, dtype=C64), [1], 0, True), lambda t: call(t(3, 4, dtype=C64), [0, 1], 2, False)
)
cases("_fft_r2c", lambda t: call(t(3, 4), [1], 0, True), lambda t: call(t(3, 4), [0, 1], 0, False))
cases("_fft_c2r", lambda t: call(t(3, 4, dtype=C64), [1], 2, 6))
cases(
    "fft_fft fft_ifft fft_hfft fft_irfft",
    lambda t: call(t(3, 4, dtype=C64)),
    lambda t: call(t(3, 4, dtype=C64), 6, 0, "ortho"),
)
cases("fft_fft fft_ifft fft_rfft fft_ihfft", lambda t: call(t(3, 4)), lambda t: call(t(3, 4), 3, 0, "forward"))
cases(
    "fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_irfft2 fft_irfftn fft_hfft2 fft_hfftn",
    lambda t: call(t(3, 4, dtype=C64)),
    lambda t: call(t(3, 4, dtype=C64), [2, 6], norm="ortho"),
)
cases(
    "fft_rfft2 fft_rfftn fft_ihfft2 fft_ihfftn", lambda t: call(t(3, 4)), lambda t: call(t(3, 4), [2, 6], norm="ortho")
)
cases("fft_fftfreq fft_rfftfreq", lambda t: call(5), lambda t: call(4, 0.5, dtype=dtypes.float64))
cases("fft_fftshift fft_ifftshift", lambda t: call(t(3, 4)), lambda t: call(t(3, 4), [1]))
cases(
    "stft.center",
    lambda t: call(t(2, 20), 8, 4, window=t(8, low=0.5), return_complex=True),
    lambda t: call(t(20), 8, center=False, onesided=False, return_complex=True),
)
cases("istft", lambda t: call(t(2, 5, 6, dtype=C64), 8, 4, window=t(8, low=0.5)))

# Arguments away from their defaults.
cases(
    "fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_irfft2 fft_irfftn fft_hfft2 fft_hfftn",
    lambda t: call(t(3, 4, 2, dtype=C64), dim=[0, 1]),
    lambda t: call(t(3, 4, 2, dtype=C64), [5, 3], [1, 0], "forward"),
)
cases("fft_rfft2 fft_rfftn fft_ihfft2 fft_ihfftn", lambda t: call(t(3, 4, 2), [5, 3], [0, 1], "forward"))
cases("_fft_c2r", lambda t: call(t(3, 4, dtype=C64), [0, 1], 0, 7))
cases("_fft_r2c", lambda t: call(t(3, 4), [1, 0], 2, True), lambda t: call(t(3, 4), [0], 1, False))
cases("_fft_c2c", lambda t: call(t(3, 4, dtype=C64), [0], 1, False))
cases(
    "stft.center",
    lambda t: call(t(2, 20), 8, 3, 6, t(6, low=0.5), True, "constant", True, return_complex=True),
    lambda t: call(t(20), 6, pad_mode="replicate", return_complex=False),
    lambda t: call(t(20), 8, window=t(8, low=0.5), center=False, return_complex=True),
)
cases(
    "istft",
    lambda t: call(t(2, 4, 6, dtype=C64), 6, 2, 4, t(4, low=0.5), True, True, length=9),
    lambda t: call(t(8, 6, dtype=C64), 8, onesided=False, return_complex=True, window=t(8, low=0.5, dtype=C64)),
)
