"""Linear layers with integer weights, which quantize their input as it comes."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core.api import _functions as ops
from mt_core.quantized.tensors import PerTensor
from mt_nn.modules import Linear as _Linear
from mt_nn.modules import Module

__all__ = ["Linear", "LinearPackedParams"]

_DTYPES = (mt.qint8, mt.float16)


class LinearPackedParams(Module):
    """The weight (out, in), quantized to qint8 or rounded to float16, and the bias (out) of a layer.

    A checkpoint has both under one name, ``_packed_params``, beside ``dtype``.
    """

    _version = 3

    def __init__(self, dtype: mt.dtype = mt.qint8) -> None:
        super().__init__()
        if dtype not in _DTYPES:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        self.dtype = dtype
        self._packed_params: tuple[Any, Any] = (None, None)

    def set_weight_bias(self, weight: Any, bias: Any) -> None:
        """Take a weight, of the dtype that the layer has, and a bias or None."""
        if self.dtype is mt.qint8 and not weight.is_quantized:
            raise RuntimeError("a weight of dtype torch.qint8 is a quantized tensor")
        if self.dtype is mt.float16:
            weight = weight.half().float()
        self._packed_params = (weight, bias)

    def _weight_bias(self) -> tuple[Any, Any]:
        return self._packed_params

    def forward(self, x: Any) -> Any:
        """The argument: nothing is computed here."""
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:  # fmt: skip
        version = local_metadata.get("version", None)
        if version is None or version < 3:
            raise NotImplementedError(
                f"state of a quantized linear layer in version {version} is not supported: save it again with "
                "PyTorch 1.6 or later"
            )
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class Linear(Module):
    """A linear layer with a weight of qint8 or float16, for inference.

    Each input is quantized to 7 bits by its own least and greatest element; products are summed as integers.

    Parameters
    ----------
    in_features, out_features : int
    bias_ : bool
        Whether there is a bias.
    dtype
        ``torch.qint8`` or ``torch.float16``.
    """

    _version = 4
    _FLOAT_MODULE = _Linear

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: mt.dtype = mt.qint8) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        bias = mt.zeros(out_features, dtype=mt.float32) if bias_ else None
        if dtype is mt.qint8:
            weight = ops._empty_affine_quantized([out_features, in_features], scale=1, zero_point=0, dtype=mt.qint8)
        elif dtype is mt.float16:
            weight = mt.zeros([out_features, in_features], dtype=mt.float32)
        else:
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, bias)
        self.scale = 1.0
        self.zero_point = 0
        self.version = self._version

    def forward(self, x: Any) -> Any:
        """x (*, in) of float32 -> (*, out).

        Raises
        ------
        RuntimeError
            For other dtypes and widths, and fewer than two dimensions.
        """
        if x.dtype is not mt.float32:
            raise RuntimeError(f"expected scalar type Float but found {_scalar_name(x)}")
        if x.dim() < 2:
            raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
        if x.shape[-1] != self.in_features:
            raise RuntimeError(f"The number of rows in the packB should be equal to K: {x.shape[-1]}")
        weight, bias = self._packed_params._weight_bias()
        with mt.no_grad():
            if self._packed_params.dtype is mt.float16:
                product = x @ weight.t()
            else:
                product = _integer_product(x, weight)
            return product if bias is None else product + bias

    def extra_repr(self) -> str:
        told = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        if self._packed_params.dtype is mt.qint8:
            told += f", qscheme={self.weight().qscheme()}"
        return told

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def weight(self) -> Any:
        """The weight (out, in)."""
        return self._packed_params._weight_bias()[0]

    def bias(self) -> Any:
        """The bias (out), or None."""
        return self._packed_params._weight_bias()[1]

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take a weight and a bias."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """The layer of an ordinary one that has a `qconfig`."""
        if type(mod) is not _Linear:
            raise AssertionError(f"nn.quantized.dynamic.Linear.from_float only works for [{_Linear.__name__!r}]")
        if getattr(mod, "qconfig", None) is None or mod.qconfig.weight is None:
            raise AssertionError("Input float module must have qconfig defined")
        observer = mod.qconfig.weight()
        dtype = observer.dtype
        if dtype not in _DTYPES:
            raise AssertionError(
                f"The only supported dtypes for dynamic quantized linear are qint8 and float16 got: {dtype}"
            )
        made = cls(mod.in_features, mod.out_features, dtype=dtype)
        weight = mod.weight.detach()
        if dtype is mt.qint8:
            observer(weight)
            weight = _quantized_weight(weight.float(), observer)
        made.set_weight_bias(weight, mod.bias)
        return made

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = mt.tensor(self.scale)
        destination[prefix + "zero_point"] = mt.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:  # fmt: skip
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )


def _scalar_name(tensor: Any) -> str:
    return mt.dtypes.scalar_type_name(tensor.dtype)  # type: ignore[no-any-return]


def _quantized_weight(weight: Any, observer: Any) -> Any:
    scale, zero_point = observer.calculate_qparams()
    if observer.qscheme in (mt.per_tensor_symmetric, mt.per_tensor_affine):
        return ops.quantize_per_tensor(weight, float(scale), int(zero_point), mt.qint8)
    if observer.qscheme in (mt.per_channel_symmetric, mt.per_channel_affine):
        scale, zero_point = scale.to(mt.float64), zero_point.to(mt.int64)
        return ops.quantize_per_channel(weight, scale, zero_point, observer.ch_axis, mt.qint8)
    raise ValueError("Unexpected qscheme in dynamic quantization of linear layers: " + repr(observer.qscheme))


def _integer_product(x: Any, weight: Any) -> Any:
    """x (*, in) in 7 bits, times the weight (out, in): sums of integers, which float64 holds exactly."""
    if not x.numel():
        return x.new_zeros((*x.shape[:-1], weight.shape[0]))
    scale, zero_point = ops._choose_qparams_per_tensor(x, True)
    left = ops.quantize_per_tensor(x, scale, zero_point, mt.quint8)
    integers = weight._array
    quantizer = integers.quantizer
    if isinstance(quantizer, PerTensor):
        scales: Any = mt.tensor(quantizer.scale, dtype=mt.float32, device=x.device)
        zero_points: Any = quantizer.zero_point
    else:
        scales, zero_points = quantizer.scales.to(mt.float32), quantizer.zero_points[:, None]
    summed = (left.int_repr().to(mt.float64) - zero_point) @ (integers.integers.to(mt.float64) - zero_points).t()
    return summed.to(mt.float32) * (scales * scale)
