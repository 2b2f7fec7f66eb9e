"""Puts the core together: what a tensor can do, and the layers that stand above every backend.

`mt_core.tensor` says what a tensor is and imports nothing that works with tensors. What works with tensors imports it,
and is attached to the class here. So imports run one way, and members import what they need at the head of their file.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from . import process_hook, python_dispatch
from .api import _functions
from .api._methods import TensorBase
from .api._quick import REFLECTED, Arrays
from .api.reflected import FORMULAS
from .api.signatures import LazyMethodSignature, LazySignature, sign
from .bridges import BridgeMembers
from .construct import legacy_tensor
from .devices import device
from .dispatch.dispatcher import register_layer
from .dtypes import dtype
from .formats import layout, memory_format
from .functionalization.layer import LAYER as _FUNCTIONALIZATION
from .interop import from_numpy
from .keys import (
    AUTOGRAD,
    FUNCTION_TRANSFORM,
    FUNCTIONALIZE,
    OF_TRANSFORM,
    PIPELINE,
    PYTHON,
    QUANTIZED,
    SPARSE,
    TORCH_FUNCTION,
    TRANSFORMED,
)
from .layers.lazy_bits import LAYERS
from .overrides import default_torch_function
from .overriding import MEMBERS, PLAIN, FunctionLayer, disabled_torch_dispatch, register_member
from .pickling import reduce_layout, reduce_typed_storage, reduce_untyped_storage
from .quantized.layer import LAYER as _QUANTIZED
from .size import Size
from .sparse.layer import LAYER as _SPARSE
from .storage import UntypedStorage
from .tensor import Tensor
from .tensor_autograd import AutogradMembers
from .tensor_cast import CastMembers
from .tensor_convert import ConversionMembers
from .tensor_handwritten import HandwrittenMembers
from .tensor_index import IndexingMembers
from .tensor_legacy import LegacyMembers
from .transforms.escaped import EscapedLayer
from .transforms.interpreters import FrontLayer
from .transforms.wrapped import TransformedLayer
from .typed_storage import TypedStorage

#: Later ones go before earlier ones, and what stands in the class itself before all.
_MEMBERS = (
    BridgeMembers,
    IndexingMembers,
    ConversionMembers,
    CastMembers,
    AutogradMembers,
    TensorBase,
    LegacyMembers,
    HandwrittenMembers,
)


def _attach_members() -> None:
    own = set(vars(Tensor))
    for members in _MEMBERS:
        for name, member in vars(members).items():
            # Of the names that every class has (`__doc__`, `__module__`, a `__hash__` of None) none is one of these.
            if name not in own and (not name.startswith("__") or callable(member) or isinstance(member, property)):
                setattr(Tensor, name, member)
                if isinstance(member, FunctionType) and members is not TensorBase:
                    member.__qualname__ = f"Tensor.{name}"


def _torch_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The default: call the function without overrides, and give the result this class."""
    return default_torch_function(cls, func, types, args, kwargs or {})


def _register_members() -> None:
    """Have overrides told of what is written by hand; the generated methods see to that themselves."""
    for name, member in list(vars(Tensor).items()):
        if name in _NOT_TOLD or name.startswith("_") and not name.startswith("__") and name not in _TOLD:
            continue
        if name in _SECOND_NAMES:
            MEMBERS.add(member if isinstance(member, FunctionType) else member.__get__)
            continue
        if isinstance(member, FunctionType) and member.__module__ != TensorBase.__module__:
            register_member(member, member, name in _HANDWRITTEN_IN_PYTHON)
        elif isinstance(member, property):
            read_only = member.fset is None
            if read_only:
                refuse = _not_writable(name)
                member = property(member.fget, refuse, refuse, member.__doc__)
            if name not in _READ_OFTEN:
                member = getset(member, name)
            setattr(Tensor, name, member)
            if read_only:
                register_member(member.fget, member.__get__, False)  # type: ignore[arg-type]
                continue
            for part, told in ((member.fget, "__get__"), (member.fset, "__set__"), (member.fdel, "__delete__")):
                if part is not None:
                    register_member(part, getattr(member, told), False)  # type: ignore[arg-type]


