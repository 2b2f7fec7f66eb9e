"""The scheduler that follows a metric."""

import warnings
from math import inf
from typing import Literal, SupportsFloat

from ..optimizer import Optimizer
from ._base import EPOCH_DEPRECATION_WARNING, LRScheduler, check_is_optimizer, set_value, values_of


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by ``factor`` when a metric has not improved for ``patience`` epochs.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    mode
        Whether the metric should go to its ``"min"`` or ``"max"``.
    factor, patience, cooldown
        The factor, below 1; how many epochs without improvement are borne; how many after a reduction are not counted.
    threshold, threshold_mode
        What counts as improvement: a share of the best value (``"rel"``) or a difference from it (``"abs"``).
    min_lr
        Least rate; one number, or a list with one for each group.
    eps
        A change of the rate by no more than this is left out.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        # The base class would take its first step here, which needs a metric.
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        check_is_optimizer(optimizer)
        self.optimizer = optimizer
        self._set_least_rates(min_lr)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = values_of(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _set_least_rates(self, min_lr: list[float] | float) -> None:
        groups = len(self.optimizer.param_groups)
        if not isinstance(min_lr, list | tuple):
            self.default_min_lr: float | None = min_lr
            self.min_lrs = [min_lr] * groups
        elif len(min_lr) == groups:
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = inf if mode == "min" else -inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        """Forget the metric's history."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of an epoch's metric, and reduce the rates if their time has come."""
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = values_of(self.optimizer, "lr")

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            self._extend_least_rates(len(groups))
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_value(group, "lr", new)

    def _extend_least_rates(self, groups: int) -> None:
        if self.default_min_lr is None:
            raise RuntimeError(
                "The number of param groups in the `optimizer` "
                f"({groups}) differs from when `ReduceLROnPlateau` was initialized "
                f"({len(self.min_lrs)}), usually due to a new param group being added to the optimizer. "
                "Please modify the `min_lrs` field to match the length of the `optimizer` param groups."
            )
        self.min_lrs = [self.default_min_lr] * groups

    @property
    def in_cooldown(self) -> bool:
        """Whether bad epochs are not counted yet."""
        return self.cooldown_counter > 0

    def _is_better(self, value: float, best: float) -> bool:
        margin = self.threshold if self.mode == "max" else -self.threshold
        bound = best * (1.0 + margin) if self.threshold_mode == "rel" else best + margin
        return value > bound if self.mode == "max" else value < bound
