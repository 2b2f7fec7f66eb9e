"""``torch.utils._foreach_utils``: tensors grouped by device and dtype, for operators on lists of them."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor, device, dtype

__all__: list[str] = []


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Types of devices on which optimizers work on lists of tensors unless told otherwise."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Types of devices on which ``fused=True`` of an optimizer can be asked for."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _device_has_foreach_support(device: device) -> bool:
    """Whether there are operators on lists of tensors of a device."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Tensor | None], device: device) -> bool:
    """Whether there are operators on lists of tensors of a device for these: none of them is a subclass."""
    plain = all(tensor is None or type(tensor) in _plain_classes() for tensor in tensors)
    return _device_has_foreach_support(device) and plain


def _plain_classes() -> tuple[type, ...]:
    from mt_nn import Parameter  # lazy: torch.utils does not load torch.nn

    return Tensor, Parameter


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Tensor | None]], with_indices: bool = False
) -> dict[tuple[device, dtype], tuple[list[list[Any]], list[int]]]:
    """Lists of tensors that belong together by position, divided by device and dtype of the first list's.

    Returns
    -------
    dict
        (device, dtype) -> the lists with what belongs there, and, `with_indices`, the positions that had it.
    """
    groups: dict[tuple[device, dtype], tuple[list[list[Any]], list[int]]] = {}
    for position, row in enumerate(zip(*tensorlistlist, strict=True)):
        first = row[0]
        assert first is not None
        lists, positions = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for column, tensor in zip(lists, row, strict=True):
            column.append(tensor)
        if with_indices:
            positions.append(position)
    return groups
