"""``torch.fx.passes.infra.pass_manager``: passes run one after another, in an order that constraints ask for."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

from mt_nn import Module

from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]

_logger = logging.getLogger(__name__)


def pass_result_wrapper(fn: Pass) -> Pass:
    """A pass that returns a `PassResult`, of one that may return nothing, which then counts as a change."""

    @functools.wraps(fn)
    def wrapped(graph_module: Any) -> PassResult:
        result = fn(graph_module)
        if isinstance(result, PassResult):
            return result
        return PassResult(graph_module if result is None else result, True)

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that `this` stands before `that`: of two passes, whether the first may stand before the second."""

    def constraint(first: Pass, second: Pass) -> bool:
        return not (first == that and second == this)

    return constraint


def _validate_pass_schedule_constraint(constraint: Constraint, passes: list[Pass]) -> None:
    for i, first in enumerate(passes):
        for j, second in enumerate(passes[i + 1 :], i + 1):
            if not constraint(first, second):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {first} before {second} but found {first} at index "
                    f"{i} and {second} at index{j} in pass list."
                )


def _topological_sort_passes(passes: list[Pass], constraints: list[Constraint]) -> list[Pass]:
    """The passes in the first order that meets all constraints.

    Raises
    ------
    RuntimeError
        When there is none.
    """
    if not constraints:
        return passes
    left, ordered = list(passes), []
    while left:
        ready = next((p for p in left if not any(_must_follow(p, other, constraints) for other in left)), None)
        if ready is None:
            raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
        left.remove(ready)
        ordered.append(ready)
    return ordered


def _must_follow(one: Pass, other: Pass, constraints: list[Constraint]) -> bool:
    """Whether a constraint forbids that `one` stands before `other`."""
    return one is not other and not all(constraint(one, other) for constraint in constraints)


class PassManager:
    """Runs passes on a module.

    Parameters
    ----------
    passes
        Functions from a module to a `PassResult`.
    constraints
        Functions of two passes: whether the first may stand before the second.
    steps
        How often the list of passes is run at most (once by default); it ends when a round changes nothing.
    run_checks_after_each_pass
        Run the checks after each pass.
    suppress_check_failures
        Run no checks.
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes: list[Pass] = passes if passes else []
        self.constraints: list[Constraint] = constraints if constraints else []
        self.steps = steps if steps else 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint on the order."""
        self.constraints.append(constraint)
        self._validated = False

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Have a function of one argument look at the module after all passes, or after each.

        Raises
        ------
        TypeError
            When it takes something else than one argument.
        """
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Module) -> None:
        """What `add_checks` gave; at first there is nothing to be checked."""

    def validate_constraints(self) -> None:
        """Compare the order of the passes with the constraints.

        Raises
        ------
        RuntimeError
            Where one is not met.
        """
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Order the passes so that the constraints are met."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def __call__(self, module: Any) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed_at_all = False
        for _ in range(self.steps):
            module, changed = self._round(module)
            changed_at_all |= changed
            if not changed:
                break
        return PassResult(module, changed_at_all)

    def _round(self, module: Any) -> tuple[Any, bool]:
        changed = False
        for index, fn in enumerate(self.passes):
            result = self._run(index, fn, module)
            module, changed = result.graph_module, changed or result.modified
            module.recompile()
            if self.run_checks_after_each_pass:
                self._checked(module)
        if not self.run_checks_after_each_pass:
            self._checked(module)
        return module, changed

    def _checked(self, module: Any) -> None:
        if not self.suppress_check_failures:
            self.check(module)

    def _run(self, index: int, fn: Pass, module: Any) -> PassResult:
        name = fn.__name__ if inspect.isfunction(fn) else type(fn).__name__
        try:
            result = fn(module)
            if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                raise TypeError(
                    f"The result of the pass {name} should be type PassResult.Please wrap it with pass_result_wrapper()"
                )
            return result  # type: ignore[no-any-return]
        except Exception as error:
            before = [p.__name__ if inspect.isfunction(p) else type(p).__name__ for p in self.passes[:index]]
            raise Exception(
                f"An error occurred when running the '{name}' pass after the following passes: {before}"
            ) from error
