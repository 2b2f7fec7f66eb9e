"""Communication hooks: how `DistributedDataParallel` may reduce a bucket."""

from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core.futures import Future

from ... import distributed_c10d as dist
from ...grad_bucket import GradBucket

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

# Annotations here are objects, not text: what registers a hook compares them.


def _reduced(group: Any, tensor: mt.Tensor) -> Future[mt.Tensor]:
    """The average of a tensor over the processes; it is divided before, lest halves overflow."""
    tensor.div_(dist.get_world_size(group))
    work = dist.all_reduce(tensor, group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[mt.Tensor]:
    """Average the gradients, as is done without a hook.

    Parameters
    ----------
    process_group
        The processes; all of them for None.
    bucket
        The gradients.
    """
    return _reduced(process_group, bucket.buffer())


def _compressed(process_group: Any, bucket: GradBucket, dtype: mt.dtype) -> Future[mt.Tensor]:
    buffer = bucket.buffer()
    reduced = _reduced(process_group, buffer.to(dtype))

    def decompress(future: Future[mt.Tensor]) -> mt.Tensor:
        buffer.copy_(future.value())
        return buffer

    return reduced.then(decompress)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[mt.Tensor]:
    """Average the gradients as float16.

    Parameters
    ----------
    process_group
        The processes; all of them for None.
    bucket
        The gradients.
    """
    return _compressed(process_group, bucket, mt.float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[mt.Tensor]:
    """Average the gradients as bfloat16.

    Parameters
    ----------
    process_group
        The processes; all of them for None.
    bucket
        The gradients.
    """
    return _compressed(process_group, bucket, mt.bfloat16)


def _wrapped(hook: Callable[[Any, GradBucket], Future[mt.Tensor]], dtype: mt.dtype) -> Any:
    def run(state: Any, bucket: GradBucket) -> Future[mt.Tensor]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))

        def decompress(future: Future[mt.Tensor]) -> mt.Tensor:
            buffer.copy_(future.value())
            return buffer

        return hook(state, bucket).then(decompress)

    return run


def fp16_compress_wrapper(hook: Callable[[Any, GradBucket], Future[mt.Tensor]]) -> Any:
    """A hook that hands another the gradients as float16, and takes its result back to their dtype."""
    wrapped = _wrapped(hook, mt.float16)

    def fp16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[mt.Tensor]:
        return wrapped(hook_state, bucket)

    return fp16_compress_wrapper_hook


def bf16_compress_wrapper(hook: Callable[[Any, GradBucket], Future[mt.Tensor]]) -> Any:
    """A hook that hands another the gradients as bfloat16, and takes its result back to their dtype."""
    wrapped = _wrapped(hook, mt.bfloat16)

    def bf16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[mt.Tensor]:
        return wrapped(hook_state, bucket)

    return bf16_compress_wrapper_hook
