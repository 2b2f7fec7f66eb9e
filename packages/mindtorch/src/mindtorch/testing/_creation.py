"""``torch.testing.make_tensor``: a tensor of random elements that suit a dtype."""

import warnings
from typing import Any

import mt_core
from mt_core import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: mt_core.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor with elements drawn evenly from [`low`, `high`).

    Without bounds these are [-9, 9] for floating-point and complex dtypes, [-9, 10) for signed and [0, 10) for unsigned
    whole numbers, and both truth values.

    Parameters
    ----------
    shape
        Sizes, or one sequence of them.
    noncontiguous
        Whether elements are to lie apart in memory.
    exclude_zero
        Whether zeros are to be replaced by the smallest number above.

    Raises
    ------
    ValueError
        When the bounds are not in order, or `noncontiguous` is asked for together with a memory format.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, got {memory_format}"
        )
    low, high = _bounds(dtype, low, high)
    spread = noncontiguous and mt_core.Size(sizes).numel() > 1
    drawn = (*sizes[:-1], 2 * sizes[-1]) if spread else sizes
    result = _draw(drawn, dtype, device, low, high)
    if spread:
        result = result[..., ::2]
    if exclude_zero:
        result[result == 0] = _smallest(dtype)
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    return result.requires_grad_(requires_grad)


def _bounds(dtype: mt_core.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    if dtype is mt_core.bool:
        default = (0, 2)
    elif dtype.is_floating_point or dtype.is_complex:
        default = (-9, 9)
    else:
        default = (-9, 10) if dtype.is_signed else (0, 10)
    found = default[0] if low is None else low, default[1] if high is None else high
    if found[0] == found[1] and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
        return found
    if not found[0] < found[1]:
        raise ValueError(f"`low` must be less than `high`, but got {found[0]} >= {found[1]}")
    return found


def _draw(shape: tuple[int, ...], dtype: mt_core.dtype, device: Any, low: float, high: float) -> Tensor:
    if dtype.is_complex:
        result = mt_core.empty(shape, dtype=dtype, device=device)
        _fill_evenly(mt_core.view_as_real(result), low, high)
        return result
    if dtype.is_floating_point:
        return _fill_evenly(mt_core.empty(shape, dtype=mt_core.float32, device=device), low, high).to(dtype)
    return mt_core.randint(int(low), int(high), shape, device=device).to(dtype)


def _fill_evenly(target: Tensor, low: float, high: float) -> Tensor:
    """Numbers from [low, high), drawn from half of it where its length is no number of the dtype."""
    if high - low < mt_core.finfo(target.dtype).max:
        return target.uniform_(low, high)
    return target.uniform_(low / 2, high / 2).mul_(2)


def _smallest(dtype: mt_core.dtype) -> float:
    if dtype.is_floating_point or dtype.is_complex:
        return mt_core.finfo(dtype).tiny
    return 1
