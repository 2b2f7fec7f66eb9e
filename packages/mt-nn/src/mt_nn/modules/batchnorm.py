"""Batch normalization."""

from typing import Any

import mt_core as mt
from mt_core import Tensor

from .. import functional as F
from .. import init
from .._process_groups import default_process_group
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from ._synchronized import SynchronizedBatchNorm
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """What batch and instance normalization share: learned weights and running statistics of each channel.

    Parameters
    ----------
    num_features
        Number of channels C.
    eps
        Added to the variance.
    momentum
        The weight of a batch in the running statistics; `None` makes them the mean over all batches.
    affine
        Whether to scale and shift by learned weights.
    track_running_stats
        Whether to keep running statistics, which evaluation then uses.
    bias
        Whether to shift.

    Attributes
    ----------
    weight
        Shape (C,), initially 1.
    bias
        Shape (C,), initially 0.
    running_mean
        Shape (C,), initially 0.
    running_var
        Shape (C,), initially 1.
    num_batches_tracked
        How many batches the running statistics have seen.
    """

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(mt.empty(num_features, **factory_kwargs)) if wanted else None)
        if track_running_stats:
            self.register_buffer("running_mean", mt.zeros(num_features, **factory_kwargs))
            self.register_buffer("running_var", mt.ones(num_features, **factory_kwargs))
            self.register_buffer("num_batches_tracked", mt.tensor(0, dtype=mt.long, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget all batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros, and forget all batches."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Versions before 2 kept no count of batches."""
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                own = self.num_batches_tracked
                keep = own is not None and not own.is_meta
                state_dict[key] = own if keep else mt.tensor(0, dtype=mt.long)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    """Normalizes each channel over the batch (Ioffe and Szegedy 2015)."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._count_batch()
        use_batch_stats = self.training or (self.running_mean is None and self.running_var is None)
        keep_running = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep_running else None,
            self.running_var if keep_running else None,
            self.weight,
            self.bias,
            use_batch_stats,
            factor,
            self.eps,
        )

    def _count_batch(self) -> float:
        """Count a training batch, and say how much it weighs in the running statistics."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / float(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalization that takes `num_features` from its first input."""

    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__(0, eps, momentum, False, False, **factory_kwargs)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if self.affine:
            self.weight = UninitializedParameter(**factory_kwargs)
            if bias:
                self.bias = UninitializedParameter(**factory_kwargs)
        if self.track_running_stats:
            self.running_mean = UninitializedBuffer(**factory_kwargs)
            self.running_var = UninitializedBuffer(**factory_kwargs)
            self.num_batches_tracked = mt.tensor(0, dtype=mt.long, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Shape the parameters and buffers after an input of shape (N, C, *)."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        tensors: list[Any] = [self.weight, self.bias] if self.affine else []
        if self.track_running_stats:
            tensors += [self.running_mean, self.running_var]
        for tensor in tensors:
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


def _check_dim(input: Tensor, allowed: tuple[int, ...], expected: str) -> None:
    if input.dim() not in allowed:
        raise ValueError(f"expected {expected} input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    """Batch normalization of inputs of shape (N, C) or (N, C, L)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _check_dim(input, (2, 3), "2D or 3D")


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm1d` that takes `num_features` from its first input."""

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class BatchNorm2d(_BatchNorm):
    """Batch normalization of inputs of shape (N, C, H, W)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _check_dim(input, (4,), "4D")


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm2d` that takes `num_features` from its first input."""

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class BatchNorm3d(_BatchNorm):
    """Batch normalization of inputs of shape (N, C, D, H, W)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _check_dim(input, (5,), "5D")


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm3d` that takes `num_features` from its first input."""

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes of a group, which outside one is this process's alone.

    Inputs have the shape (N, C, *). Arguments are those of the other batch normalizations, and `process_group`: the
    default one for None. PyTorch refuses inputs on the CPU once there is a process group; here they are normalized.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any | None = None,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        group = self.process_group if self.process_group is not None else default_process_group()
        if not self.training or group is None or group.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        factor = self._count_batch()
        result: Tensor = SynchronizedBatchNorm.apply(
            input, self.weight, self.bias, self.running_mean, self.running_var, self.eps, factor, group
        )
        return result

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any | None = None) -> Module:
        """A module tree with a `SyncBatchNorm`, sharing all state, in place of each batch normalization."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls._like(module, process_group)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted

    @classmethod
    def _like(cls, module: _BatchNorm, process_group: Any | None) -> "SyncBatchNorm":
        converted = cls(
            module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group
        )
        if module.affine:
            converted.weight = module.weight
            converted.bias = module.bias
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            setattr(converted, name, getattr(module, name))
        converted.training = module.training
        return converted
