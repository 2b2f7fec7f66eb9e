"""Attention in which functions of the position change scores (`score_mod`) or leave pairs out (`mask_mod`).

The functions are called once with index tensors that broadcast to (B, H, Q_LEN, KV_LEN), rather than once for each
pair of positions. They must therefore be written in elementwise operators and indexing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import mt_core as mt
from mt_core import Tensor

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128

#: (batch, head, query position, key position) -> True where the pair takes part.
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
#: (score, batch, head, query position, key position) -> the score to use.
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


class AuxRequest(NamedTuple):
    """What `flex_attention` should return besides its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What `flex_attention` returned besides its output; `None` for what was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The `mask_mod` that leaves nothing out."""
    return batch.new_ones(size=(), dtype=mt.bool, device=batch.device)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The `mask_mod` that keeps what any of several keeps."""
    _check_callable(mask_mods)

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=mt.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The `mask_mod` that keeps what all of several keep."""
    _check_callable(mask_mods)

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=mt.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def _check_callable(mask_mods: tuple[Any, ...]) -> None:
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def _indices(batch: int, heads: int, queries: int, keys: int, device: Any) -> tuple[Tensor, ...]:
    """Batch, head, query and key positions, so shaped that they broadcast to (batch, heads, queries, keys)."""
    sizes = (batch, heads, queries, keys)
    shapes = ((-1, 1, 1, 1), (1, -1, 1, 1), (1, 1, -1, 1), (1, 1, 1, -1))
    return tuple(mt.arange(size, device=device).view(shape) for size, shape in zip(sizes, shapes, strict=True))


def create_mask(mod_fn: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """The boolean mask of shape (B, H, Q_LEN, KV_LEN) that a `mask_mod` stands for.

    Parameters
    ----------
    mod_fn
        The function.
    B
        Batch size; `None` for 1.
    H
        Number of heads; `None` for 1.
    Q_LEN
        Number of queries.
    KV_LEN
        Number of keys.
    device
        Where the mask is.
    """
    shape = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    return mt.broadcast_to(mod_fn(*_indices(*shape, device)), shape)


class BlockMask:
    """A mask that knows which blocks of queries and keys have any pair that takes part.

    Parameters
    ----------
    seq_lengths
        Number of queries and of keys.
    kv_num_blocks
        How many blocks of keys each block of queries needs in part, shape (B, H, rows).
    kv_indices
        Which ones, the needed first, shape (B, H, rows, columns).
    full_kv_num_blocks
        As `kv_num_blocks`, of the blocks that take part as a whole.
    full_kv_indices
        As `kv_indices`, of the blocks that take part as a whole.
    q_num_blocks
        As `kv_num_blocks`, seen from the keys.
    q_indices
        As `kv_indices`, seen from the keys.
    full_q_num_blocks
        As `full_kv_num_blocks`, seen from the keys.
    full_q_indices
        As `full_kv_indices`, seen from the keys.
    BLOCK_SIZE
        Size of a block: queries and keys.
    mask_mod
        Says which pairs within a partial block take part.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: MaskMod = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask from the blocks of keys that each block of queries needs.

        Parameters
        ----------
        kv_num_blocks
            Shape (B, H, rows).
        kv_indices
            Shape (B, H, rows, columns).
        full_kv_num_blocks
            Shape (B, H, rows).
        full_kv_indices
            Shape (B, H, rows, columns).
        BLOCK_SIZE
            Size of a block, one number for queries and keys or one for each.
        mask_mod
            Says which pairs within a partial block take part.
        seq_lengths
            Number of queries and of keys; by default what the blocks cover.
        compute_q_blocks
            Whether to gather the blocks as seen from the keys too.
        """
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        block_size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            rows, columns = kv_indices.shape[-2:]
            seq_lengths = rows * block_size[0], columns * block_size[1]
        q_blocks: tuple[Any, Any, Any, Any] = (None, None, None, None)
        if compute_q_blocks:
            full: tuple[Any, Any] = (None, None)
            if full_kv_num_blocks is not None:
                full = _transpose_ordered(full_kv_num_blocks, full_kv_indices)
            q_blocks = (*_transpose_ordered(kv_num_blocks, kv_indices), *full)
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *q_blocks,
            block_size,
            noop_mask if mask_mod is None else mask_mod,
        )

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The constructor's arguments; unless `flatten`, the lengths and the block size as pairs."""
        tensors = self._tensors()
        if flatten:
            return (*self.seq_lengths, *tensors, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *tensors, self.BLOCK_SIZE, self.mask_mod)

    def _tensors(self) -> tuple[Tensor | None, ...]:
        return (
            self.kv_num_blocks,
            self.kv_indices,
            self.full_kv_num_blocks,
            self.full_kv_indices,
            self.q_num_blocks,
            self.q_indices,
            self.full_q_num_blocks,
            self.full_q_indices,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, number of queries, number of keys)"""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """Number of pairs of positions."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of pairs in blocks that are not needed."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        computed = blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - computed / self.numel())

    def to_dense(self) -> Tensor:
        """Which blocks are needed, in part or as a whole: 0 or 1, shape (B, H, rows, columns)."""
        dense = _ordered_to_dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            dense = dense | _ordered_to_dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense

    def to(self, device: mt.device | str) -> BlockMask:
        """The mask on another device."""
        moved: list[Any] = [None if tensor is None else tensor.to(device) for tensor in self._tensors()]
        return BlockMask(self.seq_lengths, *moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, block_size={self.BLOCK_SIZE})"

    def _element_mask(self, batch: int, heads: int, queries: int, keys: int, device: Any) -> Tensor:
        """Which pairs take part: those of full blocks, and those of partial blocks that `mask_mod` keeps."""
        wanted = create_mask(self.mask_mod, batch, heads, queries, keys, device)
        wanted = wanted & self._spread(_ordered_to_dense(self.kv_num_blocks, self.kv_indices), queries, keys)
        if self.full_kv_num_blocks is None:
            return wanted
        full = _ordered_to_dense(self.full_kv_num_blocks, self.full_kv_indices)
        return wanted | self._spread(full, queries, keys)

    def _spread(self, blocks: Tensor, queries: int, keys: int) -> Tensor:
        """Blocks as single pairs."""
        spread = blocks.to(mt.bool).repeat_interleave(self.BLOCK_SIZE[0], -2).repeat_interleave(self.BLOCK_SIZE[1], -1)
        return spread[..., :queries, :keys]


