"""Calls of every public operator, made of the samples of `mt_core.testing`, as text that any torch-like module runs.

A call is data that JSON holds: ``operator`` (overload), ``form`` ("function", "method", "out"), ``name`` (where Python
finds it), ``positional`` and ``named`` arguments, ``outs`` (names of what an ``out=`` form writes), ``elements``
(whether the results' elements are determined). An argument is ``{"text": ...}``, ``{"items": [...]}``, or a tensor:
``{"tensor": text, "shape": [...], "dtype": ...}``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from mt_core.dispatch.registry import Overload, find_overload
from mt_core.dtypes import dtype
from mt_core.random import Generator
from mt_core.tensor import Tensor
from mt_core.testing.arguments import samples_on, tensors_in
from mt_core.testing.sample import Sample, comparable_form, declared_operators, has_values

__all__ = ["Call", "Catalogue", "calls_of", "catalogue"]

Call = dict[str, Any]
#: Operator -> its calls.
Catalogue = dict[str, list[Call]]

#: A tensor of more elements than this is written as a formula, if it is real and floating.
_LITERAL = 300
_LARGEST = 1200
#: A namespace in declarations of functions that Python does not see.
_INTERNAL = "internal"


def catalogue() -> Catalogue:
    """Operator -> its calls, for all that Python sees; those of an ``out=`` form are the functional one's."""
    found: Catalogue = {}
    for overload in declared_operators():
        if _is_public(overload):
            declaration = overload.declaration
            calls = found[overload.name] = list(calls_of(overload))
            if declaration.out is not None and "function" in declaration.variants:
                found[declaration.out] = [{**call, "form": "out", "out": declaration.out} for call in calls]
    return {name: calls for name, calls in found.items() if calls}


def _is_public(overload: Overload) -> bool:
    declaration = overload.declaration
    if declaration.namespace == _INTERNAL or declaration.python_name.startswith("_"):
        return False
    return bool(declaration.variants) and declaration.form != "out"


def calls_of(overload: Overload) -> Iterator[Call]:
    """Each sample of an operator as a function's call, or as a method's where it is no function."""
    declaration = overload.declaration
    function = "function" in declaration.variants
    for sample in samples_on(overload, "cpu"):
        if _largest(sample) <= _LARGEST and (function or isinstance(sample.args[0], Tensor)):
            yield {
                "operator": overload.name,
                "form": "function" if function else "method",
                "method": "method" in declaration.variants,
                "name": f"{declaration.namespace}.{declaration.python_name}" if function else declaration.python_name,
                "positional": [_argument(value) for value in sample.args],
                "named": {key: _argument(value) for key, value in sample.kwargs.items()},
                "outs": _outs(overload),
                "elements": has_values(overload.name) and comparable_form(overload.name) is None,
            }


def _outs(overload: Overload) -> int:
    """How many tensors the ``out=`` form writes."""
    form = overload.declaration.out
    return 0 if form is None else sum(argument.writes for argument in find_overload(form).schema.arguments)


def _largest(sample: Sample) -> int:
    return max((t.numel() for t in tensors_in([*sample.args, *sample.kwargs.values()])), default=0)


def _argument(value: Any) -> dict[str, Any]:
    if isinstance(value, Tensor):
        return {"tensor": _tensor(value), "shape": list(value.shape), "dtype": str(value.dtype)}
    if isinstance(value, (list, tuple)):
        return {"items": [_argument(item) for item in value]}
    return {"text": _literal(value)}


def _literal(value: Any) -> str:
    if isinstance(value, Generator):
        return "torch.default_generator"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return str(value) if isinstance(value, dtype) or type(value).__module__.startswith("mt_core") else repr(value)


def _tensor(value: Tensor) -> str:
    """An expression of its elements, to two decimals, in its dtype and layout."""
    order = sorted(range(value.dim()), key=lambda d: -value.stride(d))
    if value.is_contiguous():
        return _elements(value)
    back = [order.index(d) for d in range(value.dim())]
    return f"{_elements(value.permute(order))}.permute({back})"


def _elements(value: Tensor) -> str:
    shape, of = list(value.shape), value.dtype
    if value.numel() > _LITERAL and of.is_floating_point:
        return f"((torch.arange({value.numel()}) % 17) / 4 - 2).reshape({shape}).to({of})"
    if value.numel() == 0:
        return f"torch.zeros({shape}, dtype={of})"
    return f"torch.tensor({_rounded(value.tolist())}, dtype={of})"


def _rounded(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_rounded, value))}]"
    if isinstance(value, complex):
        return f"complex({_rounded(value.real)}, {_rounded(value.imag)})"
    return _literal(float(f"{value:.2f}")) if isinstance(value, float) else repr(value)
