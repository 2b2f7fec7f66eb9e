"""``torch._subclasses.fake_tensor``: programs run on shapes, dtypes and devices, without elements."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from mt_core import Tensor
from mt_core.python_dispatch import mode_of_kind, pop_mode_of_kind, push_dispatch_mode
from mt_library.ops import OpOverload, ops
from mt_library.registrations import known_names

from ..overrides import TorchFunctionMode
from ..utils._python_dispatch import TorchDispatchMode, _TorchDispatchModeKey
from . import _cache
from ._cache import DispatchCacheInfo, TensorMetadata, extract_tensor_metadata
from ._calls import carry_out
from ._devices import SETTINGS
from ._errors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorDeviceMismatchError,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from ._fake import FakeTensor
from .meta_utils import FakeTensorConverter, SymbolicLayouts

__all__ = [
    "DataDependentOutputException", "DispatchCacheInfo", "DynamicOutputShapeException", "FakeCopyMode", "FakeTensor",
    "FakeTensorConverter", "FakeTensorDeviceMismatchError", "FakeTensorMode", "MetadataMismatchError",
    "TensorMetadata", "UnsupportedFakeTensorException", "UnsupportedOperatorException", "extract_tensor_metadata",
    "get_plain_tensors", "is_fake", "maybe_get_fake_mode", "unset_fake_temporarily",
]  # fmt: skip

for _class in (
    DataDependentOutputException, DispatchCacheInfo, DynamicOutputShapeException, FakeTensor,
    FakeTensorDeviceMismatchError, MetadataMismatchError, TensorMetadata, UnsupportedFakeTensorException,
    UnsupportedOperatorException,
):  # fmt: skip
    _class.__module__ = __name__


class FakeTensorMode(TorchDispatchMode):
    """Operators give fake tensors: what is made inside has a shape and no elements, on devices that need not be there.

    Parameters
    ----------
    allow_non_fake_inputs
        Real tensors among the arguments are converted, and not refused.
    allow_fallback_kernels
        Kept for who reads it: no operator is run on real tensors to see what it gives, whatever it says. Those of
        libraries that have no fake implementation are refused.
    shape_env
        A `torch.fx.experimental.symbolic_shapes.ShapeEnv`: the sizes of fake tensors of real ones are its symbols.
    static_shapes
        They are numbers all the same; the default without a `shape_env`.
    """

    _mode_key = _TorchDispatchModeKey.FAKE

    def __init__(
        self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: Any = None,
        static_shapes: bool | None = None, export: bool = False,
    ) -> None:  # fmt: skip
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.shape_env = shape_env
        self.export = export
        #: Whether results of calls that were described before are taken from `cache_info`'s cache.
        self.cache_enabled = True
        #: While it is set, fake tensors of this mode say that they are on the meta device.
        self.in_kernel_invocation = False
        #: Whether its fake tensors have a `real_tensor`, which every operator is carried out on besides.
        self.propagate_real_tensors = SETTINGS.propagates_real
        self.fake_tensor_converter = FakeTensorConverter(copy_data=self.propagate_real_tensors, export=export)
        self.enter_stack: list[tuple[bool, Any]] = []

    @classmethod
    def is_infra_mode(cls) -> bool:
        """One of PyTorch's own, which stand below all others."""
        return True

    @classmethod
    def cache_info(cls) -> DispatchCacheInfo:
        """How often what an operator gives was known already, by all modes."""
        return _cache.info()

    @classmethod
    def cache_clear(cls) -> None:
        """Forget what operators gave, and count anew."""
        _cache.reset()

    def is_our_fake(self, t: object) -> bool:
        """Whether an object is a fake tensor of this mode."""
        return isinstance(t, FakeTensor) and t.fake_mode is self

    def from_tensor(
        self, tensor: Tensor, *, static_shapes: bool | None = None, source: Any = None, symbolic_context: Any = None,
        trace: bool = True,
    ) -> Any:  # fmt: skip
        """The fake tensor of a real one, the same each time as long as it is in use.

        Views become views of the fake tensor of their base, and parameters count as such; ``grad`` comes along.

        Parameters
        ----------
        static_shapes
            Its sizes are numbers, whatever the mode says.
        source
            Where the tensor can be read, which names its symbols (`torch._dynamo.source`).
        symbolic_context
            Which of its sizes are symbols; those that are not 0 or 1, unless it says otherwise.

        Raises
        ------
        AssertionError
            For a symbolic context where sizes are numbers.
        """
        static = self.static_shapes if static_shapes is None else static_shapes
        if static and symbolic_context is not None:
            raise AssertionError("cannot set both static_shapes and symbolic_context")
        if static or self.shape_env is None:
            return self.fake_tensor_converter.from_real_tensor(self, tensor)
        layout = SymbolicLayouts(self.shape_env, source, symbolic_context)
        return self.fake_tensor_converter.from_real_tensor(self, tensor, layouts=layout)

    def replace_loaded(self, tensor: Tensor) -> Any:
        """The fake tensor in place of one from a file."""
        return self.from_tensor(tensor)

    def __enter__(self) -> FakeTensorMode:
        replaced = mode_of_kind(self._mode_key)
        self.enter_stack.append((replaced is not self, replaced))
        if replaced is not self:
            if replaced is not None:
                pop_mode_of_kind(self._mode_key)
            push_dispatch_mode(self)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        entered, replaced = self.enter_stack.pop()
        if entered:
            pop_mode_of_kind(self._mode_key)
            if replaced is not None:
                push_dispatch_mode(replaced)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return carry_out(self, func, args, kwargs or {})


