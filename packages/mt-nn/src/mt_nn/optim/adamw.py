"""AdamW: Adam with decoupled weight decay."""

import mt_core as mt

from .adam import Adam
from .optimizer import ParamsT

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself instead of entering the averages.

    Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019). Options as for :class:`Adam`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-3,
        betas: tuple[float | mt.Tensor, float | mt.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        # A checkpoint of the time when Adam and AdamW were unrelated does not say which decay it means.
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
