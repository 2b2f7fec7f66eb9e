"""The members of a tensor that concern differentiation: state is kept here, work is done by the autograd layer."""

from __future__ import annotations

import warnings
from typing import Any

from .autograd_state import OWN_DTYPE, AutogradState, refuse_in_transforms
from .block import block_of, rebind, refuse_rebinding, share_block
from .cell import Cell
from .dispatch.dispatcher import layer_for
from .dispatch.registry import overload
from .dtypes import cpp_type_name, dtype, scalar_type_name
from .hollow import is_hollow, within_reach
from .keys import (
    AUTOGRAD,
    BACKEND_MASK,
    FORWARD_GRAD,
    INFERENCE,
    MULTI_VIEW,
    NO_GRAD_VIEW,
    OF_TRANSFORM,
    OTHER_INDEX,
    PIPELINE,
    PYTHON,
    TORCH_FUNCTION,
)
from .overriding import handed_over, is_overridden
from .state import tls
from .tensor import Tensor, new_tensor

__all__ = ["AutogradMembers", "unversioned"]

#: What an alias outside the graph does not have of its origin: a place in the graph, and a class of its own.
_NOT_DETACHED = AUTOGRAD | FORWARD_GRAD | NO_GRAD_VIEW | MULTI_VIEW | TORCH_FUNCTION | PYTHON

_detach = overload("detach", "view")


def _layer() -> Any:
    return layer_for(AUTOGRAD)


def _require_registry(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, dict):
        raise TypeError(f"{name} must be a dict or None, but got {type(value).__name__}")


def unversioned(tensor: Any) -> Any:
    """The same memory as a tensor without history and with a version count of its own."""
    alias = new_tensor(tensor._array, tensor._dtype, tensor._keys & ~(AUTOGRAD | FORWARD_GRAD))
    if not is_hollow(tensor):
        share_block(alias, tensor)
    return alias


