"""``torch._subclasses.fake_utils``: operators on fake tensors beside the same operators on real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.pytree import tree_map_only
from mt_core.tensor_types import tensors_in

from ..utils._python_dispatch import TorchDispatchMode
from .fake_tensor import (
    DynamicOutputShapeException,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
)

__all__ = ["CrossRefFakeMode", "MetadataMismatchError"]


class CrossRefFakeMode(TorchDispatchMode):
    """Runs each operator on fake tensors as well, and compares the results.

    Parameters
    ----------
    ignore_op_fn
        Of an operator, whether it is left out.
    check_strides, check_aliasing
        Whether strides, and memory that results share, are compared.
    only_check_ops_with_meta
        Accepted as PyTorch accepts it: operators that cannot run on fake tensors raise either way when they are of a
        library, and built-in ones all can.

    Raises
    ------
    MetadataMismatchError
        From an operator whose results differ.
    """

    def __init__(
        self, ignore_op_fn: Callable[[Any], bool] | None = None, *, check_strides: bool = True,
        check_aliasing: bool = True, only_check_ops_with_meta: bool = True,
    ) -> None:  # fmt: skip
        self.ignore_op_fn = ignore_op_fn if ignore_op_fn is not None else lambda _: False
        self.check_strides = check_strides
        self.check_aliasing = check_aliasing
        self.only_check_ops_with_meta = only_check_ops_with_meta

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.ignore_op_fn(func):
            return func(*args, **kwargs)
        faked = _faked(func, args, kwargs)
        real = func(*args, **kwargs)
        if faked is not None:
            self._compare(func, (args, kwargs), real, *faked)
        return real

    def _compare(self, func: Any, given: Any, real: Any, fakes: Any, fake: Any) -> None:
        where = f"When comparing the output of {func} on FakeTensor and concrete Tensors, found "
        reals, others = list(tensors_in((real,))), list(tensors_in((fake,)))
        if len(reals) != len(others):
            raise MetadataMismatchError(f"{where}{len(others)} and {len(reals)} tensors")
        if self.check_aliasing:
            _compare_sharing(where, _flat(given), reals, _flat(fakes), others)
        for number, (one, other) in enumerate(zip(reals, others)):
            at = f" for output[{number}]" if isinstance(real, (tuple, list)) else ""
            fact = _difference(one, other, self.check_strides)
            if fact is not None:
                raise MetadataMismatchError(f"{where}mismatched tensor metadata{at}: {fact}")


def _faked(func: Any, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
    """Fake arguments, and what they give; None where the shape of that depends on elements."""
    mode = FakeTensorMode()
    try:
        fakes = tree_map_only(Tensor, mode.from_tensor, (tuple(args), dict(kwargs)))
        with mode:
            return fakes, func(*fakes[0], **fakes[1])
    except (DynamicOutputShapeException, UnsupportedFakeTensorException):
        return None


def _flat(given: Any) -> list[Tensor]:
    args, kwargs = given
    return list(tensors_in((*args, *kwargs.values())))


def _difference(real: Tensor, fake: Tensor, with_strides: bool) -> str | None:
    facts: list[tuple[str, Callable[[Tensor], Any]]] = [("Shapes", lambda t: t.shape), ("Dtypes", lambda t: t.dtype)]
    if with_strides:
        facts.append(("Strides", lambda t: t.stride()))
    for name, of in facts:
        if of(real) != of(fake):
            return f"{name} {of(real)} and {of(fake)} are not equal!"
    return None


def _compare_sharing(
    where: str, inputs: list[Tensor], outputs: list[Tensor], fake_inputs: list[Tensor], fake_outputs: list[Tensor]
) -> None:
    """Whether results share memory with arguments, and with each other, is the same for both."""
    pairs = {
        "outputs_alias_inputs": (_shares(outputs, inputs), _shares(fake_outputs, fake_inputs)),
        "outputs_alias_each_other": (_shares_itself(outputs), _shares_itself(fake_outputs)),
    }
    for check, (real, fake) in pairs.items():
        if real != fake:
            raise MetadataMismatchError(f"{where}mismatch in {check} check {fake} != {real}")


def _same_storage(one: Tensor, other: Tensor) -> bool:
    return one is other or one.untyped_storage()._cdata == other.untyped_storage()._cdata


def _shares(outputs: list[Tensor], inputs: list[Tensor]) -> bool:
    return any(_same_storage(one, other) for one in outputs for other in inputs)


def _shares_itself(outputs: list[Tensor]) -> bool:
    return any(_same_storage(one, other) for i, one in enumerate(outputs) for other in outputs[i + 1 :])
