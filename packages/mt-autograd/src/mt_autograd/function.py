"""``torch.autograd.Function``: operations whose backward the user writes.

The object that ``forward`` and ``backward`` get as ``ctx`` is itself the node in the graph.
"""

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import get_ident
from typing import Any

from mt_core.autograd_state import AutogradState, Creation, is_grad_enabled, no_grad
from mt_core.cell import cell_of
from mt_core.keys import MULTI_VIEW, NO_GRAD_VIEW
from mt_core.state import tls, unqueued
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in

from .anomaly_mode import note_forward
from .function_jvp import FunctionRun, give_tangents
from .inplace import set_history
from .modes import is_instrumented
from .node import EMPTY_SPEC, NO_EDGE, Node, output_spec
from .operator_node import pack_item, zeros_for
from .recording import DIFFERENTIABLE, make_output
from .saved import (
    FREED,
    Packed,
    SavedTensor,
    check_version,
    saved_output,
    unpack_input,
    version_of,
)
from .tangents import below, top_level
from .views import edge_of

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
    "recorded_function",
]


#: Handles functions inside of transforms. It stands above this module, and is loaded where the first of them meets one.
_INSIDE_OF_TRANSFORMS = "mt_autograd.func.custom_functions"


#: Thread -> what makes the calls of functions in its stead: a tracer, to which they are one step.
watchers: dict[int, Callable[..., Any]] = {}


class FunctionCtx:
    """What ``forward`` tells about itself, for ``backward`` and for the engine."""

    to_save: tuple[Any, ...] = ()
    #: What ``jvp`` finds saved, while it may run; None at other times.
    saved_for_forward: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    materialize_grads = True
    #: Whether zeros also stand for the gradients of outputs that are not differentiable.
    _materialize_non_diff_grads = True
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors, or None, for ``backward``, where they are ``ctx.saved_tensors``; to be called once, in forward.

        Changes made to them in place before backward are noticed; inputs and outputs saved so keep no memory longer
        than needed. Other values may simply be set as attributes of ``ctx``.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors, or None, for ``jvp``, where they are ``ctx.saved_tensors``."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    "on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Name the inputs that forward changes in place; they must be among its outputs."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Name the outputs that have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros for outputs without a gradient (the default), or None."""
        self.materialize_grads = value

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Without effect: PyTorch does not need it any more either."""
        warnings.warn(
            "function 'mark_shared_storage' is deprecated. Tensors with shared storages are automatically tracked. "
            "Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom function; one subclass for each, named after it."""

    strict_gradients = True
    _forward_cls: "type[Function]"
    _saved: tuple[tuple[Any, int, int | None], ...] | None = ()
    #: Which outputs have a gradient.
    _differentiable: Sequence[bool] = ()

    def __init__(self, args: Sequence[Any]) -> None:
        self.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        #: Which arguments are tensors; those have an edge each.
        self._is_tensor = tuple(isinstance(a, Tensor) for a in args)
        recorded = is_grad_enabled() and any(self.needs_input_grad)
        self.attach([edge_of(a) if recorded else NO_EDGE for a in args if isinstance(a, Tensor)], ())
        if recorded and is_instrumented():
            note_forward(self)

    # Saving

    def _save(self) -> None:
        """Save what forward has asked for, now that its outputs have their history."""
        entries = []
        for index, tensor in enumerate(self.to_save):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {index} is of type "
                    f"{type(tensor).__name__}"
                )
            entries.append(self._entry(tensor))
        self._saved = tuple(entries)
        self.to_save = ()

    def _entry(self, tensor: Any) -> tuple[Any, int, int | None]:
        if tensor is None:
            return None, 0, None
        edge = edge_of(tensor)
        if edge[0] is self:
            output = saved_output(tensor, edge[1])
            return pack_item(output), output.cell.version, edge[1]
        return pack_item(tensor), version_of(tensor), None

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._saved is None:
            raise RuntimeError(FREED)
        return tuple(_SavedByFunction(self, index) for index in range(len(self._saved)))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to ``save_for_backward``; in ``jvp``, those given to ``save_for_forward``.

        Raises
        ------
        RuntimeError
            In PyTorch's words, when they have been freed or changed in place.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._saved is None:
            raise RuntimeError(FREED)
        return tuple(self._unpack(*entry) for entry in self._saved)

    def _unpack(self, item: Any, version: int, output_nr: int | None) -> Any:
        if output_nr is None:
            return unpack_input(item, version)
        edge = (self, output_nr)
        if isinstance(item, Packed):
            return item.unpack(edge)
        tensor = item.tensor(edge)
        check_version(tensor, item.cell.version, version, edge)
        return tensor

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """What `saved_tensors` was called before."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    def release(self) -> None:
        self._saved = None

    def maybe_clear_saved_tensors(self) -> None:
        """Free what was saved."""
        self.release()

    # Backward

    def _can_have_gradient(self, output_nr: int) -> bool:
        return True

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        if self.materialize_grads:
            grads = [zeros_for(self.output_spec(nr), grads) if self._lacks(nr, g) else g for nr, g in enumerate(grads)]
        results = _backward_of(self._forward_cls)(self, *grads)
        results = results if isinstance(results, tuple) else (results,)
        return self._per_edge(results)

    def _lacks(self, output_nr: int, grad: Any) -> bool:
        """Whether zeros are to stand for the gradient of an output."""
        if grad is not None or self.output_spec(output_nr)[1] is None:
            return False
        return self._materialize_non_diff_grads or self._differentiable[output_nr]

    def _per_edge(self, results: tuple[Any, ...]) -> list[Any]:
        """Gradients of the tensor arguments, from what backward returned for all arguments."""
        count = len(self._is_tensor)
        if len(results) < count or any(r is not None for r in results[count:]):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got "
                f"{len(results)})"
            )
        kept = []
        for position, (result, is_tensor) in enumerate(zip(results, self._is_tensor)):
            if not is_tensor:
                if result is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at position {position + 1}, "
                        "but the corresponding forward input was not a Variable"
                    )
                continue
            if result is not None and not isinstance(result, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
            kept.append(result)
        return kept


def _backward_of(cls: "type[Function]") -> Callable[..., Any]:
    has_backward = cls.backward is not Function.backward
    if has_backward and cls.vjp is not Function.vjp:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement "
            "one of them."
        )
    return cls.backward if has_backward else cls.vjp


class _SavedByFunction(SavedTensor):
    """One of a function's saved tensors."""

    __slots__ = ()

    def unpack(self) -> Any:
        if self._is_freed():
            raise RuntimeError(FREED)
        return self._node._unpack(*self._node._saved[self._index])

    def _is_freed(self) -> bool:
        return self._node._saved is None

    def _stored(self) -> Any:
        return self._node._saved[self._index][0]

    def _replace(self, packed: Packed) -> None:
        saved = list(self._node._saved)
        saved[self._index] = (packed, *saved[self._index][1:])
        self._node._saved = tuple(saved)


