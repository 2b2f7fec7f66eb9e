"""``torch.fft``: Fourier transforms."""

from mt_core.tensor import Tensor as Tensor

from ._operator_module import operator_module

__all__ = """
    Tensor fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2
    rfftfreq rfftn
""".split()

__getattr__, __dir__ = operator_module(__name__, "fft_")