class FakeCopyMode(TorchFunctionMode):
    """Inside of it, ``copy.deepcopy`` of modules and tensors gives fake copies."""

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True), **kwargs)
        if func is Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
            return memo[id(tensor)]
        return func(*args, **kwargs)


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """Inside of it, the mode of fake tensors of this thread, which it gives, is off."""
    mode = mode_of_kind(_TorchDispatchModeKey.FAKE)
    if mode is not None:
        pop_mode_of_kind(_TorchDispatchModeKey.FAKE)
    try:
        yield mode
    finally:
        if mode is not None:
            push_dispatch_mode(mode)


def _is_tensor_constructor(func: OpOverload) -> bool:
    """Whether an operator makes one tensor out of none."""
    arguments, returns = func._schema.parsed.arguments, func._schema.parsed.returns
    makes_one = len(returns) == 1 and returns[0].type == "Tensor" and not returns[0].is_list
    return makes_one and not any(argument.type == "Tensor" for argument in arguments)


def _constructors_like() -> frozenset[OpOverload]:
    """The operators that make a tensor of the shape of another."""
    names = {name.removeprefix("aten::").partition(".")[0] for name in known_names() if name.startswith("aten::")}
    packets = [getattr(ops.aten, name) for name in names if name.endswith("_like")]
    return frozenset(getattr(packet, overload) for packet in packets for overload in packet.overloads())


def __getattr__(name: str) -> Any:
    if name == "_like_tensor_constructors":
        globals()[name] = _constructors_like()
        return globals()[name]
    raise AttributeError(f"module 'torch._subclasses.fake_tensor' has no attribute '{name}'")


def is_fake(x: object) -> bool:
    """Whether an object is a fake tensor, or a tensor made of fake ones."""
    return isinstance(x, Tensor) and maybe_get_fake_mode(x) is not None


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """The mode of a fake tensor, or of the fake tensors that a tensor is made of; None of any other object."""
    if isinstance(t, FakeTensor):
        return t.fake_mode  # type: ignore[no-any-return]
    if not hasattr(t, "__tensor_flatten__"):
        return None
    names, _ = t.__tensor_flatten__()
    modes = [maybe_get_fake_mode(getattr(t, name)) for name in names]
    return modes[0] if modes and all(mode is modes[0] for mode in modes) else None


def get_plain_tensors(subclass: Tensor, *, out: list[Any]) -> list[Any]:
    """The tensors that a tensor is made of at the bottom, appended to `out`."""
    if not hasattr(subclass, "__tensor_flatten__"):
        out.append(subclass)
        return out
    for name in subclass.__tensor_flatten__()[0]:
        get_plain_tensors(getattr(subclass, name), out=out)
    return out
