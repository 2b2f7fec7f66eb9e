"""``torch.fft``: Fourier transforms."""

from ._operator_module import operator_module

__getattr__, __dir__ = operator_module(__name__, "fft_")
