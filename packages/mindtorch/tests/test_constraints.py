"""Sets that values are tested for."""

from __future__ import annotations

import pytest

from mindtorch import tensor
from mindtorch.distributions import constraints


@pytest.mark.parametrize(
    ("constraint", "values", "expected"),
    [
        (constraints.boolean, [0.0, 1.0, 0.5], [True, True, False]),
        (constraints.positive, [-1.0, 0.0, 2.0], [False, False, True]),
        (constraints.nonnegative, [-1.0, 0.0, 2.0], [False, True, True]),
        (constraints.positive_integer, [0.0, 1.0, 1.5], [False, True, False]),
        (constraints.real, [1.0, float("inf"), float("nan")], [True, True, False]),
        (constraints.unit_interval, [-0.5, 0.0, 1.0, 1.5], [False, True, True, False]),
        (constraints.half_open_interval(0, 1), [0.0, 1.0], [True, False]),
        (constraints.integer_interval(1, 2), [0.0, 1.0, 1.5, 2.0], [False, True, False, True]),
        (constraints.less_than(1), [0.0, 1.0], [True, False]),
        (constraints.simplex, [[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]], [True, False, False]),
        (constraints.one_hot, [[0.0, 1.0], [1.0, 1.0]], [True, False]),
        (constraints.real_vector, [[1.0, 2.0], [1.0, float("nan")]], [True, False]),
        (constraints.symmetric, [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [3.0, 1.0]]], [True, False]),
        (constraints.lower_cholesky, [[[1.0, 0.0], [2.0, 1.0]], [[1.0, 2.0], [0.0, 1.0]]], [True, False]),
    ],
    ids=repr,
)
def test_check(constraint, values, expected):
    assert constraint.check(tensor(values)).tolist() == expected


def test_a_dependent_set_cannot_be_tested():
    assert constraints.is_dependent(constraints.dependent)
    with pytest.raises(ValueError, match="Cannot determine validity"):
        constraints.dependent.check(tensor([1.0]))
