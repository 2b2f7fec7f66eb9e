"""The contract between the core and what plugs into it: backends, layers, extensions.

A distribution takes part by an entry point:

``mindtorch.backends``
    name = device type (``cpu``, ``npu``, or a name of your own), value = an object that follows `Backend`.
``mindtorch.layers``
    name = dispatch layer (``autograd``), value = an object that follows `Layer`.
``mindtorch.extensions``
    any name, value = a callable without arguments that declares operators and registers their kernels.
``mindtorch.torch_names``
    name = what files call a module, class or function (``torch.nn``), value = where it is (``mt_nn``); nothing is
    loaded until a file names it. See `mt_core.torch_names`.

Nothing is loaded at ``import``: a backend is loaded when its device is first used, a layer when a call first needs it.
`mt_core.testing.null_backend` is a complete backend on one screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

__all__ = ["CONTRACT", "FALLTHROUGH", "AutogradLayer", "Backend", "BackendArray", "Layer"]


class Fallthrough:
    """What a layer gives in place of a callable where a call passes on to the key below, unchanged."""

    def __repr__(self) -> str:
        return "FALLTHROUGH"


FALLTHROUGH: Any = Fallthrough()

#: Version of this contract. A plugin states the one it was written for; another number is refused when it is loaded.
CONTRACT = 2


class BackendArray(Protocol):
    """What the core reads of a backend's array: a strided block of elements on the device."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def strides(self) -> tuple[int, ...]:
        """Distance between neighbours along each dimension, in bytes."""
        ...

    @property
    def dtype(self) -> Any:
        """A NumPy dtype: the storage type of the tensor's dtype."""
        ...

    @property
    def itemsize(self) -> int: ...

    @property
    def ndim(self) -> int: ...

    @property
    def size(self) -> int:
        """Number of elements."""
        ...


