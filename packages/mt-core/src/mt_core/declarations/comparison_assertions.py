"""Conditions that programs state of tensors: declarations."""

from __future__ import annotations

from .comparison import family

family.composite(
    "_assert_async(Tensor self) -> ()", variants="function",
    doc="Raise where the only element is zero; on the CPU at once. A second argument says in which words.",
)  # fmt: skip
family.composite("_assert_async.msg(Tensor self, str assert_msg) -> ()", variants="function")
family.composite(
    "_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor", variants="function",
    doc="As `_assert_async`; a copy of `dep_token`, by which what comes later depends on it.",
)  # fmt: skip
family.composite(
    "_assert_scalar(Scalar self, str assert_msg) -> ()", variants="function", doc="Raise where a number is zero."
)
family.composite(
    "sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", variants="function",
    doc="Raise where a number, cut to an integer, is not between `min` and `max`.",
)  # fmt: skip
family.composite(
    "sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()", variants="function",
    doc="As `sym_constrain_range`, of a size: `min` is 0 where it is not given, and `max` is above 2.",
)  # fmt: skip
family.composite(
    "_assert_tensor_metadata(Tensor a, int[]? size=None, int[]? stride=None, ScalarType? dtype=None, *, "
    "Device? device=None, Layout? layout=None) -> ()",
    variants="function",
    doc="Raise where a tensor has not the size, strides, dtype or device that are given.",
)
family.composite("_is_all_true(Tensor self) -> Tensor", doc="Whether all elements of a tensor of bool are true.")
family.composite("_is_any_true(Tensor self) -> Tensor", doc="Whether an element of a tensor of bool is true.")
