"""Shape rules of comparisons that are no elementwise operators."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import dtype, promote_types, scalar_type_name
from ..spec import Spec

_COMPARABLE = frozenset({
    dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
})  # fmt: skip
_REFUSED = frozenset({dtypes.bool, dtypes.complex64, dtypes.complex128})


@shape_rule("isin.Tensor_Tensor")
def isin(elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Spec:
    """elements (*), test_elements (any shape) -> (*) of bool."""
    for d in (elements.dtype, test_elements.dtype):
        check_findable(d)
    common = promote_types(elements.dtype, test_elements.dtype)
    if common not in _COMPARABLE and elements._array.size and test_elements._array.size:
        raise NotImplementedError(f"\"isin_default_cpu\" not implemented for '{scalar_type_name(common)}'")
    return Spec(elements.shape, dtypes.bool)


def check_findable(d: dtype) -> None:
    """Refuse the dtypes that `isin` takes on neither side."""
    if d in _REFUSED:
        raise RuntimeError(f"Unsupported input type encountered for isin(): {scalar_type_name(d)}")
