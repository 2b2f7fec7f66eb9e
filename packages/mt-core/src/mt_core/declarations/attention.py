"""Attention: declarations."""

from __future__ import annotations

from ._checks import FLOATS, Supported
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
family.composite(
    "_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)",
    variants="function", dtypes=Supported("transform_bias_rescale_qkv", FLOATS),
    doc=(
        "Queries, keys and values of each head, (B, H, L, E / H), out of one projection (B, L, 3 E) without its bias (3 E,); "
        "queries are divided by the root of E / H. Not differentiable."
    ),
)  # fmt: skip
family.composite(
    "_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, "
    "Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, "
    "bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
    variants="function",
    doc=(
        "Multi-head attention of (B, L, E) with its projections: the result (B, L, E), and the weights (B, L, L), or (B, H, L, L) "
        "of each head, or None. A bool mask is true where a key is left out; `mask_type` says its shape: 0 for (L, L), 1 for "
        "(B, L), 2 for (B, H, L, L). Not differentiable."
    ),
)  # fmt: skip