class FunctionMeta(type):
    """Gives each function class the class of its nodes."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": __name__})
        super().__init__(name, bases, attributes)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base of custom differentiable operations.

    Subclasses define static methods ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)``; or
    ``forward(*args)``, ``setup_context(ctx, inputs, output)`` and ``backward``. They are called by ``apply``, never
    instantiated.
    """

    _backward_cls: type[BackwardCFunction]
    generate_vmap_rule = False
    is_traceable = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; tensors in it are recorded as results of this function."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save for backward what it needs, where ``forward`` does not take ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Gradients of the arguments from those of the outputs; None for arguments without one."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Tangents of the outputs from those of the arguments: None for what is no tensor.

        It is called after ``forward``, in forward mode; see `mt_autograd.function_jvp.give_tangents`.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Batching rule of ``torch.func.vmap``."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and record it.

        Raises
        ------
        RuntimeError, TypeError
            In PyTorch's words, for a ``ctx`` used wrongly.
        """
        watcher = watchers and watchers.get(get_ident())
        if watcher:
            return watcher(cls, args, kwargs)
        separate_setup = cls.setup_context is not Function.setup_context
        args = _bound(cls, args, kwargs, separate_setup)
        if tls.transforms:
            return import_module(_INSIDE_OF_TRANSFORMS).apply_inside(cls, args)
        return recorded_function(cls, args, cls.forward if separate_setup else None)


def recorded_function(cls: "type[Function]", args: tuple[Any, ...], forward: Callable[..., Any] | None) -> Any:
    """Run a function's forward without recording what it calls, and record the function.

    Parameters
    ----------
    forward
        What computes the outputs from the arguments, before ``setup_context``; None where the function's own forward
        takes the context.
    """
    with unqueued():
        run, is_single = _run(cls, args, forward)
    run.ctx.saved_for_forward = None
    return run.results[0] if is_single else run.results


def _run(cls: "type[Function]", args: tuple[Any, ...], forward: Callable[..., Any] | None) -> tuple[FunctionRun, bool]:
    """One call, of whose results those have tangents that should; and whether it returned one value, no tuple."""
    level = top_level([a for a in args if isinstance(a, Tensor)])
    if level is None:
        return _run_without_tangents(cls, args, forward)
    with below(level):
        run, is_single = _run(cls, args, forward)
    if run.ctx.saved_for_forward is None:
        run.ctx.saved_for_forward = ()
    give_tangents(cls, run, level)
    return run, is_single


def _run_without_tangents(
    cls: "type[Function]", args: tuple[Any, ...], forward: Callable[..., Any] | None
) -> tuple[FunctionRun, bool]:
    ctx = cls._backward_cls(args)
    with no_grad():
        if forward is None:
            output = cls.forward(ctx, *args)
        else:
            output = forward(*args)
            cls.setup_context(ctx, args, output)
    outputs = output if isinstance(output, tuple) else (output,)
    if forward is not None:
        _refuse_saved_inputs(ctx, args, outputs)
    is_written = [isinstance(t, Tensor) and _among(t, args) and _among(t, ctx.dirty_tensors) for t in outputs]
    is_smooth = [
        isinstance(t, Tensor) and t._dtype in DIFFERENTIABLE and not _among(t, ctx.non_differentiable) for t in outputs
    ]
    wrapped = _Outputs(ctx, args, outputs).wrapped()
    return FunctionRun(ctx, args, wrapped, is_written, is_smooth), not isinstance(output, tuple)


def _refuse_saved_inputs(ctx: BackwardCFunction, args: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Refuse to save an input that is an output: once that has its history, it is another tensor than was saved.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    returned = [t for t in outputs if isinstance(t, Tensor) and _among(t, args) and not _among(t, ctx.dirty_tensors)]
    if any(_among(tensor, returned) for tensor in ctx.to_save):
        raise RuntimeError(
            "An input that has been returned as-is as output is being saved for backward. This is not supported if "
            "you override setup_context. You should return and save a view of the input instead, e.g. with "
            "x.view_as(x) or setup ctx inside the forward function itself."
        )


def _bound(
    cls: "type[Function]", args: tuple[Any, ...], kwargs: dict[str, Any], separate_setup: bool
) -> tuple[Any, ...]:
    """The arguments in the order of forward's parameters, with its defaults."""
    if not kwargs and not separate_setup:
        return args
    context = () if separate_setup else (None,)
    bound = inspect.signature(cls.forward).bind(*context, *args, **kwargs)
    bound.apply_defaults()
    return bound.args[len(context) :]


