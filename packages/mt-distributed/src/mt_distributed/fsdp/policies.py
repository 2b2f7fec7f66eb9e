"""In which dtypes and where `fully_shard` keeps parameters, computes and reduces."""

from __future__ import annotations

from dataclasses import dataclass

import mt_core as mt

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes; None for what is there.

    Parameters
    ----------
    param_dtype
        Of whole parameters, and of gradients as they are computed.
    reduce_dtype
        Of gradients as they are reduced; `param_dtype` for None.
    output_dtype
        Of what forwards give.
    cast_forward_inputs
        Whether what forwards are given becomes `param_dtype`.
    """

    param_dtype: mt.dtype | None = None
    reduce_dtype: mt.dtype | None = None
    output_dtype: mt.dtype | None = None
    cast_forward_inputs: bool = True

    def __post_init__(self) -> None:
        if self.param_dtype is not None and self.param_dtype == self.reduce_dtype:
            object.__setattr__(self, "reduce_dtype", None)


@dataclass
class OffloadPolicy:
    """Parameters stay where they are."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters, gradients and states of optimizers lie on the CPU; they are moved where they are computed with.

    Parameters
    ----------
    pin_memory
        Whether they lie in memory that another device copies from faster.
    """

    pin_memory: bool = True
