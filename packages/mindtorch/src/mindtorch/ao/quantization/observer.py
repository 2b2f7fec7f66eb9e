"""Observers: what watches tensors and tells the scale and zero point that hold them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import mt_core as mt
from mt_core.api import _functions as ops
from mt_nn.modules import Module

__all__ = [
    "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "NoopObserver",
    "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver", "UniformQuantizationObserverBase",
    "default_dynamic_quant_observer", "default_observer", "default_per_channel_weight_observer",
    "default_placeholder_observer", "default_weight_observer",
]  # fmt: skip

_SYMMETRIC = (mt.per_tensor_symmetric, mt.per_channel_symmetric)
_SCHEMES = (
    mt.per_tensor_affine, mt.per_tensor_symmetric, mt.per_channel_affine, mt.per_channel_symmetric,
    mt.per_channel_affine_float_qparams,
)  # fmt: skip
#: dtype -> its least and greatest integers, and those with one bit less.
_RANGES = {
    mt.qint8: ((-128, 127), (-64, 63)), mt.int8: ((-128, 127), (-64, 63)),
    mt.quint8: ((0, 255), (0, 127)), mt.uint8: ((0, 255), (0, 127)),
    mt.qint32: ((-(2**31), 2**31 - 1), (-(2**31), 2**31 - 1)), mt.int32: ((-(2**31), 2**31 - 1), (-(2**31), 2**31 - 1)),
    mt.int16: ((-(2**15), 2**15 - 1), (-(2**15), 2**15 - 1)),
}  # fmt: skip


class _Partial:
    """A class with some of its arguments: each call makes an observer."""

    def __init__(self, p: Any) -> None:
        self.p = p
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.p(*args, **{**{name: make() for name, make in self.callable_args.items()}, **keywords})

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> _Partial:
        """The same with more arguments."""
        made = _Partial(partial(self.p, **kwargs))
        made.callable_args = dict(self.callable_args)
        return made

    def with_callable_args(self, **kwargs: Any) -> _Partial:
        """The same with arguments that are made anew for each observer."""
        made = _Partial(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


class ObserverBase(ABC, Module):
    """What watches a tensor of a dtype; called with a tensor, it returns it."""

    def __init__(self, dtype: mt.dtype, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """Watch a tensor, and return it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> _Partial:
        """What makes observers with these arguments."""
        return _Partial(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> _Partial:
        """What makes observers with arguments that are made anew for each."""
        return _Partial(cls).with_callable_args(**kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """What finds one scale for all integers from `quant_min` to `quant_max`, from a least and a greatest number."""

    eps: mt.Tensor
    quant_min: int
    quant_max: int

    def __init__(
        self, dtype: mt.dtype = mt.quint8, qscheme: Any = mt.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = mt.finfo(mt.float32).eps, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(dtype, is_dynamic, **kwargs)
        if qscheme not in _SCHEMES:
            raise AssertionError(
                "Default Observer only works for per_tensor_affine, per_tensor_symmetric, per_channel_affine, "
                "per_channel_symmetric and per_channel_float_qparams quantization scheme"
            )
        if dtype not in _RANGES:
            raise NotImplementedError(f"observers of dtype {dtype} are not supported; those of {list(_RANGES)} are")
        self.qscheme = qscheme
        self.reduce_range = reduce_range
        self.register_buffer("eps", mt.tensor([eps], **(factory_kwargs or {})))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if quant_min is not None and quant_max is not None:
            self._check_range(quant_min, quant_max)
            self.quant_min, self.quant_max = quant_min, quant_max
            if reduce_range:
                self.quant_min, self.quant_max = quant_min // 2, quant_max // 2
        else:
            self.quant_min, self.quant_max = _RANGES[dtype][reduce_range]

    @staticmethod
    def _check_range(quant_min: Any, quant_max: Any) -> None:
        if not quant_min <= 0 <= quant_max:
            raise AssertionError("Used-specified quantization range must include 0.")
        if not quant_min < quant_max:
            raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")

    def _calculate_qparams(self, min_val: Any, max_val: Any) -> tuple[Any, Any]:
        """The scale (1) and zero point (1), or those of channels, by which integers hold the range, and zero."""
        if not min_val.numel() or not max_val.numel():
            return mt.tensor([1.0], device=self.eps.device), mt.tensor([0], device=self.eps.device)
        low, high = self.quant_min, self.quant_max
        least, greatest = min_val.clamp(max=0), max_val.clamp(min=0)
        device = least.device
        scale = ops.ones(least.size(), dtype=mt.float32, device=device)
        zero_point = ops.zeros(least.size(), dtype=mt.int64, device=device)
        if self.qscheme in _SYMMETRIC:
            greatest = ops.maximum(-least, greatest)
            scale = ops.maximum(greatest / (float(high - low) / 2), self.eps)
            if self.dtype in (mt.quint8, mt.uint8):
                middle = (low + high) // 2 if self.has_customized_qrange else 128
                zero_point = zero_point.new_full(zero_point.size(), middle)
        elif self.qscheme is mt.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / float(high - low)
            scale = ops.where(scale > self.eps, scale, ops.ones_like(scale))
            zero_point = -1 * min_val / scale
        else:
            scale = ops.maximum((greatest - least) / float(high - low), self.eps)
            zero_point = (low - (least / scale).round().to(mt.int)).clamp(low, high)
        if not scale.dim():
            scale = mt.tensor([float(scale)], dtype=scale.dtype, device=device)
        if not zero_point.dim():
            is_float = self.qscheme is mt.per_channel_affine_float_qparams
            number = float(zero_point) if is_float else int(zero_point)
            zero_point = mt.tensor([number], dtype=zero_point.dtype, device=device)
        return scale, zero_point

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:  # fmt: skip
        for name in ("min_val", "max_val"):  # as many as there are channels
            if prefix + name in state_dict and hasattr(self, name):
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class MinMaxObserver(UniformQuantizationObserverBase):
    """Watches the least and the greatest number so far."""

    min_val: mt.Tensor
    max_val: mt.Tensor

    def __init__(
        self, dtype: mt.dtype = mt.quint8, qscheme: Any = mt.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = mt.finfo(mt.float32).eps, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme not in (mt.per_tensor_affine, mt.per_tensor_symmetric):
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        options = factory_kwargs or {}
        self.register_buffer("min_val", mt.tensor(float("inf"), **options))
        self.register_buffer("max_val", mt.tensor(float("-inf"), **options))
        if qscheme is mt.per_tensor_symmetric and reduce_range and dtype is mt.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def forward(self, x_orig: Any) -> Any:
        """x (*) -> the same."""
        if x_orig.numel():
            least, greatest = ops.aminmax(x_orig.detach().to(self.min_val.dtype))
            self.min_val.copy_(ops.minimum(least, self.min_val))
            self.max_val.copy_(ops.maximum(greatest, self.max_val))
        return x_orig

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """The scale (1) and the zero point (1)."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was watched."""
        self.min_val.copy_(mt.tensor(float("inf")))
        self.max_val.copy_(mt.tensor(float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Watches running averages of the least and the greatest number."""

    def __init__(
        self, averaging_constant: float = 0.01, dtype: mt.dtype = mt.quint8, qscheme: Any = mt.per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        eps: float = mt.finfo(mt.float32).eps, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        self.averaging_constant = averaging_constant
        super().__init__(
            dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max, eps=eps,
            is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip

    def forward(self, x_orig: Any) -> Any:
        """x (*) -> the same."""
        if x_orig.numel():
            least, greatest = ops.aminmax(x_orig.detach().to(self.min_val.dtype))
            if self.min_val == float("inf") and self.max_val == float("-inf"):
                self.min_val.copy_(least)
                self.max_val.copy_(greatest)
            else:
                self.min_val.copy_(self.min_val + self.averaging_constant * (least - self.min_val))
                self.max_val.copy_(self.max_val + self.averaging_constant * (greatest - self.max_val))
        return x_orig


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Watches the least and the greatest number of each index of a dimension."""

    min_val: mt.Tensor
    max_val: mt.Tensor

    def __init__(
        self, ch_axis: int = 0, dtype: mt.dtype = mt.quint8, qscheme: Any = mt.per_channel_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        factory_kwargs: Any = None, eps: float = mt.finfo(mt.float32).eps, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support torch.per_channel_symmetric and "
                "torch.per_channel_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        options = factory_kwargs or {}
        self.ch_axis = ch_axis
        self.register_buffer("min_val", mt.tensor([], **options))
        self.register_buffer("max_val", mt.tensor([], **options))
        if qscheme is mt.per_channel_symmetric and reduce_range and dtype is mt.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def _of_channels(self, x: Any) -> tuple[Any, Any]:
        flat = x.to(self.min_val.dtype).movedim(self.ch_axis, 0).flatten(1)
        least, greatest = ops.aminmax(flat, dim=1)
        return least, greatest

    def _combined(self, least: Any, greatest: Any) -> tuple[Any, Any]:
        return ops.minimum(least, self.min_val), ops.maximum(greatest, self.max_val)

    def forward(self, x_orig: Any) -> Any:
        """x (*) -> the same."""
        if x_orig.numel():
            least, greatest = self._of_channels(x_orig.detach())
            if self.min_val.numel() and self.max_val.numel():
                least, greatest = self._combined(least, greatest)
            self.min_val.resize_(least.shape)
            self.max_val.resize_(greatest.shape)
            self.min_val.copy_(least)
            self.max_val.copy_(greatest)
        return x_orig

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """The scales (channels) and the zero points (channels)."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was watched."""
        self.min_val = ops.empty(0)
        self.max_val = ops.empty(0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Watches running averages of the least and the greatest number of each index of a dimension."""

    def __init__(
        self, averaging_constant: float = 0.01, ch_axis: int = 0, dtype: mt.dtype = mt.quint8,
        qscheme: Any = mt.per_channel_affine, reduce_range: bool = False, quant_min: int | None = None,
        quant_max: int | None = None, eps: float = mt.finfo(mt.float32).eps, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min,
            quant_max=quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip
        self.averaging_constant = averaging_constant

    def _combined(self, least: Any, greatest: Any) -> tuple[Any, Any]:
        rate = self.averaging_constant
        return self.min_val + rate * (least - self.min_val), self.max_val + rate * (greatest - self.max_val)


class PlaceholderObserver(ObserverBase):
    """Watches nothing: it says which dtype a tensor is to have."""

    def __init__(
        self, dtype: mt.dtype = mt.float32, custom_op_name: str = "", compute_dtype: mt.dtype | None = None,
        quant_min: int | None = None, quant_max: int | None = None, qscheme: Any = None, eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(dtype, is_dynamic or bool(compute_dtype))
        self.qscheme = mt.per_tensor_affine if qscheme is None else qscheme
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.eps = eps
        self.custom_op = custom_op_name

    def forward(self, x: Any) -> Any:
        """x (*) -> the same."""
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Refuse: nothing was watched."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class NoopObserver(ObserverBase):
    """Watches nothing."""

    def __init__(self, dtype: mt.dtype = mt.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x: Any) -> Any:
        """x (*) -> the same."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Refuse: nothing was watched."""
        raise Exception("calculate_qparams should not be called for NoopObserver")


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_weight_observer = MinMaxObserver.with_args(dtype=mt.qint8, qscheme=mt.per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=mt.qint8, qscheme=mt.per_channel_symmetric
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=mt.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