class _Outputs:
    """The results of a forward, to be given their history."""

    def __init__(self, ctx: BackwardCFunction, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        self.ctx = ctx
        self.inputs = [a for a in args if isinstance(a, Tensor)]
        self.outputs = outputs
        self.recorded = any(target is not None for target in ctx._edges[::2])
        self.dirty = ctx.dirty_tensors
        self._check_dirty()
        self.differentiable = [
            isinstance(t, Tensor)
            and self.recorded
            and t._dtype in DIFFERENTIABLE
            and not _among(t, ctx.non_differentiable)
            for t in outputs
        ]

    def _check_dirty(self) -> None:
        for tensor in self.dirty:
            if not isinstance(tensor, Tensor):
                raise RuntimeError(
                    f"mark_dirty can only accept variables, but argument is of type {type(tensor).__name__}"
                )
            if not _among(tensor, self.outputs):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs "
                    "that are modified inplace must all be outputs of the Function."
                )

    def wrapped(self) -> tuple[Any, ...]:
        ctx = self.ctx
        ctx.set_outputs([output_spec(t) if isinstance(t, Tensor) else EMPTY_SPEC for t in self.outputs])
        results = tuple(self._wrap(nr, value) for nr, value in enumerate(self.outputs))
        ctx.dirty_tensors = ctx.non_differentiable = ()
        ctx._differentiable = self.differentiable
        if self.recorded:
            ctx._save()
        else:
            ctx.to_save = ()
        return results

    def _wrap(self, nr: int, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        is_input = _among(value, self.inputs)
        if not self.differentiable[nr]:
            return self._without_history(value, is_input)
        if _among(value, self.dirty):
            self._change(nr, value, is_input)
            return value
        if is_input:
            with no_grad():
                value = value.view_as(value)
        self._enter(nr, value)
        return value

    def _without_history(self, value: Tensor, is_input: bool) -> Tensor:
        if is_input and _among(value, self.dirty):
            return value
        if is_input:
            with no_grad():
                value = value.detach() if value.requires_grad else value.view_as(value)
        elif value.requires_grad and value._base is None:
            value.detach_()
        if value._base is not None:
            _mark_as_custom(value)
        return value

    def _enter(self, nr: int, value: Tensor) -> None:
        """Make a tensor output number `nr` of the node; a view keeps its base, but may not be written to."""
        is_view = value._base is not None
        make_output(value, self.ctx, nr, is_view)
        if is_view:
            value._keys = value._keys & ~NO_GRAD_VIEW | MULTI_VIEW
            if sum(self.differentiable) == 1:
                value._autograd.creation = Creation.IN_CUSTOM_FUNCTION  # type: ignore[union-attr]

    def _change(self, nr: int, value: Tensor, is_input: bool) -> None:
        """Give an input that forward wrote to its new history."""
        if not is_input:
            warnings.warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                "should be passed to ctx.mark_dirty().",
                stacklevel=6,
            )
            self._enter(nr, value)
            return
        if value.requires_grad and value.grad_fn is None and value._base is None:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if value._base is not None:
            self._check_view(value)
        cell_of(value).version += 1
        set_history(value, self.ctx, nr)

    def _check_view(self, value: Tensor) -> None:
        if len(list(tensors_in(self.outputs))) > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                "return more than one Tensor. This is not supported by the current autograd engine. You should either "
                "make sure the input is not a view (using .clone() for example) or make your Function only return one "
                "Tensor (potentially splitting it into two Functions: one doing the inplace that returns a single "
                "Tensor and a second one that does the other operations). You can ask on the forum "
                "https://discuss.pytorch.org/ if you need help to do this change."
            )
        if self.inputs[0] is not value:
            raise RuntimeError(
                f"{self.ctx.name()} modifies inplace an input that is a view of another Tensor: it must be its first "
                "tensor input"
            )


