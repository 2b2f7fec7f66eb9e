"""Attention: declarations."""

from __future__ import annotations

from ._declare import Family

family = Family("attention")

family.composite(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
    "dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor", variants="function", namespace="torch._C._nn",
    doc=(
        "softmax(query @ key^T * scale + mask) @ value (Vaswani et al. 2017): (*, l, e), (*, s, e), (*, s, v) -> "
        "(*, l, v); a bool mask is true where a key takes part."
    ),
)  # fmt: skip
family.composite(
    "_plain_attention(Tensor query, Tensor key, Tensor value, bool is_causal, float? scale) -> Tensor", variants="function",
    doc="`scaled_dot_product_attention` without a mask of its own and without dropout: what a backend may do in one piece.",
)  # fmt: skip
family.composite(
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    variants="function",
    doc="softmax with zeros for rows in which every element is -inf.",
)