def _ordered_to_dense(num_blocks: Tensor, indices: Tensor) -> Tensor:
    """0 or 1 for each column, of rows that list the columns they need."""
    columns = indices.shape[-1]
    needed = mt.arange(columns, device=indices.device) < num_blocks.unsqueeze(-1)
    dense = mt.zeros(indices.shape, dtype=mt.int32, device=indices.device)
    return dense.scatter_(-1, indices.to(mt.int64), needed.to(mt.int32))


def _dense_to_ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """(how many columns each row needs, all columns with the needed ones first)"""
    dense = dense.to(mt.int32)
    indices = mt.argsort(dense, dim=-1, descending=True, stable=True)
    return dense.sum(-1, dtype=mt.int32), indices.to(mt.int32)


def _transpose_ordered(num_blocks: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    return _dense_to_ordered(_ordered_to_dense(num_blocks, indices).transpose(-2, -1))


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The `BlockMask` of a `mask_mod`.

    Parameters
    ----------
    mask_mod
        Says which pairs take part.
    B
        Batch size; `None` for 1.
    H
        Number of heads; `None` for 1.
    Q_LEN
        Number of queries.
    KV_LEN
        Number of keys.
    device
        Where the mask is.
    BLOCK_SIZE
        Size of a block, one number for queries and keys or one for each.
    _compile
        Has no effect.
    separate_full_blocks
        Whether to list blocks that take part as a whole apart.
    """
    q_size, kv_size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = -(-Q_LEN // q_size), -(-KV_LEN // kv_size)
    padded = mt.zeros((*mask.shape[:2], rows * q_size, columns * kv_size), dtype=mt.bool, device=mask.device)
    padded[..., :Q_LEN, :KV_LEN] = mask
    counts = padded.view(*mask.shape[:2], rows, q_size, columns, kv_size).sum((-3, -1))
    full = counts == q_size * kv_size
    partial = (counts > 0) & ~full if separate_full_blocks else counts > 0
    return BlockMask.from_kv_blocks(
        *_dense_to_ordered(partial),
        *(_dense_to_ordered(full) if separate_full_blocks else (None, None)),
        BLOCK_SIZE=(q_size, kv_size),
        mask_mod=mask_mod,
        seq_lengths=(Q_LEN, KV_LEN),
    )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention with changed scores and a mask. All scores are computed, whatever the mask leaves out.

    Parameters
    ----------
    query
        Shape (B, Hq, L, E).
    key
        Shape (B, Hkv, S, E).
    value
        Shape (B, Hkv, S, Ev).
    score_mod
        Gives the score to use in place of the scaled product.
    block_mask
        Which pairs take part.
    scale
        Factor of products, 1 / sqrt(E) by default.
    enable_gqa
        Whether several query heads may share a key and value head.
    return_lse
        Whether to return the logarithm of the sum of exponentials of scores too.
    kernel_options
        Has no effect.
    return_aux
        What to return besides the output.

    Returns
    -------
    Tensor
        Shape (B, Hq, L, Ev), followed by what else was asked for.
    """
    if query.size(-3) != key.size(-3):
        if not enable_gqa:
            raise ValueError(
                f"Expect query and key/value to have the same number of heads but got Hq={query.size(-3)} and "
                f"Hkv={key.size(-3)}. Try setting enable_gqa=True for GQA."
            )
        repeats = query.size(-3) // key.size(-3)
        key, value = key.repeat_interleave(repeats, -3), value.repeat_interleave(repeats, -3)
    batch, heads, queries, _ = query.shape
    scale = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    dtype = mt.promote_types(query.dtype, mt.float32)  # half types are too coarse for scores
    scores = query.to(dtype) @ key.to(dtype).transpose(-2, -1) * scale
    if score_mod is not None:
        scores = score_mod(scores, *_indices(scores.size(0), scores.size(1), queries, key.size(-2), scores.device))
    if block_mask is not None:
        mask = block_mask._element_mask(batch, heads, queries, key.size(-2), query.device)
        scores = scores.masked_fill(~mask, -float("inf"))
    lse = mt.logsumexp(scores, -1)
    # A query for which no key takes part gets zeros.
    weights = mt.exp(scores - lse.masked_fill(lse == -float("inf"), 0.0).unsqueeze(-1))
    output = (weights @ value.to(weights.dtype)).to(query.dtype)
    if return_lse:
        return output, lse
    if return_aux is not None:
        return output, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return output