def _not_writable(name: str) -> Any:
    """What setting and deleting a property does that can only be read."""

    def refuse(*_: Any) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    return refuse


class getset(property):
    """A property that knows its name, as those of PyTorch's tensor do."""

    def __init__(self, of: property, name: str) -> None:
        super().__init__(of.fget, of.fset, of.fdel, of.__doc__)
        self.__name__ = name
        self.__qualname__ = f"TensorBase.{name}"


#: Properties that stay plain ones, which newer Pythons read without a call from C.
_READ_OFTEN = frozenset("data device dtype grad grad_fn is_cpu is_cuda is_leaf ndim requires_grad shape".split())
#: Of these, overrides are not told in PyTorch either.
_NOT_TOLD = frozenset(
    """__new__ __init__ __init_subclass__ __hash__ __torch_function__ __delitem__ __iter__ as_subclass _make_subclass
    new""".split()
)
#: Private members that overrides are told of.
_TOLD = frozenset("_backward_hooks _cdata _grad _grad_fn _is_view _post_accumulate_grad_hooks _version".split())
#: Members that ask for others, of which overrides are told.
_SECOND_NAMES = frozenset("__div__ __idiv__ __rdiv__ __long__ __nonzero__ _grad _grad_fn ndimension nelement".split())
#: Methods that PyTorch writes in Python: their overrides are told options by name, whether given or not.
_HANDWRITTEN_IN_PYTHON = frozenset(
    """__array__ __array_wrap__ __contains__ __deepcopy__ __dir__ __dlpack__ __dlpack_device__ __format__ __len__
    __reduce_ex__ __repr__ __reversed__ __setstate__ backward dim_order eig is_shared lstsq lu module_load norm
    register_hook register_post_accumulate_grad_hook share_memory_ solve split storage storage_type symeig unique
    unique_consecutive""".split()
)
#: All methods that PyTorch writes in Python.
IN_PYTHON = _HANDWRITTEN_IN_PYTHON | frozenset(
    """__cuda_array_interface__ __floordiv__ __hash__ __iter__ __rdiv__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__
    __rpow__ __rrshift__ __rsub__ __rtruediv__ istft stft unflatten""".split()
)

sign(vars(_functions), _functions.__name__, LazySignature)
sign(vars(TensorBase), TensorBase.__module__, LazyMethodSignature)
_attach_members()
REFLECTED.update(FORMULAS)
Arrays.from_numpy = staticmethod(from_numpy)  # type: ignore[assignment]
_register_members()
Tensor.__new__ = legacy_tensor  # type: ignore[method-assign]
Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[method-assign, assignment]
Tensor.__torch_dispatch__ = staticmethod(disabled_torch_dispatch)  # type: ignore[attr-defined]
layout.__reduce__ = reduce_layout  # type: ignore[method-assign, assignment]
TypedStorage.__reduce_ex__ = reduce_typed_storage  # type: ignore[method-assign, assignment]
UntypedStorage.__reduce_ex__ = reduce_untyped_storage  # type: ignore[method-assign, assignment]
PLAIN.update((dtype, device, layout, memory_format, Size, slice, type(Ellipsis)))
register_layer(AUTOGRAD, "autograd")
register_layer(PYTHON, "python")
register_layer(PIPELINE, "pipeline")
for _layer in LAYERS:
    register_layer(_layer.key, _layer)
register_layer(TORCH_FUNCTION, FunctionLayer())
register_layer(FUNCTION_TRANSFORM, FrontLayer())
register_layer(OF_TRANSFORM, EscapedLayer())
register_layer(TRANSFORMED, TransformedLayer())
register_layer(FUNCTIONALIZE, _FUNCTIONALIZATION)
register_layer(SPARSE, _SPARSE)
register_layer(QUANTIZED, _QUANTIZED)
process_hook.install()

from . import asked_members, dispatched_members, subclasses  # noqa: E402 - it keeps what the members attached above do

python_dispatch.when_armed.append(dispatched_members.exchange_members)
subclasses.Asking.begin = staticmethod(asked_members.ask_of)
