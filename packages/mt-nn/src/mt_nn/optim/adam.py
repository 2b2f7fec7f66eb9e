"""Adam."""

from typing import Any

import mt_core as mt
from mt_core.api import _functions as ops

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    add_quotient_,
    advance,
    average_square_,
    check_betas,
    check_fused,
    check_learning_rate,
    check_not_negative,
    decay_weights_,
    learning_rate,
    new_step,
    number,
    with_weight_decay,
)

__all__ = ["Adam"]


class Adam(PerParameterOptimizer):
    """Adam: steps scaled by running averages of the gradient and of its square.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014); ``amsgrad`` as in Reddi et al., "On the
    Convergence of Adam and Beyond" (2018), keeps the greatest average of squares so far.

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, betas, eps, weight_decay, amsgrad, maximize
        Options of a group. ``lr`` and both ``betas`` may be tensors of one element.
    decoupled_weight_decay
        Whether weight decay shrinks the parameter itself, as in :class:`AdamW`, or enters its gradient.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-3,
        betas: tuple[float | mt.Tensor, float | mt.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_learning_rate(lr)
        _check_tensor_options(lr, betas, bool(foreach), capturable)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _refuse_sparse_gradient(self) -> None:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        state = {
            "step": new_step(parameter, group),
            "exp_avg": mt.zeros_like(parameter, memory_format=mt.preserve_format),
            "exp_avg_sq": mt.zeros_like(parameter, memory_format=mt.preserve_format),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = mt.zeros_like(parameter, memory_format=mt.preserve_format)
        return state

    def _update(self, parameter: Any, gradient: Any, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        step = advance(state, group)
        if group["decoupled_weight_decay"]:
            decay_weights_(parameter, group)
        else:
            gradient = with_weight_decay(gradient, parameter, group["weight_decay"])
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        exp_avg.lerp_(gradient, 1 - beta1)
        average_square_(exp_avg_sq, gradient, beta2)
        if group["differentiable"]:  # the graph keeps them while the next step changes the state
            exp_avg, exp_avg_sq = exp_avg.clone(), exp_avg_sq.clone()
        if group["amsgrad"]:
            greatest = state["max_exp_avg_sq"]
            before = greatest.clone() if group["differentiable"] else greatest
            exp_avg_sq = greatest.copy_(before.maximum(exp_avg_sq))
        denominator = (exp_avg_sq.sqrt() / (1 - beta2**step) ** 0.5).add_(group["eps"])
        add_quotient_(parameter, exp_avg, denominator, -(learning_rate(group) / (1 - beta1**step)))

    def _fused_operator(
        self, parameters: list[Any], gradients: list[Any], states: list[State], group: Group, **scaling: Any
    ) -> None:
        beta1, beta2 = map(number, group["betas"])
        step: Any = ops._fused_adamw_ if group["decoupled_weight_decay"] else ops._fused_adam_
        averages: Any = [[state[name] for state in states] for name in ("exp_avg", "exp_avg_sq")]
        greatest = [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else []
        step(
            parameters, gradients, *averages, greatest, [state["step"] for state in states], amsgrad=group["amsgrad"],
            lr=group["lr"], beta1=beta1, beta2=beta2, weight_decay=group["weight_decay"], eps=group["eps"],
            maximize=group["maximize"], **scaling,
        )  # fmt: skip


def _check_tensor_options(lr: Any, betas: Any, foreach: bool, capturable: bool) -> None:
    if isinstance(lr, mt.Tensor) and foreach and not capturable:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
    are_tensors = [isinstance(beta, mt.Tensor) for beta in betas]
    if are_tensors[0] != are_tensors[1]:
        raise ValueError("betas must be either both floats or both Tensors")
    for index in (0, 1):
        if are_tensors[index] and foreach and not capturable:
            raise ValueError(f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True")
        if are_tensors[index] and betas[index].numel() != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element")
