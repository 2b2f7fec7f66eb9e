"""``torch.fx.passes.pass_manager``: lists of passes, in an order that constraints are checked against."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

__all__ = [
    "PassManager", "inplace_wrapper", "log_hook", "loop_pass", "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]  # fmt: skip

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]

logger = logging.getLogger(__name__)


def inplace_wrapper(fn: Pass) -> Pass:
    """A pass that gives the object that it changes."""

    @functools.wraps(fn)
    def wrapped(gm: Any, *args: Any, **kwargs: Any) -> Any:
        fn(gm, *args, **kwargs)
        return gm

    return wrapped


def log_hook(fn: Pass, level: int = logging.INFO) -> Pass:
    """A pass whose result is logged."""

    @functools.wraps(fn)
    def wrapped(gm: Any) -> Any:
        result = fn(gm)
        logger.log(level, "Ran pass %s\t Return value: %s", fn.__name__, result)
        return result

    return wrapped


def loop_pass(base_pass: Pass, n_iter: int | None = None, predicate: Callable[[Any], bool] | None = None) -> Pass:
    """A pass that runs another one so often, or as long as `predicate` holds of the result.

    Raises
    ------
    AssertionError
        Unless exactly one of the two is given.
    """
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @functools.wraps(base_pass)
    def wrapped(source: Any) -> Any:
        output = source
        if n_iter is not None:
            for _ in range(n_iter):
                output = base_pass(output)
        elif predicate is not None:
            while predicate(output):
                output = base_pass(output)
        return output

    return wrapped


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that a pass runs before another one."""

    def depends_on(a: Pass, b: Pass) -> bool:
        return a != that or b != this

    return depends_on


def these_before_those_pass_constraint(these: Pass, those: Pass) -> Constraint:
    """The constraint that a pass runs before another one, whatever is wrapped around them."""

    def depends_on(a: Pass, b: Pass) -> bool:
        return inspect.unwrap(a) != those or inspect.unwrap(b) != these

    return depends_on


class PassManager:
    """Runs passes one after the other; a pass takes an object and gives one.

    Parameters
    ----------
    passes
        In the order in which they run.
    constraints
        Functions of two passes, of which the first runs before the second: whether they may.
    """

    def __init__(self, passes: list[Pass] | None = None, constraints: list[Constraint] | None = None) -> None:
        self.passes: list[Pass] = passes or []
        self.constraints: list[Constraint] = constraints or []
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes: list[Pass]) -> PassManager:
        """One with these passes."""
        return cls(passes)

    def add_pass(self, _pass: Pass) -> None:
        """Append a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: list[str]) -> None:
        """Take passes of these names out."""
        self.passes = [known for known in self.passes if known.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Put a pass in the place of those with the name of another."""
        self.passes = [_replacement if known.__name__ == _target.__name__ else known for known in self.passes]
        self._validated = False

    def validate(self) -> None:
        """Check the order of the passes.

        Raises
        ------
        RuntimeError
            For the first pair that a constraint does not allow.
        """
        if self._validated:
            return
        for constraint in self.constraints:
            for i, first in enumerate(self.passes):
                for later in self.passes[i + 1 :]:
                    if not constraint(first, later):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {first} before {later} but found {first} at "
                            f"index {i} and {later} at index{i} in pass list."
                        )
        self._validated = True

    def __call__(self, source: Any) -> Any:
        """What the last pass gives, of an object that goes through all of them."""
        self.validate()
        result = source
        for function in self.passes:
            result = function(result)
        return result
