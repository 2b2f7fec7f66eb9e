"""Whole updates of optimizers: ``_fused_adam_`` and its kin, on lists of parameters, gradients and states.

Half types are computed in float32 and rounded once, at the end of the update. As in PyTorch nothing is recorded: a
parameter is changed as under ``no_grad``, whatever the grad mode.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ..dispatch.registry import register_composite as composite
from ..dtypes import scalar_type_name
from ..keys import AUTOGRAD
from ..state import excluding
from ..tensor_lists import TensorList

__all__: list[str] = []

Tensors = list[Any]


def _rate(lr: Any) -> float:
    return lr if isinstance(lr, float) else lr.item()


def _is_left_out(found_inf: Any) -> bool:
    return found_inf is not None and found_inf.item() == 1


def _unscaled(gradients: Tensors, grad_scale: Any) -> None:
    if grad_scale is not None:
        TensorList(gradients).div_(grad_scale.item())


def _by_step(steps: Tensors) -> Iterator[tuple[float, list[int]]]:
    """Each number of steps, and the places of the items that have it."""
    places: defaultdict[float, list[int]] = defaultdict(list)
    for i, step in enumerate(steps):
        places[step.item()].append(i)
    yield from places.items()


def _on_wide(update: Callable[..., None], *lists: Tensors, written: tuple[int, ...]) -> None:
    """Call `update` with lists of what half types are computed in, and write back those at the places `written`."""
    wide = [[t if t.dtype.compute is t.dtype else t.to(t.dtype.compute) for t in tensors] for tensors in lists]
    update(*map(TensorList, wide))
    for place in written:
        for tensor, computed in zip(lists[place], wide[place], strict=True):
            if computed is not tensor:
                tensor.copy_(computed)


def _adam(
    self: Tensors, grads: Tensors, exp_avgs: Tensors, exp_avg_sqs: Tensors, max_exp_avg_sqs: Tensors, steps: Tensors,
    lr: Any, beta1: float, beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool,
    grad_scale: Any, found_inf: Any, *, decoupled: bool,
) -> None:  # fmt: skip
    if _is_left_out(found_inf):
        return
    rate = _rate(lr)
    _unscaled(grads, grad_scale)

    for step, places in _by_step(steps):

        def update(
            parameter: TensorList, gradient: TensorList, average: TensorList, square: TensorList,
            greatest: TensorList | None = None, step: float = step,
        ) -> None:  # fmt: skip
            gradient = -gradient if maximize else gradient
            if weight_decay != 0 and decoupled:
                parameter.mul_(1 - rate * weight_decay)
            elif weight_decay != 0:
                gradient = gradient.add(parameter, alpha=weight_decay)
            average.lerp_(gradient, 1 - beta1)
            square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            if greatest is not None:
                square = greatest.copy_(greatest.maximum(square))
            denominator = square.sqrt().div_((1 - beta2**step) ** 0.5).add_(eps)
            parameter.addcdiv_(average, denominator, value=-rate / (1 - beta1**step))

        lists = [self, grads, exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if amsgrad else [])]
        chosen = [[one[i] for i in places] for one in lists]
        _on_wide(update, *chosen, written=(0, *range(2, len(lists))))


def _sgd(
    self: Tensors, grads: Tensors, momentum_buffer_list: Tensors, weight_decay: float, momentum: float, lr: Any,
    dampening: float, nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: Any = None,
    found_inf: Any = None,
) -> None:  # fmt: skip
    if _is_left_out(found_inf):
        return
    rate = _rate(lr)
    _unscaled(grads, grad_scale)

    def update(parameter: TensorList, gradient: TensorList, buffer: TensorList | None = None) -> None:
        gradient = -gradient if maximize else gradient
        if weight_decay != 0:
            gradient = gradient.add(parameter, alpha=weight_decay)
        if buffer is not None:
            if is_first_step:
                buffer.copy_(gradient)
            else:
                buffer.mul_(momentum).add_(gradient, alpha=1 - dampening)
            gradient = gradient.add(buffer, alpha=momentum) if nesterov else buffer
        parameter.add_(gradient, alpha=-rate)

    lists = [self, grads, *([momentum_buffer_list] if momentum_buffer_list else [])]
    _on_wide(update, *lists, written=(0, 2)[: len(lists) - 1])


def _adagrad(
    self: Tensors, grads: Tensors, state_sums: Tensors, state_steps: Tensors, lr: Any, lr_decay: float,
    weight_decay: float, eps: float, maximize: bool, grad_scale: Any = None, found_inf: Any = None,
) -> None:  # fmt: skip
    if _is_left_out(found_inf):
        return
    rate = _rate(lr)
    _unscaled(grads, grad_scale)
    for step, places in _by_step(state_steps):

        def update(parameter: TensorList, gradient: TensorList, total: TensorList, step: float = step) -> None:
            gradient = -gradient if maximize else gradient
            if weight_decay != 0:
                gradient = gradient.add(parameter, alpha=weight_decay)
            total.addcmul_(gradient, gradient)
            parameter.addcdiv_(gradient, total.sqrt().add_(eps), value=-rate / (1 + (step - 1) * lr_decay))

        chosen = [[one[i] for i in places] for one in (self, grads, state_sums)]
        _on_wide(update, *chosen, written=(0, 2))


def _unrecorded(function: Callable[..., None], **chosen: Any) -> Callable[..., None]:
    words = f"{function.__name__[1:]}_kernel"

    def run(*args: Any) -> None:
        for tensor in args[0]:
            if not tensor.dtype.is_floating_point:
                raise NotImplementedError(f"\"fused_{words}\" not implemented for '{scalar_type_name(tensor.dtype)}'")
        with excluding(AUTOGRAD):
            function(*args, **chosen)

    return run


for _form in ("", ".tensor_lr"):
    composite(f"_fused_adam_{_form}")(_unrecorded(_adam, decoupled=False))
    composite(f"_fused_adamw_{_form}")(_unrecorded(_adam, decoupled=True))
    composite(f"_fused_sgd_{_form}")(_unrecorded(_sgd))
    composite(f"_fused_adagrad_{_form}")(_unrecorded(_adagrad))
