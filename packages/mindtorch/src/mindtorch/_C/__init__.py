"""``torch._C``: of what PyTorch keeps in C++, the part that decides who may override functions."""

from __future__ import annotations

import os
import sys
from typing import Any
from weakref import ref

import mindtorch._C._functions as _functions  # noqa: F401 - an attribute of this module
import mindtorch._C._profiler as _profiler  # noqa: F401 - an attribute of this module
from mt_core.api import _functions as _VariableFunctionsClass  # noqa: F401 - pickles reach operators by it
from mt_core.autograd_state import is_grad_enabled as is_grad_enabled
from mt_core.autograd_state import set_grad_enabled as _switch_grad
from mt_core.block import block_of
from mt_core.determinism import DETERMINISM
from mt_core.devices import device as device
from mt_core.dispatch.view_steps import tracking
from mt_core.dtypes import dtype as dtype
from mt_core.errors import LinAlgError as _LinAlgError
from mt_core.formats import layout as layout
from mt_core.formats import memory_format as memory_format
from mt_core.overrides import pop_mode, push_mode
from mt_core.overriding import DisableTorchFunction as DisableTorchFunction
from mt_core.overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from mt_core.overriding import EnableTorchFunction as _EnableTorchFunction
from mt_core.overriding import disabled_torch_dispatch as _disabled_torch_dispatch_impl
from mt_core.overriding import disabled_torch_function as _disabled_torch_function_impl
from mt_core.overriding import must_ask, off
from mt_core.plugins.runtime_access import RENAMED, accelerator_type
from mt_core.python_dispatch import pop_dispatch_mode as _pop_torch_dispatch_stack
from mt_core.python_dispatch import push_dispatch_mode as _push_on_torch_dispatch_stack
from mt_core.random.generator import Generator as Generator
from mt_core.size import Size as Size
from mt_core.state import settle, tls
from mt_core.storage import StorageBase as StorageBase
from mt_core.tensor import Tensor as TensorBase
from mt_library.ops import python_kernels

