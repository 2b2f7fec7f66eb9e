"""Puts the core together: what a tensor can do, and the layers that stand above every backend.

`mt_core.tensor` says what a tensor is and imports nothing that works with tensors. What works with tensors imports it,
and is attached to the class here. So imports run one way, and members import what they need at the head of their file.
"""

from __future__ import annotations

from typing import Any

from .api._methods import TensorBase
from .construct import legacy_tensor
from .dispatch.dispatcher import register_layer
from .keys import AUTOGRAD, TORCH_FUNCTION
from .overrides import default_torch_function
from .overriding import FunctionLayer
from .tensor import Tensor
from .tensor_autograd import AutogradMembers
from .tensor_cast import CastMembers
from .tensor_convert import ConversionMembers
from .tensor_handwritten import HandwrittenMembers
from .tensor_index import IndexingMembers

#: Later ones go before earlier ones, and what stands in the class itself before all.
_MEMBERS = (IndexingMembers, ConversionMembers, CastMembers, AutogradMembers, TensorBase, HandwrittenMembers)


def _attach_members() -> None:
    own = set(vars(Tensor))
    for members in _MEMBERS:
        for name, member in vars(members).items():
            # Of the names that every class has (`__doc__`, `__module__`, a `__hash__` of None) none is callable.
            if name not in own and (not name.startswith("__") or callable(member)):
                setattr(Tensor, name, member)


def _torch_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The default: call the function without overrides, and give the result this class."""
    return default_torch_function(cls, func, types, args, kwargs or {})


_attach_members()
Tensor.__new__ = legacy_tensor  # type: ignore[method-assign]
Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[method-assign, assignment]
register_layer(AUTOGRAD, "autograd")
register_layer(TORCH_FUNCTION, FunctionLayer())
