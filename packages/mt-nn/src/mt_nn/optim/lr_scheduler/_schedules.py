"""Schedulers whose rate is a function of the epoch."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Optimizer
from ._base import LRScheduler, callable_state, values_of

RateFactor = Callable[[int], float]


class _FunctionLR(LRScheduler):
    """A scheduler given by one function of the epoch for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: RateFactor | list[RateFactor], last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        self.lr_lambdas: list[RateFactor]
        if not isinstance(lr_lambda, list | tuple):
            self.lr_lambdas = [lr_lambda] * len(optimizer.param_groups)
        elif len(lr_lambda) == len(optimizer.param_groups):
            self.lr_lambdas = list(lr_lambda)
        else:
            raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything the scheduler remembers, except its optimizer and its functions.

        Of a callable object the attributes are kept, of a function nothing.
        """
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [callable_state(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state from :meth:`state_dict`; functions stay, callable objects get their attributes back."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_FunctionLR):
    """The first rate times a function of the epoch.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    lr_lambda
        Maps an epoch to a factor; or a list of such functions, one for each group.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def get_lr(self) -> list[Any]:
        self._warn_unless_within_step()
        return [base * factor(self.last_epoch) for factor, base in zip(self.lr_lambdas, self.base_lrs, strict=False)]


class MultiplicativeLR(_FunctionLR):
    """Each epoch's rate is the last one times a function of the epoch.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    lr_lambda
        Maps an epoch to a factor; or a list of such functions, one for each group.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def get_lr(self) -> list[Any]:
        self._warn_unless_within_step()
        rates = values_of(self.optimizer, "lr")
        if self._is_initial:
            return rates
        return [rate * factor(self.last_epoch) for factor, rate in zip(self.lr_lambdas, rates, strict=False)]


class _FactorLR(LRScheduler):
    """A scheduler whose rate changes by one factor for all groups in an epoch."""

    def _factor(self) -> float:
        """What the rates of the last epoch are multiplied by; 1 for no change."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        self._warn_unless_within_step()
        factor = self._factor()
        rates = values_of(self.optimizer, "lr")
        return rates if factor == 1 else [rate * factor for rate in rates]

    def _overall_factor(self) -> float:
        """What the first rates are multiplied by in the current epoch, however it was reached."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._overall_factor()
        return [base * factor for base in self.base_lrs]


class StepLR(_FactorLR):
    """Multiplies the rate by ``gamma`` every ``step_size`` epochs.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    step_size, gamma
        Epochs between changes, and the factor.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1 if self.last_epoch == 0 or self.last_epoch % self.step_size != 0 else self.gamma

    def _overall_factor(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_FactorLR):
    """Multiplies the rate by ``gamma`` at each of the ``milestones``; twice where one is given twice.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    milestones, gamma
        The epochs of change, and the factor.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma ** self.milestones[self.last_epoch]

    def _overall_factor(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_FactorLR):
    """Multiplies the rate by ``factor`` for the first ``total_iters`` epochs.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    factor, total_iters
        The factor, at most 1, and how long it holds.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1

    def _overall_factor(self) -> float:
        return self.factor if self.last_epoch < self.total_iters else 1


class LinearLR(_FactorLR):
    """Multiplies the rate by a factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    start_factor, end_factor, total_iters
        Factors of the first epoch, greater than 0, and of the last; and how many epochs lie between.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        change = self.end_factor - self.start_factor
        return 1.0 + change / (self.total_iters * self.start_factor + (self.last_epoch - 1) * change)

    def _overall_factor(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ExponentialLR(_FactorLR):
    """Multiplies the rate by ``gamma`` every epoch.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    gamma
        The factor.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1 if self._is_initial else self.gamma

    def _overall_factor(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(_FactorLR):
    """Multiplies the first rate by ``(1 - epoch / total_iters)**power`` until it is 0.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    total_iters, power
        Epochs until the rate is 0, and the degree.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        left, left_before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return (left / left_before) ** self.power

    def _overall_factor(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate to ``eta_min`` in ``T_max`` epochs, and back in as many.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2017), without the restarts.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    T_max, eta_min
        Epochs until the least rate, and that rate.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_unless_within_step()
        rates = values_of(self.optimizer, "lr")
        if self._is_initial:
            return rates
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The last epoch had the least rate, from which no ratio leads up again.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - self.eta_min) * rise for rate, base in zip(rates, self.base_lrs, strict=False)]
        ratio = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [ratio * (rate - self.eta_min) + self.eta_min for rate in rates]

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._height(self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the first rate to ``eta_min``, again and again, each ``T_mult`` times as long as the last.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2017).

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    T_0, T_mult, eta_min
        Epochs of the first descent, the factor from each to the next, and the least rate.
    last_epoch
        The epoch to resume after; -1 to begin.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_unless_within_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]
        """Go to the next epoch, or to a fractional one, so that rates may change from batch to batch."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._find_restart(epoch)
        self.last_epoch = math.floor(epoch)
        with self._within_step():
            rates = self.get_lr()
        self._set_rates(rates)

    def _find_restart(self, epoch: float) -> None:
        """Set the length of the descent that an epoch lies in, and how far it has come."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts
