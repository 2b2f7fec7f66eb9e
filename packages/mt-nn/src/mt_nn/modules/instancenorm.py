"""Instance normalization."""

import warnings
from typing import Any

import mt_core as mt
from mt_core import Tensor

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    """Normalizes each channel of each sample (Ulyanov et al. 2016). It learns and tracks nothing unless asked to."""

    #: Dimensions of a batch: N, C and the spatial ones.
    _batch_dim: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        """Dimensions of a single sample."""
        return self._batch_dim - 1

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self._batch_dim - 1, self._batch_dim):
            raise ValueError(f"expected {self._batch_dim - 1}D or {self._batch_dim}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        self._check_channels(input)
        if input.dim() == self._get_no_batch_dim():
            return self._normalize(input.unsqueeze(0)).squeeze(0)
        return self._normalize(input)

    def _check_channels(self, input: Tensor) -> None:
        feature_dim = input.dim() - self._get_no_batch_dim()
        if input.size(feature_dim) == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={feature_dim} to match num_features ({self.num_features}), but got: "
                f"{input.size(feature_dim)}."
            )
        warnings.warn(
            f"input's size at dim={feature_dim} does not match num_features. You can silence this warning by not "
            "passing in num_features, which is not used because affine=False",
            stacklevel=3,
        )

    def _normalize(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
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
        """Versions before 2 kept running statistics although nothing used them."""
        version = local_metadata.get("version", None)
        if version is None and not self.track_running_stats:
            stray = [key for key in (prefix + "running_mean", prefix + "running_var") if key in state_dict]
            if stray:
                names = " and ".join(f'"{key}"' for key in stray)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {self.__class__.__name__} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be expected "
                    f"because {self.__class__.__name__} does not track running stats by default since 0.4.0. Please "
                    "remove these keys from state_dict. If the running stats are actually needed, instead set "
                    f"track_running_stats=True in {self.__class__.__name__} to enable them. See the documentation of "
                    f"{self.__class__.__name__} for details."
                )
                for key in stray:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of inputs of shape (N, C, L) or (C, L)."""

    _batch_dim = 3


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm1d` that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm1d
    _batch_dim = 3


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of inputs of shape (N, C, H, W) or (C, H, W)."""

    _batch_dim = 4


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm2d` that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm2d
    _batch_dim = 4


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of inputs of shape (N, C, D, H, W) or (C, D, H, W)."""

    _batch_dim = 5


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm3d` that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm3d
    _batch_dim = 5
