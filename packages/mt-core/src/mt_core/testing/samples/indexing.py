"""Sample inputs: gathering, scattering, masks."""

from __future__ import annotations

from ... import dtypes
from ..sample import call, cases, constants, depends_on_strides, private_results

cases(
    "index.Tensor",
    lambda t: call(t(3, 4), [t.ints(2, high=3)]),
    lambda t: call(t(3, 4), [None, t.ints(2, 2, high=4)]),
    lambda t: call(t(3, 4, 5), [t.ints(2, 1, high=3), None, t.ints(6, high=5)]),
    lambda t: call(t(3, 4), [t.of([[True, False, True, True]] * 3, dtypes.bool)]),
)
cases(
    "index_put",
    lambda t: call(t(3, 4), [t.of([0, 2], dtypes.int64)], t(2, 4)),
    lambda t: call(t(3, 4), [t.of([0, 0], dtypes.int64)], t(4), True),
    lambda t: call(t(3, 4), [t.of([[True, False, True, True]] * 3, dtypes.bool)], t()),
)
cases(
    "index_select",
    lambda t: call(t(3, 4), 1, t.ints(5, high=4)),
    lambda t: call(t.ints(3), 0, t.ints(2, high=3, dtype=dtypes.int32)),
)
cases("gather", lambda t: call(t(3, 4), 1, t.ints(3, 2, high=4)), lambda t: call(t(), 0, t.ints(high=1)))
cases("take_along_dim", lambda t: call(t(3, 4), t.ints(3, 2, high=4), 1), lambda t: call(t(3, 4), t.ints(5, high=12)))
DISTINCT = ([[0, 1, 2, 0], [2, 0, 1, 1]], dtypes.int64)
cases("scatter.src scatter_add", lambda t: call(t(3, 4), 0, t.of(*DISTINCT), t(2, 4)))
cases("scatter.value", lambda t: call(t(3, 4), 0, t.of(*DISTINCT), 2.5))
cases("scatter.reduce", lambda t: call(t(3, 4), 0, t.of(*DISTINCT), t(2, 4), reduce="add"))
cases("scatter.value_reduce", lambda t: call(t(3, 4), 0, t.of(*DISTINCT), 2, reduce="multiply"))
cases(
    "scatter_reduce.two",
    *[
        lambda t, how=how: call(t(3, 4), 0, t.of(*DISTINCT), t(2, 4), how)
        for how in ("sum", "prod", "mean", "amax", "amin")
    ],
    lambda t: call(t(3, 4), 0, t.of(*DISTINCT), t(2, 4), "sum", include_self=False),
)
cases(
    "index_add",
    lambda t: call(t(3, 4), 0, t.of([2, 2], dtypes.int64), t(2, 4)),
    lambda t: call(t(3, 4), 1, t.of([1], dtypes.int64), t(3, 1), alpha=2),
)
cases("index_copy", lambda t: call(t(3, 4), 0, t.of([2, 0], dtypes.int64), t(2, 4)))
cases("index_fill.int_Scalar", lambda t: call(t(3, 4), 1, t.of([2, 0], dtypes.int64), 1.5))
cases("index_fill.int_Tensor", lambda t: call(t(3, 4), 1, t.of([2, 0], dtypes.int64), t()))
cases(
    "index_reduce",
    *[
        lambda t, how=how: call(t(3, 4), 0, t.of([2, 2], dtypes.int64), t(2, 4), how)
        for how in ("prod", "mean", "amax")
    ],
)
cases("masked_fill.Scalar", lambda t: call(t(2, 3), t.bools(2, 3), 1.5), lambda t: call(t(2, 3), t.bools(4, 1, 3), 2))
cases("masked_fill.Tensor", lambda t: call(t(2, 3), t.bools(3), t()))
cases("masked_select", lambda t: call(t(2, 3), t.of([[True, False, True]] * 2, dtypes.bool)))
cases("masked_scatter", lambda t: call(t(2, 3), t.bools(2, 3), t(6)))
cases("take", lambda t: call(t(2, 3), t.ints(2, 2, high=6)))
cases(
    "put",
    lambda t: call(t(2, 3), t.of([5, 1], dtypes.int64), t(2)),
    lambda t: call(t(2, 3), t.of([1, 1], dtypes.int64), t(2), True),
)
cases("nonzero argwhere", lambda t: call(t.bools(3, 4)), lambda t: call(t.ints(4)), lambda t: call(t()))
cases("count_nonzero.dim_IntList", lambda t: call(t.ints(3, 4), [0]), lambda t: call(t.bools(3, 4), [0, 1]))
cases("count_nonzero", lambda t: call(t.ints(3, 4)), lambda t: call(t.ints(3, 4), 1))
cases("embedding", lambda t: call(t(5, 3), t.ints(2, 4)), lambda t: call(t(5, 3), t.ints(2), 1))
cases(
    "embedding_dense_backward",
    lambda t: call(t(2, 4, 3), t.ints(2, 4), 5, -1, False),
    lambda t: call(t(2, 3), t.ints(2), 5, 1, True),
)
cases("one_hot", lambda t: call(t.ints(2, 3), 5), lambda t: call(t.ints(3)))
cases("select_scatter", lambda t: call(t(3, 4), t(4), 0, 1))
cases("slice_scatter", lambda t: call(t(3, 4), t(3, 2), 1, 0, 4, 2), lambda t: call(t(3, 4), t(2, 4), start=1))
cases("diagonal_scatter", lambda t: call(t(3, 4), t(3)), lambda t: call(t(3, 4), t(3), 1))
cases("as_strided_scatter", lambda t: call(t(3, 4).clone(), t(2, 2), [2, 2], [4, 2], 1))
cases(
    "repeat_interleave.self_Tensor",
    lambda t: call(t(3, 4), t.of([1, 0, 2], dtypes.int64), 0),
    lambda t: call(t(3), t.of([2], dtypes.int64)),
)
cases("repeat_interleave.self_int", lambda t: call(t(3, 4), 2, 1), lambda t: call(t(3, 4), 2))
cases("repeat_interleave.Tensor", lambda t: call(t.of([1, 0, 2], dtypes.int64)))
depends_on_strides("as_strided_scatter")
cases(
    "embedding_bag",
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2], dtypes.int64)),
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2, 6], dtypes.int64), False, 1, False, None, True),
)
cases(
    "embedding_bag.padding_idx",
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2], dtypes.int64), False, 2, False, None, False, 1),
)
private_results("embedding_bag embedding_bag.padding_idx", 1)
cases(
    "_embedding_bag",
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2], dtypes.int64)),
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2, 6], dtypes.int64), False, 1, False, None, True, 3),
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2], dtypes.int64), False, 2),
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2], dtypes.int64), True, 0, False, t(6), False, 1),
)
constants("_embedding_bag_forward_only", "weight", "per_sample_weights")
cases(
    "_embedding_bag_forward_only",
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2], dtypes.int64)),
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2, 6], dtypes.int64), True, 0, False, t(6), True, 3),
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2, 6], dtypes.int64), False, 1),
)
private_results("_embedding_bag _embedding_bag_forward_only", 1)
cases(
    "_rowwise_prune",
    lambda t: call(t(3, 2), t.of([True, False, True], dtypes.bool), dtypes.int32),
    lambda t: call(t(3, 2), t.of([False, False, False], dtypes.bool), dtypes.int64),
)
cases("embedding_renorm_", lambda t: call(t(5, 3), t.of([0, 2], dtypes.int64), 1.0, 2.0))
cases("nonzero_static", lambda t: call(t.bools(3, 4), size=5), lambda t: call(t.ints(4), size=2, fill_value=-7))