from .._compiler_types import Block as Block
from .._compiler_types import Graph as Graph
from .._compiler_types import Node as Node
from .._compiler_types import PyTorchFileWriter as PyTorchFileWriter
from .._compiler_types import Use as Use
from .._compiler_types import Value as Value
from .._unsupported import unsupported_class
from . import _autograd as _autograd
from . import _fft as _fft
from . import _functorch as _functorch
from . import _linalg as _linalg
from . import _nn as _nn
from . import _special as _special
from ._conv_backends import _ConvBackend as _ConvBackend
from ._conv_backends import _select_conv_backend as _select_conv_backend
from ._dispatch_keys import DispatchKey as DispatchKey
from ._dispatch_keys import DispatchKeySet as DispatchKeySet
from ._dispatch_keys import ExcludeDispatchKeyGuard as ExcludeDispatchKeyGuard
from ._dispatch_keys import _after_ADInplaceOrView_keyset as _after_ADInplaceOrView_keyset
from ._dispatch_keys import _after_autograd_keyset as _after_autograd_keyset
from ._dispatch_keys import _AutoDispatchBelowADInplaceOrView as _AutoDispatchBelowADInplaceOrView
from ._dispatch_keys import _AutoDispatchBelowAutograd as _AutoDispatchBelowAutograd
from ._dispatch_keys import _DisableTorchDispatch as _DisableTorchDispatch
from ._dispatch_keys import _dispatch_get_backend_keyset_from_autograd as _dispatch_get_backend_keyset_from_autograd
from ._dispatch_keys import _dispatch_key_for_device as _dispatch_key_for_device
from ._dispatch_keys import _dispatch_key_name as _dispatch_key_name
from ._dispatch_keys import _dispatch_key_parse as _dispatch_key_parse
from ._dispatch_keys import _dispatch_key_set as _dispatch_key_set
from ._dispatch_keys import _dispatch_keys as _dispatch_keys
from ._dispatch_keys import _dispatch_keyset_full as _dispatch_keyset_full
from ._dispatch_keys import _dispatch_keyset_full_after as _dispatch_keyset_full_after
from ._dispatch_keys import _dispatch_keyset_to_string as _dispatch_keyset_to_string
from ._dispatch_keys import _dispatch_tls_is_dispatch_key_excluded as _dispatch_tls_is_dispatch_key_excluded
from ._dispatch_keys import _dispatch_tls_is_dispatch_key_included as _dispatch_tls_is_dispatch_key_included
from ._dispatch_keys import _dispatch_tls_local_exclude_set as _dispatch_tls_local_exclude_set
from ._dispatch_keys import _dispatch_tls_local_include_set as _dispatch_tls_local_include_set
from ._dispatch_keys import _dispatch_tls_set_dispatch_key_excluded as _dispatch_tls_set_dispatch_key_excluded
from ._dispatch_keys import _dispatch_tls_set_dispatch_key_included as _dispatch_tls_set_dispatch_key_included
from ._dispatch_keys import _ExcludeDispatchKeyGuard as _ExcludeDispatchKeyGuard
from ._dispatch_keys import _ForceDispatchKeyGuard as _ForceDispatchKeyGuard
from ._dispatch_keys import _get_dispatch_mode as _get_dispatch_mode
from ._dispatch_keys import _get_dispatch_stack_at as _get_dispatch_stack_at
from ._dispatch_keys import _IncludeDispatchKeyGuard as _IncludeDispatchKeyGuard
from ._dispatch_keys import _len_torch_dispatch_stack as _len_torch_dispatch_stack
from ._dispatch_keys import _PreserveDispatchKeyGuard as _PreserveDispatchKeyGuard
from ._dispatch_keys import _SetExcludeDispatchKeyGuard as _SetExcludeDispatchKeyGuard
from ._dispatch_keys import _TorchDispatchModeKey as _TorchDispatchModeKey
from ._dispatch_questions import *  # noqa: F403 - every name of it
from ._dual_levels import _enter_dual_level as _enter_dual_level
from ._dual_levels import _exit_dual_level as _exit_dual_level
from ._dual_levels import _is_fwd_grad_enabled as _is_fwd_grad_enabled
from ._dual_levels import _set_fwd_grad_enabled as _set_fwd_grad_enabled
from ._jit import _get_tracing_state as _get_tracing_state
from ._jit import _jit_clear_class_registry as _jit_clear_class_registry
from ._jit import _jit_get_emit_hooks as _jit_get_emit_hooks
from ._jit import _jit_set_emit_hooks as _jit_set_emit_hooks
from ._schema_info import _SchemaArgType as _SchemaArgType
from ._schema_info import _SchemaArgument as _SchemaArgument
from ._schema_info import _SchemaInfo as _SchemaInfo
from ._schemas import *  # noqa: F403 - every name of it

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Generator",
    "StorageBase",
    "TensorBase",
    "_EnableTorchFunction",
    "_LinAlgError",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
    "_get_function_stack_at",
    "_has_torch_function",
    "_has_torch_function_unary",
    "_has_torch_function_variadic",
    "_is_torch_function_all_disabled",
    "_is_torch_function_enabled",
    "_is_torch_function_mode_enabled",
    "_len_torch_function_stack",
    "_pop_torch_dispatch_stack",
    "_pop_torch_function_stack",
    "_push_on_torch_dispatch_stack",
    "_push_on_torch_function_stack",
    "_set_grad_enabled",
]


_TensorBase = TensorBase


_READER = "Use torch.load, or zipfile: an archive is a zip file."
PyTorchFileReader = unsupported_class("torch._C.PyTorchFileReader", _READER)
ScriptModule = unsupported_class("torch._C.ScriptModule", "Use torch.jit.ScriptModule.")


def _is_alias_of(this: TensorBase, that: TensorBase) -> bool:
    """Whether two tensors lie on one storage."""
    return block_of(this) is block_of(that)


def _get_default_device() -> str:
    """The default device as text."""
    return str(tls.default_device or "cpu")


def _storage_id(tensor: Any) -> int:
    """A number that tensors have in common which lie on one storage."""
    return id(block_of(tensor))


def _set_grad_enabled(mode: bool) -> None:
    """Switch the recording of operations on or off in this thread."""
    _switch_grad(mode)


def _has_torch_function(args: Any) -> bool:
    """Whether a mode is on, or any of the values has a ``__torch_function__`` of its own."""
    return must_ask(args)


def _has_torch_function_unary(arg: Any) -> bool:
    """`_has_torch_function` of one value."""
    return must_ask((arg,))


def _has_torch_function_variadic(*args: Any) -> bool:
    """`_has_torch_function` of the arguments."""
    return must_ask(args)


def _is_torch_function_enabled() -> bool:
    """Whether subclasses may override functions in this thread."""
    return not (off.everything or off.subclasses)


