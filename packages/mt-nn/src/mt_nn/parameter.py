"""`Parameter` and `Buffer`: tensors that a module registers when they are assigned to it."""

from collections import OrderedDict
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.keys import TORCH_FUNCTION
from mt_core.process_hook import share_when_sent
from mt_core.subclasses import disabled_torch_function

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class _ParameterMeta(type(Tensor)):
    """Lets a tensor of another class, marked with ``_is_param``, count as a parameter."""

    def __instancecheck__(self, instance: Any) -> bool:
        if self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a parameter of the module it is assigned to.

    Parameters
    ----------
    data
        The values, shared and not copied. Another tensor class is kept: the result is then that class, marked as a
        parameter. Without data the parameter is empty.
    requires_grad
        Whether gradients are recorded, whatever the grad mode at construction.
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> "Parameter":
        if data is None:
            data = mt.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        detached = data.detach().requires_grad_(requires_grad)
        if type(detached) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns "
                f"an instance of the same type, but return type {type(detached).__name__} was found instead. To use "
                "the type as a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        detached._is_param = True
        return detached  # type: ignore[return-value]

    def __deepcopy__(self, memo: dict[int, Any]) -> "Parameter":
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(self.data.clone(memory_format=mt.preserve_format), self.requires_grad)
        memo[id(self)] = copied
        return copied

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        state = self.__dict__
        if not state:
            return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())
        return _rebuild_parameter_with_state, (self.data, self.requires_grad, OrderedDict(), dict(state))

    __torch_function__ = disabled_torch_function


share_when_sent(Parameter)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: OrderedDict) -> "Parameter":
    """The parameter that a pickle describes. Hooks are never stored; their place in the format stays empty."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: OrderedDict, state: dict[str, Any]
) -> "Parameter":
    parameter = _rebuild_parameter(data, requires_grad, backward_hooks)
    from mt_core.serialization.rebuild import set_object_state  # lazy: files and pickles come late

    return set_object_state(parameter, state)


class UninitializedTensorMixin:
    """A tensor without a shape yet: only what tells or changes its dtype, device or shape works on it."""

    #: Names of the methods that may be called before there is a shape.
    _allowed_methods = frozenset(
        """__hash__ size copy_ detach is_complex is_floating_point half float double char short int long cuda cpu to
        get_device""".split()
    )

    def materialize(
        self, shape: tuple[int, ...], device: mt.device | None = None, dtype: mt.dtype | None = None
    ) -> None:
        """Give the tensor its shape, uninitialized memory, and the class it stands for.

        Parameters
        ----------
        shape
            Sizes of the tensor.
        device
            Where it lives from now on; by default where it is.
        dtype
            Its dtype from now on; by default the present one.
        """
        device = self.data.device if device is None else device
        dtype = self.data.dtype if dtype is None else dtype
        self.data = mt.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become
        self._keys &= ~TORCH_FUNCTION  # the class it has become overrides nothing

    @property
    def shape(self) -> mt.Size:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> None:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        return self.__class__, (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if getattr(func, "__name__", "") in (*cls._allowed_methods, "__get__", "__set__", "__delete__"):
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )


def is_lazy(param: Any) -> bool:
    """Whether a tensor still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; `materialize` turns it into a `Parameter`."""

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: mt.device | None = None, dtype: mt.dtype | None = None
    ) -> "UninitializedParameter":
        return Tensor._make_subclass(cls, mt.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> "UninitializedParameter":
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        memo[id(self)] = copied
        return copied


class _BufferMeta(type(Tensor)):
    """Makes every tensor marked with ``_is_buffer`` an instance of `Buffer`."""

    def __instancecheck__(self, instance: Any) -> bool:
        if self is Buffer:
            return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the module it is assigned to. It is a plain tensor that carries a mark.

    Parameters
    ----------
    data
        The values, shared and not copied; an empty tensor by default.
    persistent
        Whether the buffer belongs to the module's `state_dict`.
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Tensor:
        if data is None:
            data = mt.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

    __torch_function__ = disabled_torch_function


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; `materialize` turns it into a tensor."""

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
        persistent: bool = True,
    ) -> "UninitializedBuffer":
        buffer = Tensor._make_subclass(cls, mt.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer
