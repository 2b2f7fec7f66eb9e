"""The transformer of Vaswani et al. 2017 and its parts.

S and T are the lengths of source and target, N is the batch size, E is `d_model`. Inputs have the shape (length, N, E),
with `batch_first` (N, length, E), or (length, E) for a single sample. In a boolean mask True leaves an entry out;
numbers are added to scores.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core import Tensor

from .. import functional as F
from ..init import xavier_uniform_
from .activation import GELU, MultiheadAttention, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


def _generate_square_subsequent_mask(sz: int, device: mt.device | None = None, dtype: mt.dtype | None = None) -> Tensor:
    """The causal mask of shape (sz, sz): minus infinity above the diagonal, 0 elsewhere."""
    return mt.triu(mt.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _get_seq_len(src: Tensor, batch_first: bool) -> int | None:
    if src.is_nested:
        return None
    size = src.size()
    if len(size) == 2:
        return size[0]
    return size[1 if batch_first else 0]


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


def _activation_kind(activation: Callable[[Tensor], Tensor]) -> int:
    """1 for relu, 2 for gelu, 0 for any other function."""
    if activation is F.relu or isinstance(activation, ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, GELU) else 0


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Whether a mask is the causal one, looking at it unless `is_causal` already says so."""
    if is_causal is not None or mask is None:
        return is_causal is True
    size = size if size is not None else mask.size(-2)
    causal = _generate_square_subsequent_mask(size, device=mask.device, dtype=mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


class Transformer(Module):
    """An encoder and a decoder.

    Parameters
    ----------
    d_model
        E.
    nhead
        Number of heads of each attention.
    num_encoder_layers
        Number of layers of the encoder.
    num_decoder_layers
        Number of layers of the decoder.
    dim_feedforward
        Size between the two linear maps of a layer.
    dropout
        Probability of an element to be zeroed in training.
    activation
        ``"relu"``, ``"gelu"`` or a function.
    custom_encoder
        In place of the encoder.
    custom_decoder
        In place of the decoder.
    layer_norm_eps
        Added to the variance in layer normalizations.
    batch_first
        Whether the batch is the first dimension.
    norm_first
        Whether to normalize before, rather than after, attention and linear maps.
    bias
        Whether linear maps and normalizations have biases.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        layer_arguments = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
        )  # fmt: skip
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*layer_arguments, **factory_kwargs)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*layer_arguments, **factory_kwargs)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's output for a target, of its shape.

        Parameters
        ----------
        src
            Shape (S, N, E).
        tgt
            Shape (T, N, E).
        src_mask
            Shape (S, S) or (N * nhead, S, S).
        tgt_mask
            Shape (T, T) or (N * nhead, T, T).
        memory_mask
            Shape (T, S).
        src_key_padding_mask
            Shape (N, S).
        tgt_key_padding_mask
            Shape (N, T).
        memory_key_padding_mask
            Shape (N, S).
        src_is_causal
            Says that `src_mask` is the causal mask; by default it is looked at.
        tgt_is_causal
            Says that `tgt_mask` is the causal mask; by default it is looked at.
        memory_is_causal
            Says that `memory_mask` is the causal mask.
        """
        is_batched = src.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if is_batched and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: mt.device | None = None, dtype: mt.dtype | None = None
    ) -> Tensor:
        """The causal mask of shape (sz, sz): minus infinity above the diagonal, 0 elsewhere."""
        return _generate_square_subsequent_mask(sz, dtype=dtype, device=device)

    def _reset_parameters(self) -> None:
        for param in self.parameters():
            if param.dim() > 1:
                xavier_uniform_(param)


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after another.

    Parameters
    ----------
    encoder_layer
        The layer to copy.
    num_layers
        How many.
    norm
        A normalization of the result.
    enable_nested_tensor
        Whether, in evaluation without gradients, the outputs at padded positions are zeros.
    mask_check
        Whether that is done only if the padding of each sample follows its elements.
    """

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: "TransformerEncoderLayer",
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _why_padding_is_computed(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and reason is None
        if enable_nested_tensor and reason is not None:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The encoded source, of its shape.

        Parameters
        ----------
        src
            Shape (S, N, E).
        mask
            Shape (S, S) or (N * nhead, S, S).
        src_key_padding_mask
            Shape (N, S).
        is_causal
            Says that `mask` is the causal mask; by default it is looked at.
        """
        src_key_padding_mask = F._canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", F._none_or_dtype(mask), "mask", src.dtype
        )
        mask = F._canonical_mask(mask, "mask", None, "", src.dtype, False)
        batch_first = self.layers[0].self_attn.batch_first
        is_causal = _detect_is_causal_mask(mask, is_causal, _get_seq_len(src, batch_first))
        padded = None
        if self._leaves_padding_out(src, mask, src_key_padding_mask):
            padded = src_key_padding_mask != 0
            src_key_padding_mask = src_key_padding_mask.masked_fill(padded, float("-inf"))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=src_key_padding_mask)
        if padded is not None:
            output = output.masked_fill(padded.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _leaves_padding_out(self, src: Tensor, mask: Tensor | None, key_padding_mask: Tensor | None) -> bool:
        """Whether PyTorch would compute the elements without their padding, whose outputs are then zeros."""
        if not self.use_nested_tensor or self.layers[0].training or src.dim() != 3:
            return False
        if key_padding_mask is None or mask is not None:
            return False
        tensors = [src, *self.layers[0].parameters()]
        if mt.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return False
        return not self.mask_check or _is_left_aligned(key_padding_mask == 0)


def _why_padding_is_computed(layer: Module) -> str | None:
    """Why copies of a layer compute padding too, in the words of PyTorch's warning; `None` if they need not."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    if layer.norm_first:
        return "encoder_layer.norm_first was True"
    if not layer.self_attn.batch_first:
        return "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
    if not layer.self_attn._qkv_same_embed_dim:
        return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
    if layer.self_attn.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    if not layer.activation_relu_or_gelu:
        return "encoder_layer.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    if layer.self_attn.num_heads % 2 == 1:
        return "encoder_layer.self_attn.num_heads is odd"
    return None


def _is_left_aligned(valid: Tensor) -> bool:
    """Whether the valid elements of each sample come before its padding."""
    positions = mt.arange(valid.size(-1), device=valid.device)
    return bool((valid == (positions < valid.sum(-1, keepdim=True))).all())


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after another.

    Parameters
    ----------
    decoder_layer
        The layer to copy.
    num_layers
        How many.
    norm
        A normalization of the result.
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: "TransformerDecoderLayer", num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoded target, of its shape.

        Parameters
        ----------
        tgt
            Shape (T, N, E).
        memory
            The encoder's output, shape (S, N, E).
        tgt_mask
            Shape (T, T) or (N * nhead, T, T).
        memory_mask
            Shape (T, S).
        tgt_key_padding_mask
            Shape (N, T).
        memory_key_padding_mask
            Shape (N, S).
        tgt_is_causal
            Says that `tgt_mask` is the causal mask; by default it is looked at.
        memory_is_causal
            Says that `memory_mask` is the causal mask.
        """
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        tgt_is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class TransformerEncoderLayer(Module):
    """Self-attention and two linear maps, each added to its input and normalized.

    Parameters
    ----------
    d_model
        E.
    nhead
        Number of heads.
    dim_feedforward
        Size between the two linear maps.
    dropout
        Probability of an element to be zeroed in training.
    activation
        ``"relu"``, ``"gelu"`` or a function.
    layer_norm_eps
        Added to the variance in layer normalizations.
    batch_first
        Whether the batch is the first dimension.
    norm_first
        Whether to normalize before, rather than after, attention and linear maps.
    bias
        Whether linear maps and normalizations have biases.
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory_kwargs
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory_kwargs)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory_kwargs)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation
        self.activation_relu_or_gelu = _activation_kind(self.activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):  # absent from old pickles
            self.activation = F.relu

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The encoded source, of its shape.

        Parameters
        ----------
        src
            Shape (S, N, E).
        src_mask
            Shape (S, S) or (N * nhead, S, S).
        src_key_padding_mask
            Shape (N, S).
        is_causal
            Says that `src_mask` is the causal mask.
        """
        src_key_padding_mask = F._canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", F._none_or_dtype(src_mask), "src_mask", src.dtype
        )
        src_mask = F._canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        x, _ = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal
        )
        return self.dropout1(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's output and two linear maps, each added to its input and normalized.

    Parameters
    ----------
    d_model
        E.
    nhead
        Number of heads.
    dim_feedforward
        Size between the two linear maps.
    dropout
        Probability of an element to be zeroed in training.
    activation
        ``"relu"``, ``"gelu"`` or a function.
    layer_norm_eps
        Added to the variance in layer normalizations.
    batch_first
        Whether the batch is the first dimension.
    norm_first
        Whether to normalize before, rather than after, attention and linear maps.
    bias
        Whether linear maps and normalizations have biases.
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **factory_kwargs
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **factory_kwargs
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory_kwargs)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory_kwargs)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):  # absent from old pickles
            self.activation = F.relu

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoded target, of its shape.

        Parameters
        ----------
        tgt
            Shape (T, N, E).
        memory
            The encoder's output, shape (S, N, E).
        tgt_mask
            Shape (T, T) or (N * nhead, T, T).
        memory_mask
            Shape (T, S).
        tgt_key_padding_mask
            Shape (N, T).
        memory_key_padding_mask
            Shape (N, S).
        tgt_is_causal
            Says that `tgt_mask` is the causal mask.
        memory_is_causal
            Says that `memory_mask` is the causal mask.
        """
        attended = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            x = x + self._mha_block(self.norm2(x), *attended)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self.norm2(x + self._mha_block(x, *attended))
        return self.norm3(x + self._ff_block(x))

    _sa_block = TransformerEncoderLayer._sa_block

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        x, _ = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout2(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
