"""L-BFGS."""

from collections.abc import Callable
from typing import Any

import mt_core as mt

from .line_search import Point, strong_wolfe
from .optimizer import Optimizer, ParamsT
from .per_parameter import check_learning_rate

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS: quasi-Newton steps from the last ``history_size`` changes of parameters and gradient.

    Nocedal and Wright, "Numerical Optimization" (2006), algorithm 7.4. One ``step`` runs up to ``max_iter`` iterations
    and calls its closure again and again. All parameters are one vector: there is a single group.

    Parameters
    ----------
    params
        Tensors or named tensors.
    lr
        Length of a step, of the first one tried where there is a line search.
    max_iter, max_eval
        Most iterations and evaluations in one ``step``; ``max_eval`` defaults to ``max_iter * 5 / 4``.
    tolerance_grad, tolerance_change
        A step ends when no element of the gradient exceeds the first, or loss or parameters change by less than the
        second.
    line_search_fn
        ``"strong_wolfe"`` or None.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr)
        defaults: dict[str, Any] = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    @mt.no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Iterate until one of the limits or tolerances is met.

        Parameters
        ----------
        closure
            Clears the gradients, computes the loss and its gradients, and returns the loss.

        Returns
        -------
        The loss before the first iteration.
        """
        closure = mt.enable_grad()(closure)
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        state["func_evals"] += 1
        loss, gradient = float(first_loss), self._flat_gradient()
        if not _is_optimal(gradient, group):
            self._iterate(closure, state, loss, gradient)
        return first_loss

    def _iterate(self, closure: Callable[[], Any], state: dict[str, Any], loss: float, gradient: mt.Tensor) -> None:
        group = self.param_groups[0]
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            _set_direction(state, gradient, group)
            direction, previous_loss = state["d"], loss
            state["prev_flat_grad"], state["prev_loss"] = gradient.clone(), loss
            step = _first_step(state, gradient, group)
            slope = gradient.dot(direction)
            state["t"] = step
            if slope > -group["tolerance_change"]:
                return
            if group["line_search_fn"] is not None:
                start = Point(0, loss, gradient, slope)
                point, calls = self._search(closure, step, start, direction, group["max_eval"] - evaluations)
                step, loss, gradient = point.step, point.loss, point.gradient
                self._move(step, direction)
            else:
                self._move(step, direction)
                calls = 0
                if iteration != group["max_iter"]:  # nothing would look at the loss after the last iteration
                    loss, gradient, calls = float(closure()), self._flat_gradient(), 1
            state["t"] = step
            evaluations += calls
            state["func_evals"] += calls
            moved = direction.mul(step).abs().max()
            if (
                evaluations >= group["max_eval"]
                or _is_optimal(gradient, group)
                or moved <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                return

    def _search(
        self, closure: Callable[[], Any], step: Any, start: Point, direction: mt.Tensor, most_trials: int
    ) -> tuple[Point, int]:
        group = self.param_groups[0]
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        origin = [parameter.clone(memory_format=mt.contiguous_format) for parameter in self._params]

        def evaluate(trial: Any) -> Point:
            self._move(trial, direction)
            loss, gradient = float(closure()), self._flat_gradient()
            for parameter, value in zip(self._params, origin, strict=True):
                parameter.copy_(value)
            return Point(trial, loss, gradient, gradient.dot(direction))

        return strong_wolfe(evaluate, step, start, direction.abs().max(), group["tolerance_change"], most_trials)

    def _flat_gradient(self) -> mt.Tensor:
        """All gradients as one real vector."""
        return mt.cat([_flat(parameter) for parameter in self._params], 0)

    def _move(self, step: Any, direction: mt.Tensor) -> None:
        """``parameters += step * direction``."""
        offset = 0
        for parameter in self._params:
            target = mt.view_as_real(parameter) if parameter.is_complex() else parameter
            count = target.numel()
            target.add_(direction[offset : offset + count].view_as(target), alpha=float(step))
            offset += count


def _flat(parameter: mt.Tensor) -> mt.Tensor:
    gradient = parameter.grad
    if gradient is None:
        gradient = mt.zeros_like(parameter)
    elif gradient.is_sparse:
        gradient = gradient.to_dense()
    return (mt.view_as_real(gradient) if gradient.is_complex() else gradient).reshape(-1)


def _is_optimal(gradient: mt.Tensor, group: dict[str, Any]) -> bool:
    return bool(gradient.abs().max() <= group["tolerance_grad"])


def _first_step(state: dict[str, Any], gradient: mt.Tensor, group: dict[str, Any]) -> Any:
    """The step size to try: the rate, but no long step on the strength of a first gradient alone."""
    lr = group["lr"]
    return min(1.0, 1.0 / gradient.abs().sum()) * lr if state["n_iter"] == 1 else lr


def _set_direction(state: dict[str, Any], gradient: mt.Tensor, group: dict[str, Any]) -> None:
    """Store the search direction ``d``: steepest descent at first, then by the two-loop recursion."""
    if state["n_iter"] == 1:
        state.update(d=gradient.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return
    _remember(state, gradient, group["history_size"])
    differences, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
    coefficients = state.setdefault("al", [None] * group["history_size"])
    direction = gradient.neg()
    for i in reversed(range(len(differences))):
        coefficients[i] = steps[i].dot(direction) * inverses[i]
        direction.add_(differences[i], alpha=-coefficients[i].item())
    direction = direction.mul(state["H_diag"])
    for i in range(len(differences)):
        correction = differences[i].dot(direction) * inverses[i]
        direction.add_(steps[i], alpha=(coefficients[i] - correction).item())
    state["d"] = direction


def _remember(state: dict[str, Any], gradient: mt.Tensor, history_size: int) -> None:
    """Add the last step and change of gradient to the history, where their product shows positive curvature."""
    difference, step = gradient.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
    curvature = difference.dot(step)
    if curvature <= 1e-10:
        return
    if len(state["old_dirs"]) == history_size:
        for history in (state["old_dirs"], state["old_stps"], state["ro"]):
            history.pop(0)
    state["old_dirs"].append(difference)
    state["old_stps"].append(step)
    state["ro"].append(1.0 / curvature)
    state["H_diag"] = curvature / difference.dot(difference)
