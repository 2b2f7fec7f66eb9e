"""``torch.optim.swa_utils``: models averaged over the course of training."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Literal

import mt_core as mt
from mt_nn.modules.batchnorm import _BatchNorm
from mt_nn.modules.module import Module

from .lr_scheduler._base import LRScheduler, per_group
from .lr_scheduler._cyclic import anneal
from .optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Tensors = tuple[mt.Tensor, ...] | list[mt.Tensor]


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Tensors, Tensors, Any], None]:
    """An exponential moving average of lists of tensors, in place: ``ema = decay * ema + (1 - decay) * current``."""
    _check_decay(decay)

    @mt.no_grad()
    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            _interpolate_(average, current, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> Callable[[Tensors, Tensors, Any], None]:
    """The plain mean of lists of tensors, in place, for the number of models averaged so far."""

    @mt.no_grad()
    def swa_update(averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: Any) -> None:
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            _interpolate_(average, current, 1 / (float(num_averaged) + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[mt.Tensor, mt.Tensor, Any], mt.Tensor]:
    """An exponential moving average of two tensors: ``decay * ema + (1 - decay) * current``."""
    _check_decay(decay)

    @mt.no_grad()
    def ema_update(ema_param: mt.Tensor, current_param: mt.Tensor, num_averaged: Any) -> mt.Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[mt.Tensor, mt.Tensor, Any], mt.Tensor]:
    """The plain mean of a tensor and the average of ``num_averaged`` before it."""

    @mt.no_grad()
    def swa_update(averaged_param: mt.Tensor, current_param: mt.Tensor, num_averaged: Any) -> mt.Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _interpolate_(average: mt.Tensor, current: mt.Tensor, weight: float) -> None:
    if average.is_floating_point() or average.is_complex():
        average.lerp_(current, weight)
    else:  # integers have no lerp; the result is cut off, as a division of integers is
        average.copy_(average + (current - average) * weight)


class AveragedModel(Module):
    """A copy of a model whose parameters are the average of that model's.

    Parameters
    ----------
    model
        Copied, at first as it is.
    device
        Where the copy lives; by default with the model.
    avg_fn
        ``avg_fn(averaged, current, num_averaged)`` gives a tensor's new average; by default the plain mean.
    multi_avg_fn
        The same in place for lists of tensors of one device and dtype. Only one of the two functions may be given.
    use_buffers
        Whether buffers are averaged too, or copied.
    """

    n_averaged: mt.Tensor

    def __init__(
        self,
        model: Module,
        device: int | mt.device | None = None,
        avg_fn: Callable[[mt.Tensor, mt.Tensor, Any], mt.Tensor] | None = None,
        multi_avg_fn: Callable[[Tensors, Tensors, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", mt.tensor(0, dtype=mt.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The averaged model's result."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's present parameters into the average."""
        pairs = list(zip(self._averaged(self.module), self._averaged(model), strict=True))
        pairs = [(average.detach(), current.detach().to(average.device)) for average, current in pairs]
        if self.n_averaged == 0:
            _copy_all(pairs)
        else:
            self._average(pairs)
        if not self.use_buffers:
            _copy_all(zip(self.module.buffers(), model.buffers(), strict=True))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[mt.Tensor]:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()

    def _average(self, pairs: list[tuple[mt.Tensor, mt.Tensor]]) -> None:
        if self.avg_fn is None:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            for averages, currents in _by_device_and_dtype(pairs):
                update(averages, currents, self.n_averaged.to(averages[0].device))
            return
        for average, current in pairs:
            average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))


def _copy_all(pairs: Iterable[tuple[mt.Tensor, mt.Tensor]]) -> None:
    for target, source in pairs:
        target.detach().copy_(source.detach())


def _by_device_and_dtype(pairs: list[tuple[mt.Tensor, mt.Tensor]]) -> list[tuple[list[mt.Tensor], list[mt.Tensor]]]:
    groups: dict[Any, tuple[list[mt.Tensor], list[mt.Tensor]]] = {}
    for average, current in pairs:
        averages, currents = groups.setdefault((average.device, average.dtype), ([], []))
        averages.append(average)
        currents.append(current)
    return list(groups.values())


def update_bn(loader: Iterable[Any], model: Module, device: int | mt.device | None = None) -> None:
    """Recompute a model's batch normalization statistics by one pass over data, as an averaged model needs.

    Parameters
    ----------
    loader
        Batches; of a list or tuple, the first element is the model's input.
    model
        Left in the mode, training or evaluation, that it was in.
    device
        Where batches are sent first.
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # a cumulative mean over all batches
    with mt.no_grad():
        for batch in loader:
            inputs = batch[0] if isinstance(batch, list | tuple) else batch
            model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Moves the rate to a constant for stochastic weight averaging, and stays there.

    Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization" (2018).

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    swa_lr
        The constant; one number, or a list with one for each group.
    anneal_epochs, anneal_strategy
        How many epochs the way there takes, and its form, ``"cos"`` or ``"linear"``.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(per_group("swa_lr", swa_lr, optimizer), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the current epoch: as far on the way to ``swa_lr`` from where they would have begun."""
        self._warn_unless_within_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            target, rate = group["swa_lr"], group["lr"]
            start = target if before == 1 else (rate - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates

    def _share(self, step: int) -> float:
        share = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return anneal(self._anneal_strategy, 0.0, 1.0, share)
