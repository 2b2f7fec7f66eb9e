"""What programs tell `FullyShardedDataParallel`: strategies, dtypes, and which kind of state they want."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import mt_core as mt
from mt_nn.modules.batchnorm import _BatchNorm

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(Enum):
    """What is spread: all (and gathered again for the backward), all but whole parameters between, or nothing.

    The last two spread within the second dimension of a mesh, and have the same over the first.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the parameters that a backward needs next are begun to be gathered."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Whole tensors, this rank's part of flat ones, or parts of each tensor."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """What names parameters in the state of an optimizer."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class MixedPrecision:
    """Dtypes; None for what is there.

    Parameters
    ----------
    param_dtype
        Of whole parameters, and of gradients as they are computed.
    reduce_dtype
        Of gradients as they are reduced; `param_dtype` for None.
    buffer_dtype
        Of buffers.
    keep_low_precision_grads
        Refused: gradients have the dtype of the parameters.
    cast_forward_inputs, cast_root_forward_inputs
        Whether what forwards are given becomes `param_dtype`; the root's, for the second.
    """

    param_dtype: mt.dtype | None = None
    reduce_dtype: mt.dtype | None = None
    buffer_dtype: mt.dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[Any] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether parameters lie on the CPU while they are not computed with; here they do anyway."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """How states of modules are told."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole tensors, on rank 0 alone with `rank0_only`."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Parts of flat parameters: refused."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Parts of each tensor, as distributed tensors."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How states of optimizers are told."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole tensors, on rank 0 alone with `rank0_only`."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Parts of flat parameters: refused."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Parts of each tensor, as distributed tensors."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """Which kind of state, and how."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
