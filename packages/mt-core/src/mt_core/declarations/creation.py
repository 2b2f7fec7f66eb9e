"""Making and copying tensors: declarations."""

from __future__ import annotations

from ._checks import FLOATS, INTEGERS, Supported
from ._declare import Family

family = Family("creation")
_COUNTED = Supported("arange_cpu", INTEGERS | FLOATS)

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE = f"{_OPTIONS}, MemoryFormat? memory_format=None"

family.factory(
    f"empty.memory_format(int[] size, *, {_LIKE}) -> Tensor", out=True, doc="A tensor with arbitrary elements."
)
family.factory(
    f"empty_strided(int[] size, int[] stride, *, {_OPTIONS}) -> Tensor",
    doc="A tensor with arbitrary elements and these strides.",
)
family.factory(f"zeros(int[] size, *, {_OPTIONS}) -> Tensor", out=True, doc="A tensor of zeros.")
family.factory(f"ones(int[] size, *, {_OPTIONS}) -> Tensor", out=True, doc="A tensor of ones.")
family.factory(
    f"full(int[] size, Scalar fill_value, *, {_OPTIONS}) -> Tensor",
    out=True,
    doc="A tensor of one value; its dtype follows the value where none is given.",
)
family.factory(
    f"arange(Scalar end, *, {_OPTIONS}) -> Tensor",
    out=True,
    any_shape_out=True,
    count_told=True,
    dtypes=_COUNTED,
    doc="Numbers from 0 up to (not including) `end`.",
)
family.factory(f"arange.start(Scalar start, Scalar end, *, {_OPTIONS}) -> Tensor", dtypes=_COUNTED)
family.factory(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {_OPTIONS}) -> Tensor",
    out="start_out",
    any_shape_out=True,
    count_told=True,
    dtypes=_COUNTED,
    doc="Numbers from `start` up to (not including) `end` by `step`.",
)
family.factory(f"scalar_tensor(Scalar s, *, {_OPTIONS}) -> Tensor", doc="A 0-dim tensor of a number.")
for _name, _doc in (("empty", "arbitrary elements"), ("zeros", "zeros"), ("ones", "ones")):
    family.factory(
        f"{_name}_like(Tensor self, *, {_LIKE}) -> Tensor",
        doc=f"A tensor of {_doc} in the shape, dtype, layout and device of another.",
    )
    family.factory(
        f"new_{_name}(Tensor self, int[] size, *, {_OPTIONS}) -> Tensor",
        variants="method",
        doc=f"A tensor of {_doc} in the dtype and device of another.",
    )
family.factory(
    f"full_like(Tensor self, Scalar fill_value, *, {_LIKE}) -> Tensor",
    doc="One value in the shape and dtype of another tensor.",
)
family.factory(f"new_full(Tensor self, int[] size, Scalar fill_value, *, {_OPTIONS}) -> Tensor", variants="method",
            doc="One value in the dtype and on the device of self.")  # fmt: skip
family.factory(f"new_empty_strided(Tensor self, int[] size, int[] stride, *, {_OPTIONS}) -> Tensor", variants="method",
            doc="Arbitrary elements of given strides, in the dtype and on the device of self.")  # fmt: skip
family.plain(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    doc="A copy with its own memory; strides are kept where the tensor is dense.",
)
family.plain(
    "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    variants="method",
    wraps="src",
    not_in_part="src",
    doc="Write the elements of `src`, broadcast and converted, into this tensor.",
)
family.plain(
    "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
    variants="method function",
    doc="Write one value to every element.",
)
family.plain("fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", variants="method function")
family.plain("zero_(Tensor(a!) self) -> Tensor(a!)", variants="method function", doc="Write zero to every element.")
family.plain(
    f"_to_copy(Tensor self, *, {_OPTIONS}, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    variants="function",
    doc="A copy in another dtype, device or layout.",
)
family.plain("_pin_memory(Tensor self, Device? device=None) -> Tensor", variants="function",
             doc="A copy in page-locked memory of the host, of the same strides.")  # fmt: skip
family.plain("_local_scalar_dense(Tensor self) -> Scalar", variants="")
