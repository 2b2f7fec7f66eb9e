"""PowerSGD: gradients that are matrices travel as two thin factors, and what these lack is added to the next ones.

The algorithm is that of Vogels, Karimireddy and Jaggi (2019): of a matrix M each process computes P = M Q, the sums
of P are made orthogonal, and the averages of Q = Mᵀ P give M as P Qᵀ.
"""

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np

import mt_core as mt
from mt_core.futures import Future

from ... import distributed_c10d as dist
from ...grad_bucket import GradBucket
from ...world import _get_default_group
from . import default_hooks as default

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

# Annotations here are objects, not text: what registers a hook compares them.


class PowerSGDState:
    """What PowerSGD knows: how much to compress, and what is kept from step to step.

    Parameters
    ----------
    process_group
        The processes; all of them for None.
    matrix_approximation_rank
        How many columns the factors have.
    start_powerSGD_iter
        The number of steps that are not compressed before; more than 1 with what is kept.
    min_compression_rate
        How much smaller the factors have to be than a matrix that is compressed.
    use_error_feedback
        Whether what a step lacked is added to the next.
    warm_start
        Whether the factors of a step are the first guess of the next.
    orthogonalization_epsilon
        Added to the norms of columns that are divided by them.
    random_seed
        Of the first factors.
    compression_stats_logging_frequency
        Not logged: see `compression_stats`.
    batch_tensors_with_same_shape
        Whether matrices of one shape are multiplied as one.

    Raises
    ------
    ValueError
        For a start at step 1 or before, where something is kept.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD "
                "can only be applied after the first two iterations in DDP."
            )
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.error_dict: dict[int, mt.Tensor] = {}
        self.p_memory_dict: dict[int, Any] = {}
        self.q_memory_dict: dict[int, Any] = {}
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        """All but the process group, which is of this process."""
        return {name: value for name, value in vars(self).items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, process_group=_get_default_group())

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step, at its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self) -> tuple[float, int, int]:
        """How many times less travels than without, and the numbers of elements before and after."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after > 0 else 0), before, after


def _orthogonal(matrix: mt.Tensor, epsilon: float) -> None:
    """Make the columns of one or several matrices orthogonal and of length one, in place."""
    if epsilon == 0:
        matrix.copy_(mt.linalg_qr(matrix).Q)
        return
    for at in range(matrix.shape[-1]):
        column = matrix[..., at : at + 1]
        column.div_(column.norm(dim=-2, keepdim=True) + epsilon)
        rest = matrix[..., at + 1 :]
        rest.sub_((column * rest).sum(-2, keepdim=True) * column)


def _randomize(state: PowerSGDState, factors: Sequence[mt.Tensor]) -> None:
    """Fill the first factors: the same on all processes, whatever their generators have given."""
    generator = mt.Generator()
    generator.manual_seed(int(state.rng.randint(1_000_000_000)))
    for factor in factors:
        factor.copy_(mt.randn(factor.shape, generator=generator, dtype=factor.dtype))
        _orthogonal(factor, state.orthogonalization_epsilon)


def _with_error(state: PowerSGDState, bucket: GradBucket, buffer: mt.Tensor) -> mt.Tensor | None:
    """Add what the step before lacked; the sum, as it is before anything travels."""
    if not state.use_error_feedback:
        return None
    kept = state.error_dict.get(bucket.index())
    if kept is None:
        state.error_dict[bucket.index()] = mt.zeros_like(buffer)
    else:
        buffer.add_(kept)
    return buffer.clone()


def _sum(group: Any, flat: mt.Tensor) -> None:
    """Sum over the processes, at once: what the hooks of several buckets began in turns might come in another order."""
    dist.all_reduce(flat, group=group)


def _done(value: mt.Tensor) -> Future[mt.Tensor]:
    future: Future[mt.Tensor] = Future()
    future.set_result(value)
    return future


def _factored(
    state: PowerSGDState,
    matrices: Sequence[mt.Tensor],
    factors: Sequence[tuple[mt.Tensor, mt.Tensor]],
    memory: tuple[mt.Tensor, mt.Tensor],
    is_random: bool,
) -> None:
    """Replace matrices by what the factors of all processes give."""
    if is_random:
        _randomize(state, [q for _, q in factors])
    else:
        for _, q in factors:
            _orthogonal(q, state.orthogonalization_epsilon)
    for matrix, (p, q) in zip(matrices, factors, strict=True):
        p.copy_(matrix @ q)
    _sum(state.process_group, memory[0])
    for matrix, (p, q) in zip(matrices, factors, strict=True):
        _orthogonal(p, state.orthogonalization_epsilon)
        q.copy_(matrix.transpose(-1, -2) @ p)
    _sum(state.process_group, memory[1])
    memory[1].div_(dist.get_world_size(state.process_group))
    for matrix, (p, q) in zip(matrices, factors, strict=True):
        matrix.copy_(p @ q.transpose(-1, -2))


