"""``LRScheduler``: what all learning rate schedulers share."""

import functools
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mt_core as mt

from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ADJUST_URL = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """Base class of schedulers: changes the learning rate of each group of an optimizer, epoch by epoch.

    A subclass computes the new rates in :meth:`get_lr`, from the groups' current rates where it can, so that
    schedulers of one optimizer may be combined.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled. Each keeps its first rate as ``initial_lr``.
    last_epoch
        The epoch to resume after; -1 to begin.

    Raises
    ------
    KeyError
        When resuming a group that has no ``initial_lr``.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_is_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copy_of(group["lr"]))
        else:
            _check_initial_rates(optimizer)
        self.base_lrs: list[Any] = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._step_count = 0
        self._is_initial = False
        self._get_lr_called_within_step = False
        self._last_lr: list[Any] = []
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything the scheduler remembers, except its optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state from :meth:`state_dict`. The optimizer has its rates in its own."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of the current epoch, one for each group; for :meth:`step`, which counts the epoch first."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its rates, after the optimizer has done the last one's steps."""
        if self._step_count == 1:
            self._warn_unless_optimizer_stepped()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._within_step():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._set_rates(rates)

    def _set_rates(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=False):
            set_value(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    @contextmanager
    def _within_step(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_unless_optimizer_stepped(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_ADJUST_URL}",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
                "Failure to do this will result in PyTorch skipping the first value of the learning rate schedule. "
                f"{_ADJUST_URL}",
                UserWarning,
                stacklevel=3,
            )

    def _warn_unless_within_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


class _LRScheduler(LRScheduler):
    """The name :class:`LRScheduler` once had."""


def check_is_optimizer(optimizer: Any) -> None:
    """Refuse anything else."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copy_of(value: Any) -> Any:
    """The value; of a tensor, a copy that later updates leave alone."""
    return value.clone() if isinstance(value, mt.Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """An option of every group, tensors copied."""
    return [copy_of(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; a tensor is written into, so that whoever holds it sees the change."""
    if isinstance(group[key], mt.Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, mt.Tensor) and value.dim() else value)
    else:
        group[key] = value


def per_group(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value for each group, from one value or a list; tensors copied, as a group's rate is written into."""
    if not isinstance(value, list | tuple):
        return [copy_of(value) for _ in optimizer.param_groups]
    if len(value) != len(optimizer.param_groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {len(optimizer.param_groups)}."
        )
    return [copy_of(one) for one in value]


def callable_state(function: Callable[..., Any]) -> dict[str, Any] | None:
    """What a checkpoint keeps of a callable: the attributes of an object, nothing of a function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


def _check_initial_rates(optimizer: Optimizer) -> None:
    for number, group in enumerate(optimizer.param_groups):
        if "initial_lr" not in group:
            raise KeyError(
                f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                "last_epoch >= 0.\nThis typically happens when:\n"
                "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer "
                "state\n"
                "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
            )


def _note_steps(optimizer: Optimizer) -> None:
    """Make the optimizer's ``step`` leave a note that it was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function = optimizer.step.__func__  # type: ignore[attr-defined]
    reference = weakref.ref(optimizer)  # the optimizer holds the wrapper: no cycle

    @functools.wraps(function)
    def noting_step(*args: Any, **kwargs: Any) -> Any:
        owner = reference()
        owner._opt_called = True  # type: ignore[union-attr]
        return function(owner, *args, **kwargs)

    noting_step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = noting_step  # type: ignore[method-assign]