class AutogradMembers:
    """Mixed into Tensor."""

    __slots__ = ()

    _autograd: AutogradState | None
    _keys: int

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user, not by a recorded operation."""
        if self._keys & PIPELINE:
            return self._array.is_leaf()  # type: ignore[attr-defined, no-any-return]
        state = self._autograd
        return state is None or self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        """The node that made this tensor, or None."""
        if not self._keys & AUTOGRAD:
            return None
        if self._base is not None:  # type: ignore[attr-defined]
            return _layer().grad_fn_of_view(self)
        state = self._autograd
        return None if state is None else state.grad_fn

    @property
    def _grad_fn(self) -> Any:
        return self.grad_fn

    @_grad_fn.setter
    def _grad_fn(self, value: Any) -> None:
        if value is not None:
            raise RuntimeError("_grad_fn can be only set to None")
        self.detach_()  # type: ignore[attr-defined]

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")

    @property
    def output_nr(self) -> int:
        """Which output of its `grad_fn` it is."""
        return 0 if self._autograd is None else self._autograd.output_nr

    @property
    def grad(self) -> Any:
        """The accumulated gradient of a leaf (or of a tensor that retains its own), None before the first backward."""
        state = self._autograd
        if state is None:
            return None
        if state.grad is None and not state.retains_grad and self._keys & AUTOGRAD and self.grad_fn is not None:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf "
                "Tensor by mistake, make sure you access the leaf Tensor instead. See "
                "github.com/pytorch/pytorch/pull/30531 for more information.",
                stacklevel=2,
            )
        return state.grad

    @grad.setter
    def grad(self, value: Any) -> None:
        state = self._autograd
        if value is None:
            if state is not None:
                state.grad = None
            return
        _check_grad(self, value)
        if state is None:
            state = self._autograd = AutogradState()
        state.grad = value

    @grad.deleter
    def grad(self) -> None:
        if self._autograd is not None:
            self._autograd.grad = None

    @property
    def _grad(self) -> Any:
        return self.grad

    @_grad.setter
    def _grad(self, value: Any) -> None:
        self.grad = value

    @_grad.deleter
    def _grad(self) -> None:
        del self.grad

    @property
    def _backward_hooks(self) -> Any:
        """The hooks of the tensor by number, None where none has been registered; a leaf's may be replaced."""
        node = self.grad_fn
        if node is not None:
            return None if node._hooks is None else node._hooks.tensor.get(self.output_nr)
        return None if self._autograd is None else self._autograd.hooks

    @_backward_hooks.setter
    def _backward_hooks(self, value: Any) -> None:
        _require_registry("_backward_hooks", value)
        if self.grad_fn is not None:
            raise RuntimeError("_backward_hooks can be set on leaf tensors only: use register_hook()")
        self._own_state().hooks = value

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    @property
    def _post_accumulate_grad_hooks(self) -> Any:
        """What `register_post_accumulate_grad_hook` has registered by number, None where nothing has been."""
        return None if self._autograd is None else self._autograd.post_accumulate_grad_hooks

    @_post_accumulate_grad_hooks.setter
    def _post_accumulate_grad_hooks(self, value: Any) -> None:
        _require_registry("_post_accumulate_grad_hooks", value)
        self._own_state().post_accumulate_grad_hooks = value

    @_post_accumulate_grad_hooks.deleter
    def _post_accumulate_grad_hooks(self) -> None:
        raise RuntimeError("Deletion of _post_accumulate_grad_hooks not allowed!")

    def _own_state(self) -> AutogradState:
        if self._autograd is None:
            self._autograd = AutogradState()
        return self._autograd

    @property
    def grad_dtype(self) -> dtype | None:
        """The dtype that gradients are converted to when they arrive at this leaf, its own by default; None for any.

        Raises
        ------
        RuntimeError
            Of tensors that are no leaves; when set to another dtype than that of the gradient that is there, or to
            anything else than a dtype or None.
        """
        _refuse_no_leaf(self)
        return _grad_dtype_of(self)

    @grad_dtype.setter
    def grad_dtype(self, value: dtype | None) -> None:
        _refuse_no_leaf(self)
        if value is not None and not isinstance(value, dtype):
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
        if self._autograd is None:
            self._autograd = AutogradState()
        grad = self._autograd.grad
        if value is not None and grad is not None and grad.dtype is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{scalar_type_name(value)}' because there is already a gradient with dtype "
                f"'{scalar_type_name(grad.dtype).lower()}'. Please clear the gradient (.grad = None) before changing "
                "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
            )
        self._autograd.grad_dtype = value

    @property
    def retains_grad(self) -> bool:
        """Whether a non-leaf keeps its gradient."""
        return self._autograd is not None and self._autograd.retains_grad

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Compute the gradients of the graph's leaves with respect to this tensor and accumulate them into ``.grad``.

        Raises
        ------
        RuntimeError
            When it does not require grad, is no scalar and no `gradient` is given, or the graph was freed.
        """
        _layer().backward((self,), (gradient,), retain_graph, create_graph, inputs)

    def register_hook(self, hook: Any) -> Any:
        """Call ``hook(grad)`` whenever this tensor's gradient is computed.

        What it returns, if not None, takes its place.
        """
        if not self._keys & AUTOGRAD:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return _layer().register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call ``hook(tensor)`` after a leaf's ``.grad`` has been updated."""
        if not self._keys & AUTOGRAD:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return _layer().register_post_accumulate_grad_hook(self, hook)

    def retain_grad(self) -> None:
        """Keep ``.grad`` of a tensor that is not a leaf."""
        if not self._keys & AUTOGRAD:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        refuse_in_transforms("retain_grad")
        if self.grad_fn is not None:
            _layer().retain_grad(self)

    def detach(self: Any) -> Any:
        """The same memory without history; in-place changes are seen by both and counted by one version."""
        keys = self._keys
        if is_overridden(keys | tls.mode):
            return handed_over(Tensor.detach, (self,), None)
        if keys & (OF_TRANSFORM | PIPELINE | INFERENCE):
            if keys & INFERENCE and not keys & OF_TRANSFORM:
                keys = within_reach(self)._keys  # its writes are counted apart, which no operator does
            if keys & (OF_TRANSFORM | PIPELINE):
                return _detach.call(self)  # it is detached at every level, or when its memory is there
            alias = new_tensor(self._array, self._dtype, keys & ~_NOT_DETACHED)
            share_block(alias, self)
            return alias
        cell = self._cell
        if cell is None:
            cell = self._cell = Cell(self)
        if self._base is not None:
            block_of(self)  # the new tensor has no base to find the block from
        alias = new_tensor(self._array, self._dtype, keys & ~_NOT_DETACHED)
        alias._cell = cell
        cell.add(alias)
        return alias

    @property
    def data(self: Any) -> Any:
        """The same memory as a tensor without history and with a version count of its own."""
        if self._keys & OF_TRANSFORM:
            self._array.elements_for("data")
        return unversioned(within_reach(self))

    @data.setter
    def data(self: Any, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self._keys & OF_TRANSFORM:
            self._array.elements_for("set_data")
        refuse_rebinding(within_reach(self), within_reach(value))
        if self._keys & AUTOGRAD:
            _note_former_layout(self, value)
        rebind(self, value)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def detach_(self) -> Any:
        """Cut this tensor from its history and from its tangents, in place.

        Raises
        ------
        RuntimeError
            For views, whose base would keep the history.
        """
        if self._base is not None:  # type: ignore[attr-defined]
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) "
                "for training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and "
                "hence detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        if tls.inference or self._keys & INFERENCE:
            return self  # nothing of autograd runs then, which cuts the history
        state = self._autograd
        if state is not None:
            state.grad_fn, state.output_nr = None, 0
            state.requires_grad = state.retains_grad = False
            if self._keys & FORWARD_GRAD:
                state.tangents.clear()
        required_grad = self._keys & AUTOGRAD
        self._keys &= ~(AUTOGRAD | FORWARD_GRAD)
        if required_grad and self._cell is not None:  # type: ignore[attr-defined]
            _layer().follow_base(self)
        return self

    def _switch_requires_grad(self: Any, requires_grad: bool) -> None:
        """Make a leaf require grad, or no longer."""
        within_reach(self)
        if requires_grad:
            if not (self._dtype.is_floating_point or self._dtype.is_complex):
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            if self._keys & INFERENCE and not tls.inference:
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
                )
        layer = layer_for(AUTOGRAD)
        if self._autograd is None:
            self._autograd = AutogradState()
        self._autograd.requires_grad = requires_grad
        if requires_grad:
            self._keys |= AUTOGRAD
        elif self._base is None or not self._base._keys & AUTOGRAD:
            self._keys &= ~AUTOGRAD
        if self._cell is not None:
            layer.follow_base(self)

    @property
    def name(self) -> None:
        """Names of variables belong to a PyTorch of long ago; always None."""
        return None


