"""Looking up rows of a table by index."""

import warnings

import mt_core as mt
from mt_core import Tensor

__all__ = ["embedding", "embedding_bag"]


def _no_grad_embedding_renorm_(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    with mt.no_grad():
        mt.embedding_renorm_(weight, input, max_norm, norm_type)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of a table.

    Parameters
    ----------
    input
        Indices, integers of any shape.
    weight
        The table, shape (V, D).
    padding_idx
        A row that gets no gradient; negative counts from the end.
    max_norm
        The norm to which longer rows are shortened, in the table itself, before they are looked up.
    norm_type
        Order of that norm.
    scale_grad_by_freq
        Whether to divide a row's gradient by how often it was looked up.
    sparse
        Whether the table's gradient is a sparse tensor.

    Returns
    -------
    Tensor
        Shape (*input, D).
    """
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx > 0:
        if padding_idx >= weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        if padding_idx < -weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx += weight.size(0)
    if max_norm is not None:
        input = input.contiguous()
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    return mt.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows, without making the rows.

    Parameters
    ----------
    input
        Indices. Shape (B, N) for B bags of N, or (T,) with `offsets`.
    weight
        The table, shape (V, D).
    offsets
        Where each bag starts in a 1-d input.
    max_norm
        As in `embedding`.
    norm_type
        As in `embedding`.
    scale_grad_by_freq
        As in `embedding`; not for ``mode="max"``.
    mode
        ``"sum"``, ``"mean"`` or ``"max"``.
    sparse
        As in `embedding`; not for ``mode="max"``.
    per_sample_weights
        A factor for each looked-up row, of the input's shape; for ``mode="sum"`` only.
    include_last_offset
        Whether `offsets` ends with the length of the input.
    padding_idx
        A row that counts for no bag and gets no gradient.

    Returns
    -------
    Tensor
        Shape (B, D).
    """
    if weight.dtype == mt.long and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=3,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if not weight.dim() == 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    input, offsets, per_sample_weights = _flat_bags(input, offsets, per_sample_weights)
    mode_code = _bag_mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    bags, *_ = mt.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        mode_code,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    return bags


def _flat_bags(
    input: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The bags in the operator's form: 1-d indices, and where each bag starts."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        offsets = mt.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape(-1)
        return input, offsets, None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, per_sample_weights


def _bag_mode(mode: str, scale_grad_by_freq: bool, sparse: bool) -> int:
    if mode not in _BAG_MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    return _BAG_MODES[mode]
