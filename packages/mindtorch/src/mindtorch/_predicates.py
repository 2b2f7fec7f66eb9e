"""Questions about Python objects that PyTorch answers at the top level."""

from typing import Any

import mt_core.dtypes as _dtypes
from mt_core import Tensor
from mt_core.overriding import overridable, overridable_builtin
from mt_core.promotion import result_type_of
from mt_core.storage import UntypedStorage
from mt_core.typed_storage import TypedStorage

__all__ = [
    "_assert",
    "can_cast",
    "detach",
    "detach_",
    "get_device",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_distributed",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "numel",
    "resize_as_",
    "result_type",
    "typename",
]


@overridable
def _assert(condition: Any, message: Any) -> None:
    """Assert as a function, which tracers see.

    Raises
    ------
    AssertionError
        With the message, when the condition does not hold.
    """
    assert condition, message


def is_tensor(obj: Any) -> bool:
    """Whether the object is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether the object is a storage, typed or untyped."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


def typename(obj: Any) -> str:
    """The dotted name of a type, a function, or an object's type; ``torch.FloatTensor`` for a float32 tensor."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"


def _tensor(function: str, value: Any, argument: str = "input", position: int = 1) -> Tensor:
    """The value if it is a tensor; else PyTorch's TypeError."""
    if not isinstance(value, Tensor):
        kind = type(value).__name__
        raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {kind}")
    return value


@overridable_builtin
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating-point one."""
    return _tensor("is_floating_point", input).is_floating_point()


@overridable_builtin
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return _tensor("is_complex", input).is_complex()


@overridable_builtin
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return _tensor("is_signed", input).is_signed()


@overridable_builtin
def is_conj(input: Tensor) -> bool:
    """Whether the elements are to be read conjugated."""
    return _tensor("is_conj", input).is_conj()


@overridable_builtin
def is_neg(input: Tensor) -> bool:
    """Whether the elements are to be read negated."""
    return _tensor("is_neg", input).is_neg()


@overridable_builtin
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return _tensor("is_inference", input).is_inference()


@overridable_builtin
def is_nonzero(input: Tensor) -> bool:
    """Whether a one-element tensor is not zero.

    Raises
    ------
    RuntimeError
        For tensors with several elements or none.
    """
    return bool(_tensor("is_nonzero", input))


@overridable_builtin
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    first, second = _tensor("is_same_size", input), _tensor("is_same_size", other, "other", 2)
    if first.is_nested or second.is_nested:
        return bool(first.is_same_size(second))
    return first.shape == second.shape


@overridable_builtin
def numel(input: Tensor) -> int:
    """Number of elements."""
    return _tensor("numel", input).numel()


@overridable_builtin
def get_device(input: Tensor) -> int:
    """The device index; -1 on the CPU."""
    return _tensor("get_device", input).get_device()


@overridable_builtin
def detach(input: Tensor) -> Tensor:
    """The same memory without history, as `Tensor.detach`."""
    return _tensor("detach", input).detach()


@overridable_builtin
def detach_(input: Tensor) -> Tensor:
    """Cut the tensor itself off its history, as `Tensor.detach_`."""
    return _tensor("detach_", input).detach_()


@overridable_builtin
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Resize the tensor itself to the shape of another, as `Tensor.resize_as_`."""
    template = _tensor("resize_as_", the_template, "the_template", 2)
    return _tensor("resize_as_", input).resize_as_(template, memory_format=memory_format)


@overridable_builtin
def result_type(tensor1: Any, tensor2: Any) -> _dtypes.dtype:
    """The dtype that two tensors or numbers promote to; tensors without dimensions and numbers weigh less."""
    for number in (tensor1, tensor2):
        if isinstance(number, int) and not -(2**63) <= number < 2**64:
            raise OverflowError("int too big to convert")
    return result_type_of([tensor1, tensor2])


@overridable_builtin
def can_cast(from_: _dtypes.dtype, to: _dtypes.dtype) -> bool:
    """Whether a result of one dtype may be written to a tensor of another."""
    return _dtypes.can_cast(from_, to)


def is_distributed(input: Any) -> bool:
    """Always False: PyTorch's name from before there were distributed tensors.

    Raises
    ------
    TypeError
        For what is no tensor.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"is_distributed(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return False
