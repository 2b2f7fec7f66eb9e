"""A line search for the strong Wolfe conditions, as L-BFGS needs it.

Nocedal and Wright, "Numerical Optimization" (2006), algorithms 3.5 and 3.6; interpolation and safeguards as in
Schmidt's minFunc.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import mt_core as mt

__all__ = ["Point", "strong_wolfe"]

#: Sufficient decrease of the loss, and sufficient decrease of the slope.
_DECREASE, _CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """The objective at a step size along the direction; `slope` is the derivative along it."""

    step: Any
    loss: float
    gradient: mt.Tensor
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], Point],
    first_step: Any,
    start: Point,
    direction_norm: Any,
    tolerance_change: float,
    most_trials: int,
) -> tuple[Point, int]:
    """Find a step that decreases loss and slope sufficiently.

    Parameters
    ----------
    evaluate
        The objective as a function of the step size.
    first_step
        The step size to try first.
    start
        The objective at step size 0.
    direction_norm
        Greatest absolute element of the direction.
    tolerance_change
        The search ends when the bracket moves no parameter by more.
    most_trials
        How often the objective may be evaluated after the first step.

    Returns
    -------
    The best point found, and how often the objective was evaluated.
    """
    bracket, accepted, trials = _bracket(evaluate, first_step, start, most_trials)
    evaluations = trials + 1
    low, high = sorted(bracket, key=_loss) if len(bracket) == 2 else (bracket[0], bracket[0])
    hesitated = False
    while not accepted and trials < most_trials:
        if abs(bracket[1].step - bracket[0].step) * direction_norm < tolerance_change:
            break
        step, hesitated = _inside(bracket, _cubic_minimum(*bracket), hesitated)
        point = evaluate(step)
        trials, evaluations = trials + 1, evaluations + 1
        if _rises(point, start) or point.loss >= low.loss:
            bracket[_index(bracket, high)] = point
            low, high = sorted(bracket, key=_loss)
            continue
        accepted = _is_flat(point, start)
        if not accepted and point.slope * (high.step - low.step) >= 0:
            bracket[_index(bracket, high)] = high = low
            bracket[_index(bracket, low)] = low = point
        else:
            bracket[_index(bracket, low)] = low = point
    return low, evaluations


def _loss(point: Point) -> float:
    return point.loss


def _index(bracket: list[Point], point: Point) -> int:
    return 0 if bracket[0] is point else 1


def _rises(point: Point, start: Point) -> bool:
    return point.loss > start.loss + _DECREASE * point.step * start.slope


def _is_flat(point: Point, start: Point) -> bool:
    return abs(point.slope) <= -_CURVATURE * start.slope


def _bracket(
    evaluate: Callable[[Any], Point], step: Any, start: Point, most_trials: int
) -> tuple[list[Point], bool, int]:
    """Lengthen the step until a minimum is enclosed: (one point or two, whether accepted, trials after the first)."""
    previous, point = start, evaluate(step)
    for trial in range(most_trials):
        if _rises(point, start) or (trial > 1 and point.loss >= previous.loss):
            return [previous, point], False, trial
        if _is_flat(point, start):
            return [point], True, trial
        if point.slope >= 0:
            return [previous, point], False, trial
        bounds = point.step + 0.01 * (point.step - previous.step), point.step * 10
        step = _cubic_minimum(previous, point, bounds)
        previous, point = point, evaluate(step)
    return [start, point], False, most_trials


def _inside(bracket: list[Point], step: Any, hesitated: bool) -> tuple[Any, bool]:
    """Move a step away from the ends of the bracket: the second time in a row that it comes near, or when outside."""
    least, greatest = sorted(point.step for point in bracket)
    margin = 0.1 * (greatest - least)
    if min(greatest - step, step - least) >= margin:
        return step, False
    if hesitated or step >= greatest or step <= least:
        nearer_greatest = abs(step - greatest) < abs(step - least)
        return (greatest - margin if nearer_greatest else least + margin), False
    return step, True


def _cubic_minimum(one: Point, other: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with their slopes has its minimum, within the bounds; else their middle."""
    left, right = (one, other) if one.step <= other.step else (other, one)
    least, greatest = bounds if bounds is not None else (left.step, right.step)
    d1 = one.slope + other.slope - 3 * (one.loss - other.loss) / (one.step - other.step)
    square = d1**2 - one.slope * other.slope
    if square < 0:
        return (least + greatest) / 2.0
    root = math.sqrt(square)
    width = right.step - left.step
    minimum = right.step - width * ((right.slope + root - d1) / (right.slope - left.slope + 2 * root))
    return min(max(minimum, least), greatest)
