"""Schedulers that raise and lower the rate, and with it the momentum, batch by batch."""

import math
from collections.abc import Callable
from typing import Any, Literal

from ..optimizer import Optimizer
from ._base import LRScheduler, callable_state, check_is_optimizer, per_group, set_value


def _check_momentum(optimizer: Optimizer) -> None:
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")


def _set_momentum(group: dict[str, Any], value: Any, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """Moves the rate between two bounds and back, and the momentum the opposite way.

    Smith, "Cyclical Learning Rates for Training Neural Networks" (2017). Its step counts batches, not epochs.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    base_lr, max_lr
        The bounds; each one number, or a list with one for each group.
    step_size_up, step_size_down
        Batches of the rise and of the fall.
    mode
        ``"triangular"``; ``"triangular2"`` halves the height with each cycle; ``"exp_range"`` multiplies it by
        ``gamma`` with each batch.
    scale_fn, scale_mode
        A scaling of the height of one's own, and whether it is given the ``"cycle"`` or the ``"iterations"``.
    cycle_momentum, base_momentum, max_momentum
        Whether momentum (beta1 in Adam) moves too, and its bounds.
    last_epoch
        The batch to resume after; -1 to begin.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_is_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_value(group, "lr", rate)
        self.max_lrs = per_group("max_lr", max_lr, optimizer)
        self._set_shape(float(step_size_up), float(step_size_up if step_size_down is None else step_size_down))
        self._set_scaling(mode, gamma, scale_fn, scale_mode)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _set_shape(self, up: float, down: float) -> None:
        self.total_size = up + down
        self.step_ratio = up / self.total_size

    def _set_scaling(self, mode: str, gamma: float, scale_fn: Any, scale_mode: str) -> None:
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"

    def _start_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> None:
        _check_momentum(self.optimizer)
        self.use_beta1 = "betas" in self.optimizer.defaults
        self.base_momentums = per_group("base_momentum", base_momentum, self.optimizer)
        self.max_momentums = per_group("max_momentum", max_momentum, self.optimizer)
        if last_epoch == -1:
            bounds = zip(self.max_momentums, self.base_momentums, self.optimizer.param_groups, strict=True)
            for greatest, least, group in bounds:
                _set_momentum(group, greatest, self.use_beta1)
                group["max_momentum"] = greatest
                group["base_momentum"] = least

    def scale_fn(self, x: float) -> float:
        """The factor of the cycle's height, for a cycle or an iteration."""
        return self._scale_fn_ref(x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    @property
    def _scale_fn_ref(self) -> Callable[[float], float]:
        """The scaling that the mode stands for; it follows from the state and is no part of it."""
        if self.mode == "triangular":
            return lambda x: 1.0
        if self.mode == "triangular2":
            return lambda x: 1 / 2.0 ** (x - 1)
        gamma = self.gamma
        return lambda x: gamma**x

    def get_lr(self) -> list[Any]:
        """The rates of the current batch; sets the momentum too."""
        self._warn_unless_within_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=False)
            for least, greatest, group in bounds:
                _set_momentum(group, greatest - (greatest - least) * height * scale, self.use_beta1)
        return [
            base + (greatest - base) * height * scale
            for base, greatest in zip(self.base_lrs, self.max_lrs, strict=False)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Everything the scheduler remembers, except its optimizer and its scaling function.

        Of a scaling object the attributes are kept.
        """
        state = super().state_dict()
        scaling = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if scaling is None else callable_state(scaling)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state from :meth:`state_dict`; a scaling object gets its attributes back."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)  # type: ignore[union-attr]


class OneCycleLR(LRScheduler):
    """One rise from a small rate to the greatest, and a fall far below where it began; momentum moves the opposite way.

    Smith and Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates" (2018). Its
    step counts batches, not epochs, and their number is fixed beforehand.

    Parameters
    ----------
    optimizer
        Whose groups are scheduled.
    max_lr
        The greatest rate; one number, or a list with one for each group.
    total_steps, epochs, steps_per_epoch
        How many batches; or the two factors of that number.
    pct_start
        The rise's share of all.
    anneal_strategy
        ``"cos"`` or ``"linear"``.
    cycle_momentum, base_momentum, max_momentum
        Whether momentum (beta1 in Adam) moves too, and its bounds.
    div_factor, final_div_factor
        The first rate is ``max_lr / div_factor``, the last ``max_lr / div_factor / final_div_factor``.
    three_phase
        Whether a fall to the first rate, as long as the rise, comes before the fall to the last one.
    last_epoch
        The batch to resume after; -1 to begin.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_is_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        self._set_rate_bounds(per_group("max_lr", max_lr, optimizer), div_factor, final_div_factor, last_epoch)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _set_rate_bounds(self, max_lrs: list[Any], div_factor: float, final_div_factor: float, last_epoch: int) -> None:
        if last_epoch != -1:
            return
        for greatest, group in zip(max_lrs, self.optimizer.param_groups, strict=True):
            group["initial_lr"] = greatest / div_factor
            group["max_lr"] = greatest
            group["min_lr"] = group["initial_lr"] / final_div_factor

    def _start_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> None:
        _check_momentum(self.optimizer)
        self.use_beta1 = "betas" in self.optimizer.defaults
        greatest_ones = per_group("max_momentum", max_momentum, self.optimizer)
        least_ones = per_group("base_momentum", base_momentum, self.optimizer)
        if last_epoch == -1:
            for greatest, least, group in zip(greatest_ones, least_ones, self.optimizer.param_groups, strict=True):
                _set_momentum(group, greatest, self.use_beta1)
                group["max_momentum"] = greatest
                group["base_momentum"] = least

    def _anneal_func(self, start: float, end: float, share: float) -> float:
        """The value after a share of the way from start to end."""
        if "_anneal_func_type" not in self.__dict__:
            return self.anneal_func(start, end, share)  # type: ignore[attr-defined]  # as older checkpoints keep it
        return anneal(self._anneal_func_type, start, end, share)

    @staticmethod
    def _annealing_cos(start: float, end: float, pct: float) -> float:
        """The value after a share of half a cosine; older checkpoints name this function."""
        return anneal("cos", start, end, pct)

    @staticmethod
    def _annealing_linear(start: float, end: float, pct: float) -> float:
        """The value after a share of a line; older checkpoints name this function."""
        return anneal("linear", start, end, pct)

    def get_lr(self) -> list[Any]:
        """The rates of the current batch; sets the momentum too.

        Raises
        ------
        ValueError
            Past the last of the ``total_steps``.
        """
        self._warn_unless_within_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        phase, share = self._current_phase()
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(group, self._anneal_func(start, end, share), self.use_beta1)
        return rates

    def _current_phase(self) -> tuple[dict[str, Any], float]:
        """The phase of the current batch, and the share of it that lies behind."""
        start = 0.0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"] or phase is self._schedule_phases[-1]:
                return phase, (self.last_epoch - start) / (phase["end_step"] - start)
            start = phase["end_step"]
        raise AssertionError("a schedule has at least one phase")


def anneal(strategy: str, start: float, end: float, share: float) -> float:
    """The value after a share of the way from start to end, along half a cosine or a line."""
    if strategy == "linear":
        return (end - start) * share + start
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        return _checked_count("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return _checked_count("epochs", epochs) * _checked_count("steps_per_epoch", steps_per_epoch)


def _checked_count(name: str, count: Any) -> int:
    if count <= 0 or not isinstance(count, int):
        raise ValueError(f"Expected positive integer {name}, but got {count}")
    return count


def _phase(end_step: float, start_lr: str, end_lr: str, rising: bool) -> dict[str, Any]:
    momenta = ("max_momentum", "base_momentum") if rising else ("base_momentum", "max_momentum")
    return {
        "end_step": end_step,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": momenta[0],
        "end_momentum": momenta[1],
    }


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The phases, each with its last batch and the options of a group between which it moves."""
    top = float(pct_start * total_steps) - 1
    rise = _phase(top, "initial_lr", "max_lr", rising=True)
    if not three_phase:
        return [rise, _phase(total_steps - 1, "max_lr", "min_lr", rising=False)]
    last = _phase(total_steps - 1, "initial_lr", "min_lr", rising=False)
    last["start_momentum"] = "max_momentum"
    return [rise, _phase(float(2 * pct_start * total_steps) - 2, "max_lr", "initial_lr", rising=False), last]