def _memory(
    state: PowerSGDState, bucket: GradBucket, shapes: Sequence[tuple[int, ...]], dtype: Any
) -> tuple[Any, list[tuple[mt.Tensor, mt.Tensor]], bool]:
    """The factors of a bucket's matrices, in memory of one piece for each of P and Q, and whether they are new."""
    sides: list[list[tuple[int, ...]]] = [[], []]
    for *batch, rows, columns in shapes:
        rank = min(rows, columns, state.matrix_approximation_rank)
        sides[0].append((*batch, rows, rank))
        sides[1].append((*batch, columns, rank))
    counts = [[int(np.prod(shape)) for shape in side] for side in sides]
    at, is_new = bucket.index(), False
    if not state.warm_start or at not in state.p_memory_dict:
        is_new = True
        state.p_memory_dict[at] = mt.zeros(sum(counts[0]), dtype=dtype)
        state.q_memory_dict[at] = mt.zeros(sum(counts[1]), dtype=dtype)
    memory = state.p_memory_dict[at], state.q_memory_dict[at]
    views = [
        [part.view(shape) for part, shape in zip(flat.split(count), side, strict=True)]
        for flat, count, side in zip(memory, counts, sides, strict=True)
    ]
    return memory, list(zip(*views, strict=True)), is_new


def _worth(state: PowerSGDState, rows: int, columns: int) -> bool:
    state.total_numel_before_compression += rows * columns
    factors = (rows + columns) * state.matrix_approximation_rank
    is_worth = factors * state.min_compression_rate < rows * columns
    state.total_numel_after_compression += factors if is_worth else rows * columns
    return is_worth


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[mt.Tensor]:
    """Average gradients: matrices as thin factors, all others as they are.

    Parameters
    ----------
    state
        What is kept from step to step.
    bucket
        The gradients.
    """
    buffer = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default._reduced(state.process_group, buffer)
    given = _with_error(state, bucket, buffer)
    plain, matrices = [], []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() > 1 else None
        if matrix is not None and _worth(state, *matrix.shape):
            matrices.append(matrix)
        else:
            if matrix is None:
                state.total_numel_before_compression += gradient.numel()
                state.total_numel_after_compression += gradient.numel()
            plain.append(gradient)
    size = dist.get_world_size(state.process_group)
    flat = mt.cat([one.reshape(-1) for one in plain]) if plain else mt.zeros(0, dtype=buffer.dtype)
    stacked = _stacked(state, matrices)
    memory, factors, is_new = _memory(state, bucket, [tuple(one.shape) for one in stacked], buffer.dtype)
    _sum(state.process_group, flat)
    flat.div_(size)
    start = 0
    for one in plain:
        one.copy_(flat[start : start + one.numel()].view(one.shape))
        start += one.numel()
    _factored(state, stacked, factors, memory, is_new)
    _unstack(state, stacked, matrices)
    if given is not None:
        state.error_dict[bucket.index()] = given - buffer
    state.maybe_increase_iter(bucket)
    return _done(buffer)


def _stacked(state: PowerSGDState, matrices: Sequence[mt.Tensor]) -> list[mt.Tensor]:
    """Matrices one by one, or those of one shape together; by shapes in either case: first factors are drawn so."""
    shapes = dict.fromkeys(tuple(one.shape) for one in matrices)
    if not state.batch_tensors_with_same_shape:
        return [one for shape in shapes for one in matrices if tuple(one.shape) == shape]
    return [mt.stack([one for one in matrices if tuple(one.shape) == shape]) for shape in shapes]


def _unstack(state: PowerSGDState, stacked: Sequence[mt.Tensor], matrices: Sequence[mt.Tensor]) -> None:
    if not state.batch_tensors_with_same_shape:
        return
    for many in stacked:
        members = [one for one in matrices if one.shape == many.shape[1:]]
        for one, made in zip(members, many, strict=True):
            one.copy_(made)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[mt.Tensor]:
    """Average gradients: all of a bucket as one square matrix of thin factors. Faster than the other, and less exact.

    Parameters
    ----------
    state
        What is kept from step to step.
    bucket
        The gradients.
    """
    buffer = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default._reduced(state.process_group, buffer)
    length = buffer.numel()
    side = isqrt(length - 1) + 1 if length else 0
    padded = mt.zeros(side * side, dtype=buffer.dtype)
    padded[:length].copy_(buffer)
    given = _with_error(state, bucket, padded)
    state.total_numel_before_compression += length
    state.total_numel_after_compression += 2 * side * state.matrix_approximation_rank
    matrix = padded.view(side, side)
    memory, factors, is_new = _memory(state, bucket, [(side, side)], buffer.dtype)
    _factored(state, [matrix], factors, memory, is_new)
    if given is not None:
        state.error_dict[bucket.index()] = given - padded
    buffer.copy_(padded[:length])
    state.maybe_increase_iter(bucket)
    return _done(buffer)