def _mark_as_custom(view: Tensor) -> None:
    """Note that a view without a history of its own came out of a custom function, which forbids to write to it."""
    state = view._autograd
    if state is None:
        state = view._autograd = AutogradState()
        state.attr_version = cell_of(view).version
    state.creation = Creation.IN_CUSTOM_FUNCTION


def _among(tensor: Any, tensors: Sequence[Any]) -> bool:
    return any(tensor is other for other in tensors)


# Differentiable once


class Error(Node):
    """Stands where a gradient has no derivative of its own, and says so."""

    __slots__ = ("message",)
    message: str

    def name(self) -> str:
        return "torch::autograd::Error"

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        raise RuntimeError(self.message)


class DelayedError(Node):
    """``DelayedError(message, n)(*tensors)``: the n tensors, with a history that no gradient passes.

    It is the error that is raised where one arrives.
    """

    __slots__ = ("_count", "_message")

    def __init__(self, message: str | bytes, num_inputs: int) -> None:
        self._message = message if isinstance(message, str) else message.decode()
        self._count = num_inputs

    def __call__(self, *tensors: Tensor | None) -> Any:
        """The tensors outside of their history; None stays None."""
        node = Error()
        node.message = self._message
        edges = [NO_EDGE if t is None else edge_of(t) for t in tensors]
        node.attach(edges, [EMPTY_SPEC if t is None else output_spec(t) for t in tensors])
        results = [None if t is None else t.detach() for t in tensors]
        for nr, result in enumerate(results):
            if result is not None and any(edge[0] is not None for edge in edges):
                make_output(result, node, nr, False)
        return results[0] if self._count == 1 else tuple(results)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` that cannot itself be differentiated: doing so is an error instead of a wrong result."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args)
        if not is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        as_tuple = outputs if isinstance(outputs, tuple) else (outputs,)
        refuse = DelayedError(_TWICE, len(as_tuple))
        return refuse(*(None if t is None else t.detach()._set_requires_grad() for t in as_tuple))

    return wrapper


_TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


# Older spellings


class InplaceFunction(Function):
    """A function that may work in place; the flag is for its subclasses to look at."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Functions of nested arguments, which PyTorch keeps for its own old code only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "NestedIOFunction is not supported: flatten the arguments and use torch.autograd.Function"
        )
