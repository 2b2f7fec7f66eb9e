"""Several tensors as one operand: arithmetic that is written for a tensor, done to each item of a list.

Every method is one operator over lists (``_foreach_mul_``), whose kernels take many small tensors at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .api import _functions as ops
from .dispatch.registry import find_overload
from .overriding import Overridden

__all__ = ["TensorList"]


def _each(name: str, *args: Any, **options: Any) -> Any:
    """An operator over lists, by its overload: the binder looks at every item of every list, for each overload.

    Subclasses and modes that override functions are asked by the public one.
    """
    overload = find_overload(name)
    try:
        return overload.call(*args, *options.values())
    except Overridden:
        return getattr(ops, overload.schema.name)(*args, **options)


class TensorList:
    """Tensors on which methods of `Tensor` work item by item.

    An operand is another list of as many items, or a number. In-place methods return the list itself.
    """

    __slots__ = ("tensors",)

    is_sparse = False

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.tensors = tensors

    def item(self) -> Any:
        """The number in the first of tensors of one element: for lists of one number many times."""
        return self.tensors[0].item()

    def _made(self, name: str, *args: Any, **options: Any) -> TensorList:
        return TensorList(_each(f"_foreach_{name}", self.tensors, *args, **options))

    def _written(self, name: str, *args: Any, **options: Any) -> TensorList:
        _each(f"_foreach_{name}", self.tensors, *args, **options)
        return self

    def _with(self, name: str, other: Any, written: bool, **options: Any) -> TensorList:
        run = self._written if written else self._made
        if isinstance(other, TensorList):
            return run(f"{name}.List", other.tensors, **options)
        if "alpha" in options:
            other = other * options["alpha"]
        return run(f"{name}.Scalar", other)

    def add(self, other: Any, *, alpha: Any = 1) -> TensorList:
        return self._with("add", other, False, alpha=alpha)

    def add_(self, other: Any, *, alpha: Any = 1) -> TensorList:
        return self._with("add_", other, True, alpha=alpha)

    def sub(self, other: Any, *, alpha: Any = 1) -> TensorList:
        return self._with("sub", other, False, alpha=alpha)

    def mul(self, other: Any) -> TensorList:
        return self._with("mul", other, False)

    def mul_(self, other: Any) -> TensorList:
        return self._with("mul_", other, True)

    def div(self, other: Any) -> TensorList:
        return self._with("div", other, False)

    def div_(self, other: Any) -> TensorList:
        return self._with("div_", other, True)

    def maximum(self, other: TensorList) -> TensorList:
        return self._made("maximum.List", other.tensors)

    def addcmul(self, tensor1: TensorList, tensor2: TensorList, *, value: Any = 1) -> TensorList:
        return self._made("addcmul.Scalar", tensor1.tensors, tensor2.tensors, value)

    def addcmul_(self, tensor1: TensorList, tensor2: TensorList, *, value: Any = 1) -> TensorList:
        return self._written("addcmul_.Scalar", tensor1.tensors, tensor2.tensors, value)

    def addcdiv_(self, tensor1: TensorList, tensor2: TensorList, *, value: Any = 1) -> TensorList:
        return self._written("addcdiv_.Scalar", tensor1.tensors, tensor2.tensors, value)

    def lerp_(self, end: TensorList, weight: Any) -> TensorList:
        return self._written("lerp_.Scalar", end.tensors, weight)

    def copy_(self, src: TensorList) -> TensorList:
        return self._written("copy_", src.tensors, False)

    def fill_(self, value: Any) -> TensorList:
        self.zero_()
        return self.add_(value)

    def zero_(self) -> TensorList:
        return self._written("zero_")

    def detach(self) -> TensorList:
        return TensorList([tensor.detach() for tensor in self.tensors])

    def clone(self) -> TensorList:
        return self._made("clone", None)

    def abs(self) -> TensorList:
        return self._made("abs")

    def sqrt(self) -> TensorList:
        return self._made("sqrt")

    def sqrt_(self) -> TensorList:
        return self._written("sqrt_")

    def reciprocal(self) -> TensorList:
        return self._made("reciprocal")

    def square(self) -> TensorList:
        return self.mul(self)

    def __neg__(self) -> TensorList:
        return self._made("neg")

    __add__, __mul__, __truediv__ = add, mul, div

    def __rtruediv__(self, number: Any) -> TensorList:
        return self.reciprocal().mul_(number)
