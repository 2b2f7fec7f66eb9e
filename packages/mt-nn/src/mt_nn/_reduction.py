"""How a loss is reduced to a scalar: the argument's present and former spellings."""

from __future__ import annotations

import warnings

_CODES = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number by which operators know a reduction."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=3)
        return _CODES["mean"]
    code = _CODES.get(reduction)
    if code is None:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return code


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the former arguments `size_average` and `reduce` ask for."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    if not reduce:
        reduction = "none"
    else:
        reduction = "mean" if size_average else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    return reduction


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that the former arguments ask for."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def resolve(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction asked for, by its present name or by the former arguments."""
    if size_average is not None or reduce is not None:
        return legacy_get_string(size_average, reduce)
    return reduction
