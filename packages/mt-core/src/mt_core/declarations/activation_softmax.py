"""Softmax and its relatives: declarations."""

from __future__ import annotations

from ._checks import FLOATS, Supported
from ._declare import Family

family = Family("activation")

for _name, _doc in (
    ("softmax", "exp(self) divided by its sum along `dim`; with `dtype`, computed and returned in that type."),
    ("log_softmax", "The logarithm of `softmax`, computed without overflow."),
):
    family.composite(
        f"{_name}.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", out="int_out", exact_out=True, doc=_doc
    )
    family.plain(
        f"_{_name}(Tensor self, int dim, bool half_to_float) -> Tensor", variants="function", out=True, exact_out=True
    )
    family.plain(f"_{_name}_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
              variants="function", exact_out=True, out=("out", ("grad_input" if _name == "softmax" else "out",)))  # fmt: skip
family.plain("_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor", variants="function",
          doc="`softmax` over the elements whose mask is false; the others become zero.")  # fmt: skip
family.plain(
    "_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None) -> Tensor",
    variants="",
    dtypes=Supported("masked_softmax_backward", FLOATS),
)