# Arguments away from their defaults.
INDEX = ([2, 0], dtypes.int64)
COLUMNS = ([[3, 0], [1, 1], [0, 2]], dtypes.int64)
cases("scatter.src scatter_add", lambda t: call(t(3, 4), 1, t.of([[3, 0], [1, 2], [0, 2]], dtypes.int64), t(3, 2)))
cases("scatter.value", lambda t: call(t(3, 4), -1, t.of(*COLUMNS), -1))
cases("scatter.reduce", lambda t: call(t(3, 4), 1, t.of(*COLUMNS), t(3, 2), reduce="multiply"))
cases("scatter.value_reduce", lambda t: call(t(3, 4), 1, t.of(*COLUMNS), 1.5, reduce="add"))
cases(
    "scatter_reduce.two",
    *[
        lambda t, how=how: call(t(3, 4), 1, t.of(*COLUMNS), t(3, 2), how, include_self=False)
        for how in ("prod", "mean", "amax", "amin")
    ],
)
cases("index_copy", lambda t: call(t(3, 4), 1, t.of([3, 1], dtypes.int64), t(3, 2)))
cases("index_fill.int_Scalar", lambda t: call(t(3, 4), 0, t.of(*INDEX), -2))
cases("index_fill.int_Tensor", lambda t: call(t(3, 4), 0, t.of(*INDEX), t()))
cases(
    "index_reduce",
    *[
        lambda t, how=how: call(t(3, 4), 1, t.of([2, 2, 0], dtypes.int64), t(3, 3), how, include_self=False)
        for how in ("prod", "mean", "amax", "amin")
    ],
)
cases("embedding", lambda t: call(t(5, 3), t.ints(2), -1, True))
cases("embedding_dense_backward", lambda t: call(t(4, 3), t.ints(4), 7, 2, False))
cases(
    "embedding_bag",
    *[lambda t, m=m: call(t(5, 3), t.ints(6), t.of([0, 2, 2], dtypes.int64), False, m) for m in (0, 1, 2)],
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2], dtypes.int64), False, 0, False, t(6)),
    lambda t: call(t(5, 3), t.ints(4), t.of([0, 3], dtypes.int64), True, 0),
)
cases(
    "embedding_bag.padding_idx",
    *[
        lambda t, m=m: call(t(5, 3), t.ints(6), t.of([0, 2, 6], dtypes.int64), False, m, False, None, True, 3)
        for m in (0, 1)
    ],
    lambda t: call(t(5, 3), t.ints(6), t.of([0, 2], dtypes.int64), True, 0, False, t(6), False, -1),
)
cases("embedding_renorm_", lambda t: call(t(5, 3), t.of([0, 2, 2], dtypes.int64), 0.5, 1.0))
cases("select_scatter", lambda t: call(t(3, 4), t(3), -1, -2))
cases("diagonal_scatter", lambda t: call(t(2, 3, 4), t(3, 2), -1, 0, 2))
cases("as_strided_scatter", lambda t: call(t(3, 4).clone(), t(3), [3], [3]))
cases("repeat_interleave.self_int", lambda t: call(t(3, 4), 3, -1, output_size=12))
cases("repeat_interleave.self_Tensor", lambda t: call(t(3), t.of([1, 0, 2], dtypes.int64), 0, output_size=3))
cases("repeat_interleave.Tensor", lambda t: call(t.of([1, 0, 2], dtypes.int64), output_size=3))
cases("gather", lambda t: call(t(3, 4), -2, t.ints(2, 4, high=3), sparse_grad=True))
cases("diagonal_scatter", lambda t: call(t(2, 3, 4), t(2, 3), 1, 1, 2))
cases(
    "_unsafe_masked_index",
    lambda t: call(t(4), t.of([True, False], dtypes.bool), [t.of([1, 9], dtypes.int64)], 0.5),
    lambda t: call(t(2, 4), t.of([True, False], dtypes.bool), [None, t.of([1, 9], dtypes.int64)], -1),
)
cases(
    "_unsafe_masked_index_put_accumulate",
    lambda t: call(t(4), t.of([True, False, True], dtypes.bool), [t.of([1, 9, 1], dtypes.int64)], t(3)),
)