def _is_torch_function_all_disabled() -> bool:
    """Whether neither subclasses nor modes may override functions in this thread."""
    return off.everything


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode is on in this thread."""
    return bool(tls.function_modes) and not off.everything


def _len_torch_function_stack() -> int:
    """How many modes are on in this thread."""
    return len(tls.function_modes)


def _get_function_stack_at(index: int) -> Any:
    """The mode at a place in the stack of this thread, the outermost at 0."""
    return tls.function_modes[index]


def _push_on_torch_function_stack(mode: Any) -> None:
    """Make a mode the innermost of this thread."""
    push_mode(mode)


def _pop_torch_function_stack() -> Any:
    """Take the innermost mode of this thread away, and return it."""
    return pop_mode()


class _WeakTensorRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: TensorBase) -> None:
        self._reference = ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


#: The class of ``torch.Tensor``.
_TensorMeta = type(TensorBase)
_used: set[str] = set()


def _log_api_usage_once(event: str) -> None:
    """Say, once for each event, that a part of the library is used: where ``PYTORCH_API_USAGE_STDERR`` is set."""
    if os.environ.get("PYTORCH_API_USAGE_STDERR") and event not in _used:
        _used.add(event)
        print(f"PYTORCH_API_USAGE {event}", file=sys.stderr)


class _EnablePythonDispatcher:
    """Has operators of ``torch.ops`` take the kernels of `OpOverload.py_impl`, from its making until it is deleted."""

    def __init__(self) -> None:
        python_kernels.depth += 1
        self._holds = True

    def __del__(self) -> None:
        if self._holds:
            self._holds = False
            python_kernels.depth -= 1


def _engine_view() -> Any:
    from mt_autograd import engine_view  # lazy: programs that only compute do not load the engine

    return engine_view


def _is_view_replay_enabled() -> bool:
    """``torch.autograd.is_view_replay_enabled``."""
    return tracking.is_on


def _set_view_replay_enabled(enabled: bool) -> None:
    """What ``torch.autograd._force_original_view_tracking`` does, without a context."""
    _view_tracking().set_view_replay_enabled(enabled)


def _view_tracking() -> Any:
    from mt_autograd import view_tracking  # lazy: programs that only compute do not load autograd

    return view_tracking


def _current_graph_task_id() -> int:
    """The number of the backward that this thread is in; -1 outside of one."""
    return _engine_view().current_graph_task_id()  # type: ignore[no-any-return]


def _current_graph_task_execution_order() -> list[Any]:
    """The nodes of the running backward in the order in which it runs them."""
    return _engine_view().current_graph_task_execution_order()  # type: ignore[no-any-return]


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward runs a node."""
    return _engine_view().will_engine_execute_node(node)  # type: ignore[no-any-return]


def _get_autograd_fallback_mode() -> str:
    """What is done with gradients that pass operators without a kernel for autograd: "warn" or "nothing"."""
    return _autograd_fallback().get_mode()  # type: ignore[no-any-return]


def _set_autograd_fallback_mode(mode: str) -> None:
    """Choose it. Raises RuntimeError for other words."""
    _autograd_fallback().set_mode(mode)


def _autograd_fallback() -> Any:
    from mt_library import autograd_fallback  # lazy: it loads the engine

    return autograd_fallback


def _get_deterministic_fill_uninitialized_memory() -> bool:
    """What ``torch.utils.deterministic.fill_uninitialized_memory`` is."""
    return DETERMINISM.fills_memory


def _set_deterministic_fill_uninitialized_memory(mode: bool) -> None:
    """Set ``torch.utils.deterministic.fill_uninitialized_memory``."""
    settle()
    DETERMINISM.fills_memory = mode


def _get_accelerator(check: bool | None = None) -> device:
    """The device of this machine that is not its CPU, without an index; the CPU where there is none.

    Raises
    ------
    RuntimeError
        Where there is none, and `check` is set.
    """
    kind = accelerator_type()
    if kind is None and check:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return device("cpu" if kind is None else kind)


def _get_privateuse1_backend_name() -> str:
    """The name of PyTorch's private device type: ``"privateuseone"`` until a program gives it another."""
    return RENAMED.get("privateuseone", "privateuseone")


class _VmapWarnings:
    """What `_debug_only_display_vmap_fallback_warnings` was told, in this process."""

    are_displayed = False


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Keep a setting of the ``vmap`` that preceded ``torch.func``; the one at hand warns whatever it is, as PyTorch's.

    ``torch._C._functorch._set_vmap_fallback_warning_enabled`` decides about that.
    """
    _VmapWarnings.are_displayed = enabled


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """What `_debug_only_display_vmap_fallback_warnings` was told last."""
    return _VmapWarnings.are_displayed
