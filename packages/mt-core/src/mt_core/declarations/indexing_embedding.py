"""Bags of rows of a table: declarations. `mode` is 0 for sums, 1 for means, 2 for maxima."""

from __future__ import annotations

from ._checks import COMPLEX, NUMBERS, Supported
from ._declare import Family

family = Family("indexing")

_ARGUMENTS = "Tensor weight, Tensor indices, Tensor offsets"

family.composite(
    f"embedding_bag({_ARGUMENTS}, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
    variants="function", doc="One row for each bag of rows, the bag of each index, the bags' sizes, the maxima's rows.",
)  # fmt: skip
family.composite(
    f"embedding_bag.padding_idx({_ARGUMENTS}, bool scale_grad_by_freq, int mode, bool sparse, "
    "Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
    variants="function",
    doc="As without `padding_idx`, which is a row that counts for no bag.",
)  # fmt: skip
for _name, _doc in (
    ("_embedding_bag", "As `embedding_bag`, with a row that counts for no bag; a negative `padding_idx` is none."),
    ("_embedding_bag_forward_only", "As `_embedding_bag`, and cannot be differentiated."),
):
    family.composite(
        f"{_name}({_ARGUMENTS}, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
        "per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
        variants="function", doc=_doc,
    )  # fmt: skip
family.composite(
    "_rowwise_prune(Tensor weight, Tensor mask, ScalarType compressed_indices_dtype) -> (Tensor, Tensor)",
    variants="function", dtypes=Supported("rowwise_prune_helper", NUMBERS - COMPLEX),
    doc="The rows of a table that a mask keeps, and of each row where it has gone: -1 for those left out.",
)  # fmt: skip
family.composite(
    "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
    variants="function", doc="Shorten the rows named by indices to at most a norm, in place.",
)  # fmt: skip