@runtime_checkable
class Backend(Protocol):
    """A device type: how its memory is had, copied and viewed, and where its kernels are.

    Every method takes and returns backend arrays. `dtype` arguments are `mt_core.dtypes.dtype`.

    Arrays may be mutable boxes around immutable buffers: elements change by `copy` and `fill` alone, and by kernels
    that say they write. Device indices belong to arrays; `empty` and `from_host` are told which is wanted, and a tensor
    on an index other than 0 is never mixed with another index.

    A backend may have these attributes as well. Of those that make it faster or tell what it is, the core does without:

    native : frozenset of dtype
        The dtypes that kernels compute in. Default: those of NumPy, without half types. Other half types reach kernels
        as float32 and results are rounded once.
    weak_numbers : bool
        Whether an array and a Python number compute in the array's dtype whatever the number; numbers are then handed
        to kernels as they are. Default: whether the NumPy at hand does.
    numpy_errors : bool
        Whether kernels may raise NumPy's floating-point warnings, which are to be switched off around them. Default:
        True.
    fills_by_copying : bool
        Whether elementwise kernels fill a given array by copying a fresh one into it: results are then the fresh ones.
        Such a backend has `is_contiguous`. Default: False.
    number : (value, dtype) -> operand
        A Python number among the operands of an elementwise kernel, in the dtype of the computation; a 0-dim CPU tensor
        after the first operand is handed over so too, and not transferred. Default: a NumPy scalar of that dtype.
    is_contiguous : (array) -> bool
        Whether an array lies row by row. Default: by shape and strides.
    view : (array, shape, strides, offset, dtype) -> array
        The view of an array's storage; strides and offset in elements of `dtype`, the offset from the start of the
        storage. Default: `as_strided` on the `owner`.
    fill : (array, number, dtype)
        Set every element. Default: `from_host` of the number, and `copy`.
    zeros : (shape, dtype) -> array
        A row-major array of zeros on device index 0, where its memory can be had so faster than `empty` and `fill` give
        it. Default: those.
    count_nonzero : (array) -> int
        How many elements are not zero. Default: counted on the host.
    memory_of : (array) -> object
        What owns an array's memory: the array itself, or what all arrays on that memory refer to. Gradients that are
        seen so to be the only ones on theirs are added to in place, and become ``.grad`` without a copy. Default: none
        are.

    executors : `mt_core.plugins.executors.Executors` or None
        Faster executors for the plainest form of calls. Default: none.
    fuse : (calls, inputs) -> function or None
        For chains of elementwise calls in a ``torch.pipeline()``: `calls` is a tuple of
        `mt_core.plugins.fusion.FusedCall`, `inputs` one of `FusedInput`. The function is given the arrays of the
        inputs, and which results are wanted (a tuple of positions in `calls`), and returns the arrays of these, in
        order, in the shape, strides and dtype of their call. None where it does not take the chain. Default: calls are
        carried out one by one.
    set_num_threads : (count) -> bool
        Let kernels use so many threads of the host; whether there are kernels that do. Default: there are none.

    What needs one of these and misses it raises an error that says so:

    runtime : `mt_core.plugins.runtime.DeviceRuntime` or None
        Current device, streams, events, memory statistics, generators, pinned memory, graphs.
    dlpack_type : int
        DLPack's number of the device type (``DLDeviceType``): 2 is CUDA, 12 is for devices that it does not name.
    to_dlpack : (array, dtype, max_version) -> capsule
        A capsule named ``dltensor``, or ``dltensor_versioned`` where `max_version` (a pair of int, or None) allows it,
        on an array's memory, which it keeps alive. It does not wait for the device: the core orders the streams.
    from_dlpack : (capsule, index) -> (array, dtype)
        The array on the memory of a capsule of that number and device index, and the dtype of its elements; the capsule
        is taken as DLPack says (renamed, and its deleter called when the array dies).
    """

    #: Version of the contract that the backend was written for (`CONTRACT`).
    contract: int
    #: The device type, as in ``torch.device("npu")``.
    device_type: str
    #: The class of its arrays; results of kernels that are of another class pass through `as_array`.
    array_type: type

    def device_count(self) -> int:
        """How many devices of this type can be used now; 0 with the reason told by `diagnose`."""
        ...

    def diagnose(self) -> list[tuple[str, str]]:
        """(what, state or remedy) lines for ``mindtorch doctor``."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None, index: int | None) -> Any:
        """Uninitialized array; `strides` in elements, None for row-major.

        `index` is the device index, None for the current device.
        """
        ...

    def as_array(self, value: Any) -> Any:
        """An array from what a kernel may return in its place (a scalar of the array library)."""
        ...

    def copy(self, target: Any, source: Any) -> None:
        """Write `source` (same device type, broadcastable to `target`) into `target`, converting as PyTorch converts.

        The two may lie on different devices of the type; the core lets the current streams of the two wait for each
        other, where there is a runtime.
        """
        ...

    def cast(self, array: Any, dtype: Any) -> Any:
        """The array in another dtype; itself where it already has it."""
        ...

    def contiguous(self, array: Any) -> Any:
        """The array in row-major layout; itself where it already is."""
        ...

    def owner(self, array: Any) -> Any:
        """A flat byte array over the memory from an array's lowest to its highest element."""
        ...

    def offset(self, owner: Any, array: Any) -> int:
        """Byte offset of an array's first element in the flat byte array it lies on."""
        ...

    def as_strided(self, owner: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any) -> Any:
        """An array on `owner`'s memory; strides and offset in bytes. Never copies."""
        ...

    def from_host(self, array: Any, dtype: Any, index: int | None) -> Any:
        """A device array with the elements of a row-major NumPy array; the memory may be shared on the CPU."""
        ...

    def to_host(self, array: Any) -> Any:
        """A NumPy array with the same elements; the memory may be shared on the CPU."""
        ...

    def address(self, array: Any) -> int:
        """Address of an array's first element, as ``Tensor.data_ptr()`` gives it."""
        ...

    def index_of(self, array: Any) -> int | None:
        """The device index of an array; None on backends with a single nameless device, such as the CPU."""
        ...

    def load(self, family: str) -> None:
        """Register the kernels of an operator family (`register_kernel`); it is called once for each."""
        ...


