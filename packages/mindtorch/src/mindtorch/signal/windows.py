"""``torch.signal.windows``: window functions.

After Harris 1978, "On the use of windows for harmonic analysis with the discrete Fourier transform". Each returns a
1-d tensor of `M` points; with ``sym=False`` the window is periodic: the first `M`
of the `M + 1` points of a symmetric one.
"""

import math
from collections.abc import Sequence
from typing import Any

import mt_core as mt

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip
__path__: list[str] = []  # the file that PyTorch has below is this one, too


class _Request:
    """What every window is asked for: size, symmetry, and the options of the tensor."""

    def __init__(
        self, name: str, size: int, sym: bool, dtype: Any, layout: Any, device: Any, requires_grad: bool
    ) -> None:
        self.dtype = dtype or mt.get_default_dtype()
        if size < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={size}")
        if layout is not mt.strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if self.dtype not in (mt.float32, mt.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {self.dtype}")
        self.size = size
        self.sym = sym
        self.device = device
        self.requires_grad = requires_grad

    @property
    def intervals(self) -> int:
        """Steps from the first point of the symmetric window to its last."""
        return self.size - 1 if self.sym else self.size

    def points(self) -> mt.Tensor:
        """0, 1, ... M - 1."""
        return mt.arange(self.size, dtype=self.dtype, device=self.device)

    def finish(self, window: mt.Tensor) -> mt.Tensor:
        return window.requires_grad_(self.requires_grad)

    def trivial(self) -> mt.Tensor | None:
        """The window of no point or of one."""
        if self.size == 0:
            return self.finish(mt.empty((0,), dtype=self.dtype, device=self.device))
        return self.finish(mt.ones((1,), dtype=self.dtype, device=self.device)) if self.size == 1 else None


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """exp(-|n - center| / tau); the middle where no center is given, as symmetric windows demand."""
    request = _Request("exponential", M, sym, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    trivial = request.trivial()
    if trivial is not None:
        return trivial
    middle = request.intervals / 2 if center is None else center
    return request.finish(mt.exp(-mt.abs(request.points() - middle) / tau))


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """sin(pi (n + 0.5) / M): half a wave."""
    request = _Request("cosine", M, sym, dtype, layout, device, requires_grad)
    trivial = request.trivial()
    if trivial is not None:
        return trivial
    return request.finish(mt.sin((request.points() + 0.5) * (math.pi / (M if sym else M + 1))))


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """exp(-((n - middle) / std)^2 / 2)."""
    request = _Request("gaussian", M, sym, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    trivial = request.trivial()
    if trivial is not None:
        return trivial
    scaled = (request.points() - request.intervals / 2) / (std * math.sqrt(2))
    return request.finish(mt.exp(-(scaled * scaled)))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """I0(beta sqrt(1 - ((n - middle) / middle)^2)) / I0(beta) (Kaiser and Schafer 1980)."""
    request = _Request("kaiser", M, sym, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    trivial = request.trivial()
    if trivial is not None:
        return trivial
    place = request.points() * (2 / request.intervals) - 1
    inside = mt.clamp(1 - place * place, min=0)
    scale = mt.tensor(float(beta), dtype=request.dtype, device=request.device)
    return request.finish(mt.i0(scale * mt.sqrt(inside)) / mt.i0(scale))


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """`general_hamming` with 0.54."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """`general_hamming` with 0.5."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """`general_cosine` with 0.42, 0.5, 0.08."""
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """`general_cosine` with the four-term minimum coefficients (Nuttall 1981)."""
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """1 - |n - middle| / middle: a triangle."""
    request = _Request("bartlett", M, sym, dtype, layout, device, requires_grad)
    trivial = request.trivial()
    if trivial is not None:
        return trivial
    return request.finish(1 - mt.abs(request.points() * (2 / request.intervals) - 1))


def general_cosine(
    M: int,
    *,
    a: Sequence[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """sum over k of (-1)^k a[k] cos(2 pi k n / intervals)."""
    request = _Request("general_cosine", M, sym, dtype, layout, device, requires_grad)
    trivial = request.trivial()
    if trivial is not None:
        return trivial
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    angle = request.points() * (2 * math.pi / request.intervals)
    window = mt.zeros_like(angle)
    for k, weight in enumerate(a):
        window = window + (-1) ** k * weight * mt.cos(k * angle)
    return request.finish(window)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = mt.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> mt.Tensor:
    """alpha - (1 - alpha) cos(2 pi n / intervals)."""
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )
