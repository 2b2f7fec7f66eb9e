"""Losses of sequences written in other operators."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..construct import tensor
from ..dispatch.registry import register_composite as composite
from ..dtypes import scalar_type_name
from ..hollow import is_hollow

_NONE, _MEAN, _SUM = range(3)

#: Stands for log(0): finite, so that differences of two of them and their derivatives are numbers.
_NEVER = -1e30


@composite("ctc_loss.IntList")
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Any:
    """log_probs (T, N, C) or (T, C), targets (N, S) or (sum of lengths,), lengths (N,) -> (), or (N,) unreduced."""
    single = log_probs.dim() == 2 and len(input_lengths) == 1
    if single:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.dim() == 1 else targets
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    padded = _padded_targets(targets, target_lengths)
    losses = _negative_log_likelihoods(log_probs, padded, input_lengths, target_lengths, blank)
    if zero_infinity:
        losses = ops.where(losses == math.inf, ops.zeros_like(losses), losses)
    if reduction == _MEAN:
        lengths = tensor(target_lengths, dtype=losses.dtype, device=losses.device).clamp_min(1)
        return (losses / lengths).mean()
    if reduction == _SUM:
        return losses.sum()
    return losses.squeeze(0) if single else losses


@composite("ctc_loss.Tensor")
def ctc_loss_of_tensors(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Any:
    """log_probs (T, N, C) or (T, C), targets (N, S) or (sum of lengths,), lengths (N,) -> (), or (N,) unreduced."""
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype is dtypes.bool:
            raise RuntimeError(f"{name} must be integral")
    inputs, outputs = input_lengths.reshape(-1).tolist(), target_lengths.reshape(-1).tolist()
    return ctc_loss(log_probs, targets, inputs, outputs, blank, reduction, zero_infinity)


def _check(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> None:
    where = " (while checking arguments for ctc_loss_allocate_outputs)"
    if log_probs.dim() != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.dim()}-dimensional tensor for argument #1 'log_probs'"
            f"{where}"
        )
    if log_probs.numel() == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.dtype is not dtypes.float32 and log_probs.dtype is not dtypes.float64:
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{scalar_type_name(log_probs.dtype)}'")
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    for name, lengths in (("target_lengths", target_lengths), ("input_lengths", input_lengths)):
        for length in lengths:
            if length < 0:
                raise RuntimeError(f"Expected {name} to have value at least 0, but got value {length}" + where)
    _check_targets(targets, target_lengths, batch, where)
    for length in input_lengths:
        if length > steps:
            raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {length}" + where)


def _check_targets(targets: Any, target_lengths: Any, batch: int, where: str) -> None:
    size = targets.shape[0]
    if targets.dim() == 1:
        if size != sum(target_lengths):
            raise RuntimeError(
                f"Expected tensor to have size {sum(target_lengths)} at dimension 0, but got size {size} for argument "
                f"#2 'targets'" + where
            )
        return
    if size != batch:
        raise RuntimeError(
            f"Expected tensor to have size {batch} at dimension 0, but got size {size} for argument #2 'targets'"
            + where
        )
    longest = max(target_lengths, default=0)
    if targets.shape[1] < longest:
        raise RuntimeError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} for "
            "argument #2 'targets'" + where
        )


def _padded_targets(targets: Any, target_lengths: Any) -> list[list[int]]:
    """The class indices of each sample; on the meta device, where none are read, any.

    Fake tensors refuse: a graph that is recorded of them would hold these.
    """
    if targets.is_meta and not is_hollow(targets):
        return [[0] * length for length in target_lengths]
    if targets.dim() == 2:
        return [row[:length] for row, length in zip(targets.long().tolist(), target_lengths)]
    remaining = iter(targets.long().tolist())
    return [[next(remaining) for _ in range(length)] for length in target_lengths]


def _negative_log_likelihoods(
    log_probs: Any, targets: list[list[int]], input_lengths: Any, target_lengths: Any, blank: int
) -> Any:
    """One for each sample, by the recursion over prefixes of the targets with blanks between them."""
    steps, batch, _ = log_probs.shape
    device = log_probs.device
    width = 2 * max(target_lengths, default=0) + 1
    symbols, skips = [], []
    for labels in targets:
        extended = [blank]
        for label in labels:
            extended += [label, blank]
        extended += [blank] * (width - len(extended))
        symbols.append(extended)
        # A label may follow the one before without a blank between them unless they are equal.
        skips.append([s >= 2 and extended[s] != blank and extended[s] != extended[s - 2] for s in range(width)])
    chosen = tensor(symbols, dtype=dtypes.int64, device=device)
    may_skip = tensor(skips, dtype=dtypes.bool, device=device)
    emitted = log_probs.gather(2, chosen.unsqueeze(0).expand(steps, batch, width))
    # A class of probability 0 is as impossible as what no path reaches.
    emitted = emitted.clamp_min(_NEVER)
    never = log_probs.new_full((batch, width), _NEVER)
    started = ops.arange(width, device=device) < tensor([[min(2 * n + 1, 2)] for n in target_lengths], device=device)
    alphas = [ops.where(started, emitted[0], never)]
    for step in range(1, steps):
        previous = alphas[-1]
        one_back = ops.cat([never[:, :1], previous[:, :-1]], 1)
        two_back = ops.cat([never[:, :2], previous[:, :-2]], 1)[:, :width]
        reached = ops.stack([previous, one_back, ops.where(may_skip, two_back, never)]).logsumexp(0)
        alphas.append((reached + emitted[step]).clamp_min(_NEVER))
    return _ends(ops.stack(alphas), log_probs, input_lengths, target_lengths)


def _ends(alphas: Any, log_probs: Any, input_lengths: Any, target_lengths: Any) -> Any:
    """The losses: what the paths that end with the last label, or the blank after it, have in total."""
    losses = []
    for sample, (steps, labels) in enumerate(zip(input_lengths, target_lengths)):
        if steps == 0:
            losses.append(log_probs.new_full((), 0.0 if labels == 0 else math.inf))
            continue
        last = alphas[steps - 1, sample, max(2 * labels - 1, 0) : 2 * labels + 1]
        total = last.logsumexp(0)
        # PyTorch's gradient takes log_probs to be a log-softmax: it has the derivative of sum(exp) added, whose value
        # is constant then.
        mass = log_probs[:steps, sample].exp().sum()
        loss = ops.where(total < _NEVER / 2, log_probs.new_full((), math.inf), -total)
        losses.append(loss + (mass - mass.detach()))
    return ops.stack(losses)
