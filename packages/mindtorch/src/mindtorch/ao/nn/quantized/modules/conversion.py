"""Modules that quantize by parameters that are part of the state, and that give floating-point numbers back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mt_core as mt
from mt_nn.modules import Module

__all__ = ["DeQuantize", "Quantize"]


class Quantize(Module):
    """Quantizes its input by one scale and one zero point, the buffers of these names.

    Parameters
    ----------
    scale, zero_point : float and int, or Tensor of shape (1,)
        What the numbers of the result are counted in, and which of them stands for 0.
    dtype : torch.dtype
        `quint8`, `qint8` or `qint32`.
    factory_kwargs : Mapping, optional
        The `device` of the buffers and the `dtype` of `scale`; another name raises TypeError.
    """

    scale: mt.Tensor
    zero_point: mt.Tensor

    def __init__(
        self, scale: Any, zero_point: Any, dtype: mt.dtype, factory_kwargs: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        given = dict(factory_kwargs or {})
        device, scale_dtype = given.pop("device", None), given.pop("dtype", None)
        if given:
            raise TypeError(f"unexpected kwargs {set(given)}")
        self.register_buffer("scale", _one_element(scale, scale_dtype, device))
        self.register_buffer("zero_point", _one_element(zero_point, mt.int64, device))
        self.dtype = dtype

    def forward(self, X: mt.Tensor) -> mt.Tensor:
        """The argument quantized."""
        return mt.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Module, use_precomputed_fake_quant: bool = False) -> Quantize:
        """The module for what the observer of `mod` has seen; its observer has the parameters in every case."""
        observer: Any = mod.activation_post_process
        scale, zero_point = observer.calculate_qparams()
        return Quantize(scale.float().item(), zero_point.long().item(), observer.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Makes floating-point numbers of a quantized input."""

    def forward(self, Xq: mt.Tensor) -> mt.Tensor:
        """The argument's numbers in single precision."""
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Module, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """A module; there is nothing to take from `mod`."""
        return DeQuantize()


def _one_element(value: Any, dtype: mt.dtype | None, device: Any) -> mt.Tensor:
    return value if isinstance(value, mt.Tensor) else mt.tensor([value], dtype=dtype, device=device)
