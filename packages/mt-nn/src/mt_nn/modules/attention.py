"""Multi-head attention as a module."""

from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.layers import autocast

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention of several heads, with projections before and after it (Vaswani et al. 2017).

    L and S are the lengths of the target and the source, N is the batch size, E the embedding dimension. N is left out
    for a single sample; with `batch_first` it comes first.

    Parameters
    ----------
    embed_dim
        E.
    num_heads
        Number of heads, among which E is divided.
    dropout
        Probability of an attention weight to be zeroed in training.
    bias
        Whether the projections have biases.
    add_bias_kv
        Whether to learn one more key and value, the same for all samples.
    add_zero_attn
        Whether to add one more key and value of zeros.
    kdim
        Size of a key, E by default.
    vdim
        Size of a value, E by default.
    batch_first
        Whether the inputs have the shape (N, length, E) rather than (length, N, E).
    """

    # PyTorch's module of activations holds this class, and saved files say so.
    __module__ = "mt_nn.modules.activation"
    __constants__ = ["batch_first"]
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != self.embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._register_projections(factory_kwargs)
        if bias:
            self.in_proj_bias = Parameter(mt.empty(3 * embed_dim, **factory_kwargs))
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **factory_kwargs)
        if add_bias_kv:
            self.bias_k = Parameter(mt.empty((1, 1, embed_dim), **factory_kwargs))
            self.bias_v = Parameter(mt.empty((1, 1, embed_dim), **factory_kwargs))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register_projections(self, factory_kwargs: dict[str, Any]) -> None:
        size = self.embed_dim
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(mt.empty((3 * size, size), **factory_kwargs))
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = Parameter(mt.empty((size, size), **factory_kwargs))
            self.k_proj_weight = Parameter(mt.empty((size, self.kdim), **factory_kwargs))
            self.v_proj_weight = Parameter(mt.empty((size, self.vdim), **factory_kwargs))
            self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)  # absent from the oldest pickles
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The attended values and, unless `need_weights` is off, the attention weights.

        Parameters
        ----------
        query
            Shape (L, N, E).
        key
            Shape (S, N, kdim).
        value
            Shape (S, N, vdim).
        key_padding_mask
            Shape (N, S); True leaves a key out, a number is added to its scores.
        need_weights
            Whether to return the weights, which is slower.
        attn_mask
            Shape (L, S) or (N * num_heads, L, S); True leaves a pair out, a number is added to its score.
        average_attn_weights
            Whether to return the mean of the weights over heads.
        is_causal
            Says that `attn_mask` is the causal mask, which permits not to use it.
        """
        if query.is_nested or key.is_nested or value.is_nested:
            masks = key_padding_mask, attn_mask
            return self._of_nested(query, key, value, masks, need_weights, average_attn_weights)
        transposed = self.batch_first and query.dim() == 3
        if transposed:
            query, key, value = _batch_second(query, key, value)
        separate = {}
        if not self._qkv_same_embed_dim:
            separate = {
                "use_separate_proj_weight": True,
                "q_proj_weight": self.q_proj_weight,
                "k_proj_weight": self.k_proj_weight,
                "v_proj_weight": self.v_proj_weight,
            }
        attended, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **separate,
        )
        return (attended.transpose(1, 0) if transposed else attended), weights

    def _of_nested(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        masks: tuple[Tensor | None, Tensor | None],
        need_weights: bool,
        average_attn_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """The same of nested tensors of the strided layout, by the operator that is without a derivative.

        Raises
        ------
        AssertionError
            Where PyTorch's module does not take this operator, in its words.
        """
        reason = self._why_not_native(query, key, value, masks)
        if reason or self.in_proj_bias is None:
            raise AssertionError(
                "MultiheadAttention does not support NestedTensor outside of its fast path. The fast path was not hit "
                f"because {reason}"
            )
        attended, weights = ops._native_multi_head_attention(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.out_proj.weight,
            self.out_proj.bias,
            None,
            need_weights,
            average_attn_weights,
        )
        return attended, weights

    def _why_not_native(
        self, query: Tensor, key: Tensor, value: Tensor, masks: tuple[Tensor | None, Tensor | None]
    ) -> str:
        """Why PyTorch would not take ``_native_multi_head_attention``, in its words; empty where it would."""
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if query.dim() != 3:
            return f"input not batched; expected query.dim() of 3 but got {query.dim()}"
        if query is not key or key is not value:
            return "non-self attention was used (query, key, and value are not the same Tensor)"
        if bias is not None and query.dtype is not bias.dtype:
            return f"dtypes of query ({query.dtype}) and self.in_proj_bias ({bias.dtype}) don't match"
        if weight is None:
            return "in_proj_weight was None"
        if query.dtype is not weight.dtype:
            return f"dtypes of query ({query.dtype}) and self.in_proj_weight ({weight.dtype}) don't match"
        if self.training:
            return "training is enabled"
        if self.num_heads % 2:
            return "self.num_heads is not even"
        if not self.batch_first:
            return "batch_first was not True"
        if self.bias_k is not None:
            return "self.bias_k was not None"
        if self.bias_v is not None:
            return "self.bias_v was not None"
        if self.add_zero_attn:
            return "add_zero_attn was enabled"
        if any(mask is not None for mask in masks):
            return (
                "supplying both src_key_padding_mask and src_mask at the same time"
                f"{' ' * 33} is not supported with NestedTensor input"
            )
        if autocast.is_enabled("cuda"):
            return "autocast is enabled"
        tensors = query, weight, bias, self.out_proj.weight, self.out_proj.bias
        if mt.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors):
            return (
                "grad is enabled and at least one of query or the input/output projection weights or biases "
                "requires_grad"
            )
        return ""

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """One mask for both, and its kind: 0 attention, 1 padding, 2 both (then of shape (N, heads, L, S)).

        Parameters
        ----------
        attn_mask
            Shape (L, S) or (N * heads, L, S).
        key_padding_mask
            Shape (N, S).
        query
            Shape (N, L, E).
        """
        mask_type: int | None = None
        merged: Tensor | None = None
        if key_padding_mask is not None:
            mask_type, merged = 1, key_padding_mask
        if attn_mask is not None:
            batch, length, _ = query.shape
            mask_type = 2
            if attn_mask.dim() == 3:
                merged = attn_mask.view(batch, -1, length, length)
            else:
                merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
            if key_padding_mask is not None:
                merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, mask_type


def _batch_second(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs of shape (N, length, E) as (length, N, E); what was one tensor stays one, which saves projections."""
    transposed_query = query.transpose(1, 0)
    transposed_key = transposed_query if key is query else key.transpose(1, 0)
    transposed_value = transposed_key if value is key else value.transpose(1, 0)
    return transposed_query, transposed_key, transposed_value
