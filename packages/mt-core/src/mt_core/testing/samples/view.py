"""Sample inputs: views, joining, splitting, padding."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...formats import channels_last
from ...tensor import Tensor
from ..sample import TensorMaker, call, cases, depends_on_strides, unary, view


def both(names: str) -> str:
    """The names, and those of the operators that copy (``transpose_copy.int``)."""
    return " ".join(f"{name} {_copy(name)}" for name in names.split())


def _copy(name: str) -> str:
    packet, dot, overload = name.partition(".")
    return f"{packet}_copy{dot}{overload}"


def _on_cpu(values: Any) -> Tensor:
    """Indices that are read on the CPU, wherever the tensor is."""
    return TensorMaker().of(values, dtypes.int64)


unary("_conj_copy _neg_view_copy", dtypes=(dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.complex64))
view(both("transpose.int"), (0, 1), (-1, 0))
view(both("permute"), ([2, 0, 1],), ([-1, -2, -3],))
view(both("unsqueeze"), (0,), (-1,), (1,))
view(both("squeeze alias"), (), shape=(2, 1, 3))
view(both("squeeze.dim"), (1,), (0,), shape=(2, 1, 3))
view(both("squeeze.dims"), ([0, 1],), ([-2],), shape=(2, 1, 3))
view(both("t"), (), shape=(2, 3))
view(both("expand"), ([4, 2, 3],), ([-1, 3],), shape=(2, 3))
view(both("expand"), ([5, 3, 2],), shape=(1, 2))
view(both("select.int"), (0, 1), (-1, -2))
view(both("slice.Tensor"), (), (1, 1), (2, 0, 4, 2), (0, -1, 9))
view(both("diagonal"), (), (1, 0, 2), (-1, 1, 2))
view(both("unfold"), (2, 2, 1), (0, 2, 2))
view(both("unbind.int"), (), (1,))
view(both("split.Tensor"), (2,), (3, 2))
view(both("split_with_sizes"), ([1, 2], 1))
cases("_reshape_alias", lambda t: call(t(2, 3, 4), [6, 4], [4, 1]), lambda t: call(t(4, 6).t(), [2, 3, 4], [3, 1, 6]))
view("as_strided", ([2, 2], [3, 1]), ([2, 3], [1, 0], 2))
cases("as_strided_copy", lambda t: call(t(3, 4), [2, 2], [3, 1]))
cases(
    both("view"), lambda t: call(t(2, 3, 4), [6, 4]), lambda t: call(t(2, 3, 4), [-1]), lambda t: call(t(0, 3), [3, 0])
)
cases(both("view.dtype"), lambda t: call(t(2, 4), dtypes.int32), lambda t: call(t(2, 4), dtypes.uint8))
view("reshape", ([6, 4],), ([-1],), ([2, 12],))
view("flatten.using_ints", (), (1,), (0, 1))
view("ravel contiguous adjoint", ())
view("narrow narrow_copy", (2, 1, 2), (0, -1, 1))
cases("expand_as", lambda t: call(t(2, 1), t(2, 3)))
cases("view_as reshape_as", lambda t: call(t(2, 3), t(6)))
view("chunk", (2,), (3, 1), (5, 2))
view("split.sizes", ([1, 2], 1))
view("tensor_split.sections", (2,), (3, 2))
view("tensor_split.indices", ([1, 2], 2))
cases(
    "tensor_split.tensor_indices_or_sections",
    lambda t: call(t(4, 3), _on_cpu([1, 3])),
    lambda t: call(t(4, 3), _on_cpu(2)),
)
view("hsplit.int", (3,))
view("hsplit.array", ([1, 2],))
view("vsplit.int", (2,))
view("vsplit.array", ([1],))
view("dsplit.int", (2,))
view("dsplit.array", ([1, 3],))
view("unflatten.int", (2, [2, 2]), (-1, [-1, 2]))
view("movedim.intlist moveaxis.intlist", ([0, 1], [2, 0]))
view("movedim.int moveaxis.int", (0, 2), (-1, 0))
view("swapaxes swapdims swapaxes_ swapdims_", (0, 2))
view("broadcast_to", ([4, 2, 3],), shape=(2, 3))

JOINED = (lambda t: call([t(2, 3), t(2, 3)]), lambda t: call([t(2, 3), t(2, 3, dtype=dtypes.float64)]))
cases("cat concat concatenate stack hstack vstack dstack column_stack row_stack", *JOINED)
cases("cat concat concatenate", lambda t: call([t(2, 3), t(2, 1)], 1), lambda t: call([t(0), t(2, 3)]))
cases("stack", lambda t: call([t(2, 3), t(2, 3)], -1))
view("repeat tile", ([2, 1, 3],), ([2, 1, 1, 2],))
view("flip", ([0],), ([0, -1],))
view("fliplr flipud", ())
view("roll", (1,), ([1, 2], [0, 2]))
view("rot90", (), (2, [1, 2]))
view("constant_pad_nd", ([1, 2],), ([1, 0, 0, 2], 1.5), ([-1, 1],))
view("reflection_pad1d replication_pad1d _pad_circular", ([1, 2],))
cases("reflection_pad2d replication_pad2d _pad_circular", lambda t: call(t(2, 3, 4, 5), [1, 2, 1, 0]))
cases("reflection_pad3d replication_pad3d", lambda t: call(t(2, 3, 4, 5, 6), [1, 2, 1, 0, 1, 1]))
view("pad", ([1, 2],), ([1, 2], "reflect"), ([1, 1], "circular"), ([1, 0, 0, 1], "constant", 2.0))
unary("alias detach detach_copy lift_fresh lift_fresh_copy")
cases(
    "_reshape_alias_copy",
    lambda t: call(t(2, 3, 4), [6, 4], [4, 1]),
    lambda t: call(t(3, 4), [12], [1]),
    lambda t: call(t.ints(3, 4), [3, 1, 4], [4, 4, 1]),
)
view("_debug_has_internal_overlap", ())
depends_on_strides("_reshape_alias_copy _debug_has_internal_overlap")
depends_on_strides("_reshape_alias")
depends_on_strides(both("as_strided view.dtype"))
cases("narrow.Tensor", lambda t: call(t(2, 4), 1, _on_cpu(1), 2))
view("unsafe_chunk", (2,), (3, 1))
view("unsafe_split.Tensor", (2,), (3, 2))
view("unsafe_split_with_sizes", ([1, 2], 1))
cases(
    "view_as_real_copy",
    lambda t: call(t(2, 3, dtype=dtypes.complex64)),
    lambda t: call(t(dtype=dtypes.complex128)),
)
cases("view_as_complex_copy", lambda t: call(t(2, 3, 2, 2)), lambda t: call(t(4, 2)))
depends_on_strides("view_as_complex_copy")

# Arguments away from their defaults.
cases("as_strided_copy", lambda t: call(t(3, 4), [2, 3], [1, 2], 1))
view("broadcast_to", ([2, 3],), shape=(2, 1))
view("contiguous")
view(both("expand"), ([2, 2, 3],), shape=(2, 3), implicit=True)
view("dsplit.int hsplit.int", (1,))
view("vsplit.int", (1,))
view("dsplit.array hsplit.array", ([2],))
view("vsplit.array", ([0, 1],))
view("moveaxis.intlist movedim.intlist", ([0], [-1]))
cases("narrow.Tensor", lambda t: call(t(2, 4), 0, _on_cpu(0), 1))
for _n in (1, 2, 3):
    _pads = ([0, 2], [1, 0, 2, 1], [0, 1, 1, 0, 1, 2])[_n - 1]
    cases(
        f"reflection_pad{_n}d replication_pad{_n}d",
        lambda t, p=_pads: (
            call(t(2, 3, 4, 5)[..., :][:2], p) if len(p) == 4 else call(t(*(2, 3, 4, 5)[: len(p) // 2 + 1]), p)
        ),
    )
view("split.sizes split_with_sizes unsafe_split_with_sizes split_with_sizes_copy", ([1, 1, 2], -1))
view("swapaxes swapdims swapaxes_ swapdims_", (1, -1))
view("tensor_split.indices", ([1], 0))
cases("tensor_split.tensor_indices_or_sections", lambda t: call(t(4, 3), _on_cpu([1]), 1))
view(both("unfold"), (-1, 3, 1), (1, 1, 2))
view("constant_pad_nd", ([0, 0, 1, 2],), ([2, 1, -1, 0, 1, 1], -3))
view("roll", ([-1, 5], [0, 1]), (7,))
view("rot90", (-1, [0, 1]), (3, [2, 0]))
cases("contiguous", lambda t: call(t(2, 3, 4, 5), memory_format=channels_last))

# Refused, as PyTorch refuses it: also where a short path does not look.
view(both("unbind.int"), (3,), (-4,))
view(both("select.int"), (3, 0), (0, 2), (-1, -5))
view(both("transpose.int"), (0, 3), (-4, 1))
view(both("permute"), ([0, 1],), ([0, 0, 1],), ([0, 1, 3],))
view(both("unsqueeze"), (4,), (-5,))
view(both("squeeze.dim"), (3,), (-4,))
view(both("expand"), ([2, 3, 5],), ([3, 4],), ([-1, 2, 3, 4],))
view(both("view"), ([5, 5],), ([-1, -1],), ([7, -1],))
view(both("diagonal"), (0, 1, 1), (0, 3, 1))
view(both("unfold"), (0, 3, 1), (0, 1, 0), (3, 1, 1))
view(both("slice.Tensor"), (3,), (0, 0, 2, 0))
view(both("split.Tensor"), (0,), (2, 3), (-1,))
view("narrow", (0, 1, 2), (3, 0, 1), (2, 0, -1))
view("reshape", ([5, 5],), ([-1, 0],))
view("flip", ([3],), ([0, 0],))
view("roll", ([1, 2], [0]), (1, [5]))
cases("cat", lambda t: call([t(2, 3), t(2, 4)]), lambda t: call([t(2, 3)], 2), lambda t: call([t(2), t(2, 3)]))
cases("stack", lambda t: call([t(2, 3), t(2, 4)]), lambda t: call([t(2, 3)], 3))
cases("_unsafe_view", lambda t: call(t(2, 3), (3, 2)), lambda t: call(t(2, 3), (-1,)))
for _n in (1, 2, 3):
    cases(
        f"reflection_pad{_n}d_backward replication_pad{_n}d_backward",
        lambda t, n=_n: call(t(2, 3, *[7, 6, 8][-n:]), t(2, 3, *[4, 4, 5][-n:]), [1, 2, 1, 1, 2, 1][: 2 * n]),
        lambda t, n=_n: call(t(3, *[5, 5, 4][-n:]), t(3, *[4, 4, 5][-n:]), [1, -2, 1, 0, 0, 1][: 2 * n]),
    )
cases(
    "_chunk_cat",
    lambda t: call([t(3, 2), t(2, 2)], 0, 2),
    lambda t: call([t(2, 3, 2), t(2, 1, 2)], 1, 3),
)
cases("_block_diag", lambda t: call([t(2, 3), t(2), t()]), lambda t: call([t(2, 1), t(0, 3)]))