class Layer(Protocol):
    """A dispatch layer: wraps operators in something that happens before the kernel, such as recording for autograd.

    The dispatcher asks it once for each operator and call keys (the keys of the tensors and the thread's mode), and
    keeps the answer. `build` speaks for the operator itself. Where it has nothing of its own, the operator is taken
    apart if it is written in other operators and the backend has no kernel for the whole; each part then comes by
    again. What remains is `fallback`'s.
    """

    contract: int
    #: Name of the dispatch key in `mt_core.keys` that the layer serves: ``"AUTOGRAD"``.
    dispatch_key: str

    def build(
        self, overload: Any, call_keys: int, below: Callable[[], Callable[..., Any]]
    ) -> Callable[..., Any] | None:
        """The callable for one operator and call keys.

        Parameters
        ----------
        overload
            The `mt_core.dispatch.registry.Overload`.
        call_keys
            What was looked up, this layer's key included: `mt_core.state.effective_keys` gives its
            keys, `mt_core.state.mode_triple` the thread's mode.
        below
            Gives what handles the remaining keys, when it is called: a layer that never goes on needs nothing below.
            It takes all arguments of the schema positionally, as the result must.

        Returns
        -------
        callable, None or FALLTHROUGH
            None where the layer has nothing for this very operator; `FALLTHROUGH` where it passes unchanged.
        """
        ...

    def fallback(
        self,
        overload: Any,
        call_keys: int,
        below: Callable[[], Callable[..., Any]],
        composite: Callable[..., Any] | None,
    ) -> Callable[..., Any]:
        """The callable for an operator that `build` had nothing for, and that is not taken apart.

        `composite` carries it out by other operators, where it is written in others and the backend has a kernel for
        the whole; else it is None. `FALLTHROUGH` is an answer here too.
        """
        ...


class AutogradLayer(Layer, Protocol):
    """What the layer of the key ``AUTOGRAD`` has besides: the differentiation members of a tensor.

    The slots are the core's (`mt_core.autograd_state.AutogradState`), and so are grad mode, `detach` and the base of a
    view. A tensor requires grad exactly when it has the key; what a layer records, and how it runs backwards, is its
    own affair.
    """

    def backward(
        self, tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: Any = None,
    ) -> None:  # fmt: skip
        """``Tensor.backward``: add the gradients of tensors to ``.grad`` of leaves, or of `inputs`."""
        ...

    def register_hook(self, tensor: Any, hook: Callable[[Any], Any]) -> Any:
        """``Tensor.register_hook``: the handle of a hook that sees, and may replace, the tensor's gradient."""
        ...

    def register_post_accumulate_grad_hook(self, tensor: Any, hook: Callable[[Any], None]) -> Any:
        """``Tensor.register_post_accumulate_grad_hook``: the handle of a hook that runs when a leaf has a gradient."""
        ...

    def retain_grad(self, tensor: Any) -> None:
        """``Tensor.retain_grad``: fill ``.grad`` of a tensor that is no leaf."""
        ...

    def follow_base(self, base: Any) -> None:
        """A leaf has begun, or ceased, to require grad: its views follow."""
        ...

    def leave_layout(self, leaf: Any, keeps_place: bool) -> None:
        """A leaf that requires grad is about to get another shape, dtype or device, or (``set_``) other memory.

        Graphs that used it give it gradients of its present form; with `keeps_place`, ``autograd.grad`` finds it there.
        """
        ...

    def leave_identity(self, leaf: Any) -> None:
        """An object has become another tensor: gradients from graphs that used it are refused."""
        ...

    def grad_fn_of_view(self, view: Any) -> Any:
        """``Tensor.grad_fn`` of a view, up to date with what happened to its base."""
        ...

    def record_undifferentiable(self, name: str, tensor: Any, read: Any, change: Callable[[], Any]) -> Any:
        """Carry out `change`, which changes a tensor and has no derivative; returns what it returns.

        The tensor's history is from then on something that raises when a gradient arrives, naming the operator `name`.
        `read` is another tensor that it depends on, or None. It raises first for leaves that require grad.
        """
        ...