def _note_former_layout(tensor: Any, value: Any) -> None:
    """Let graphs that used a leaf give it gradients of the form that it is about to lose."""
    if not tensor.is_leaf:
        return
    is_other_type = tensor._dtype is not value._dtype or (tensor._keys ^ value._keys) & (BACKEND_MASK | OTHER_INDEX)
    if is_other_type or tensor._array.shape != value._array.shape:
        _layer().leave_layout(tensor, not is_other_type)


def _refuse_no_leaf(tensor: Any) -> None:
    if not tensor.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")


def _grad_dtype_of(tensor: Any) -> dtype | None:
    state = tensor._autograd
    chosen: Any = OWN_DTYPE if state is None else state.grad_dtype
    return tensor._dtype if chosen is OWN_DTYPE else chosen  # type: ignore[no-any-return]


def _check_grad(self: Any, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    expected = _grad_dtype_of(self)
    if expected is not None and value.dtype is not expected:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{cpp_type_name(value.dtype)}' to a tensor with "
            f"grad_dtype '{scalar_type_name(expected)}'. The gradient must match the tensor's grad_dtype "
            "(defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific "
            "dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and "
            "its gradient may break downstream systems that assume they match."
        )
    if value.device.type != self.device.type:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
            f"'{self.device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )
    if value.shape != self.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
