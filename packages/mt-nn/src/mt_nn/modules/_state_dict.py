"""Saving the state of a module tree to a dict and loading it back."""

from __future__ import annotations

import functools
import itertools
import warnings
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.hooks import RemovableHandle
from mt_core.swapping import swap_tensors

from .. import _conversion_settings as settings
from ..parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` could not match."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _WrappedHook:
    """A hook that may be given a module first, held weakly so that a module does not keep itself alive."""

    def __init__(self, hook: Callable, module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def _should_never_be_called(method: str) -> RuntimeError:
    return RuntimeError(
        f"Reached a code path in Module.{method}() that should never be called. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
    )


class ModuleState:
    """The part of `Module` that saves and loads its parameters, persistent buffers and extra state."""

    def get_extra_state(self) -> Any:
        """Further state to keep in `state_dict`, to be defined with `set_extra_state` by a subclass."""
        raise _should_never_be_called("get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave, during `load_state_dict`."""
        raise _should_never_be_called("set_extra_state")

    def _overrides(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(ModuleState, method)

    # Saving

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Run ``hook(module, prefix, keep_vars)`` before the state of this module is saved."""
        return _filed(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Run ``hook(module, state_dict, prefix, local_metadata)`` after saving. It may change `state_dict`."""
        hook._from_public_api = True
        return _filed(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but the hook may also return a dict to use instead."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return _filed(self._state_dict_hooks, hook)

    def state_dict(
        self,
        *args: Any,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """A dict of the parameters and persistent buffers of this module and all below it.

        Parameters
        ----------
        destination
            A dict to fill instead of a new `OrderedDict`.
        prefix
            Put in front of every key.
        keep_vars
            Whether to keep the tensors themselves rather than detached ones that share their memory.

        Returns
        -------
        dict
            Dotted name to tensor; its attribute `_metadata` holds the version of each module.
        """
        if args:
            destination, prefix, keep_vars = _from_positional(args, destination, prefix, keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return self._run_state_dict_hooks(destination, prefix, local_metadata)

    def _run_state_dict_hooks(self, destination: Any, prefix: str, local_metadata: dict[str, Any]) -> Any:
        for hook in self._state_dict_hooks.values():
            returned = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if returned is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif returned is not None:
                destination = returned
        return destination

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Save this module's own state, not that of its children. Subclasses override this to store more."""
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if self._overrides("get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    # Loading

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Run a hook before this module's own state is loaded.

        It is called as ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`` and may change what it is given.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        return _filed(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Run ``hook(module, incompatible_keys)`` after loading; it may change the lists of keys in place."""
        return _filed(self._load_state_dict_post_hooks, hook)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy parameters and buffers from a dict into this module and all below it.

        Parameters
        ----------
        state_dict
            Dotted name to tensor.
        strict
            Whether the keys must be exactly those of this module's `state_dict`.
        assign
            Whether to take the dict's tensors themselves, keeping their dtype, device and memory.

        Returns
        -------
        A named tuple of `missing_keys` and `unexpected_keys`.

        Raises
        ------
        TypeError
            `state_dict` is no mapping.
        RuntimeError
            Naming every missing or unexpected key (if strict) and every tensor of a wrong shape.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        own = OrderedDict(state_dict)
        if metadata is not None:
            own._metadata = metadata
        loading = _Loading(strict, assign, metadata)
        loading.load(self, own, "")
        loading.raise_if_failed(self)
        return _IncompatibleKeys(loading.missing_keys, loading.unexpected_keys)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state, not that of its children. Subclasses override this to convert old formats.

        Parameters
        ----------
        state_dict
            All the state, of which the keys starting with `prefix` belong to this module and below.
        prefix
            What this module's keys start with.
        local_metadata
            This module's metadata; its entry `assign_to_params_buffers` asks to assign, not to copy.
        strict
            Whether to list missing and unexpected keys.
        missing_keys
            To be extended.
        unexpected_keys
            To be extended.
        error_msgs
            To be extended by every failure.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        persistent = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        for name, param in itertools.chain(self._parameters.items(), persistent.items()):
            if param is None:
                continue
            key = prefix + name
            if key in state_dict:
                self._load_tensor(name, key, param, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            self._list_unexpected_keys(state_dict, prefix, unexpected_keys)

    def _load_tensor(
        self, name: str, key: str, param: Tensor, loaded: Any, assign: bool, error_msgs: list[str]
    ) -> None:
        """Copy (or assign) one tensor, or say in `error_msgs` why not."""
        if not _is_tensor_like(loaded):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(loaded)}"
            )
            return
        lazy = is_lazy(param)
        if not lazy and param.dim() == 0 and loaded.dim() == 1 and len(loaded) == 1:
            loaded = loaded[0]  # files of PyTorch before 0.4 hold scalars as 1-element tensors
        if not lazy and loaded.shape != param.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, the shape in "
                f"current model is {param.shape}."
            )
            return
        if param.is_meta and not loaded.is_meta and not assign:
            _warn_of_copy_to_meta(key)
        try:
            with mt.no_grad():
                self._take_over(name, key, param, loaded, assign)
        except Exception as error:  # noqa: BLE001 - all failures of a load are reported together
            error_msgs.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are {param.size()} and '
                f"whose dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}."
            )

    def _take_over(self, name: str, key: str, param: Tensor, loaded: Tensor, assign: bool) -> None:
        if settings.get_swap_module_params_on_conversion():
            _swap_with_loaded(param, loaded, assign)
        elif assign:
            self._assign_tensor(name, key, param, loaded)
        else:
            param.copy_(loaded)

    def _assign_tensor(self, name: str, key: str, param: Tensor, loaded: Tensor) -> None:
        if isinstance(param, Parameter):
            if not isinstance(loaded, Parameter):
                loaded = Parameter(loaded, requires_grad=param.requires_grad)
            else:
                loaded.requires_grad_(param.requires_grad)
        setattr(self, name, loaded)

    def _load_extra_state(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
    ) -> None:
        key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if self._overrides("set_extra_state"):
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _list_unexpected_keys(self, state_dict: Mapping[str, Any], prefix: str, unexpected_keys: list[str]) -> None:
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + _EXTRA_STATE_KEY_SUFFIX:
                continue
            first, *rest = key[len(prefix) :].split(".", 1)
            known = first in self._modules if rest else self._has_tensor(first)
            if not known:
                unexpected_keys.append(key)

    def _has_tensor(self, name: str) -> bool:
        """Whether `name` is a parameter or a persistent buffer that holds a tensor."""
        if self._parameters.get(name) is not None:
            return True
        return self._buffers.get(name) is not None and name not in self._non_persistent_buffers_set


def _filed(hooks: OrderedDict, hook: Callable) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def _from_positional(args: tuple, destination: Any, prefix: str, keep_vars: bool) -> tuple[Any, str, bool]:
    """The arguments of `state_dict` when given by position, as long ago."""
    warnings.warn(
        "Positional args are being deprecated, use kwargs instead. Refer to "
        "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
        FutureWarning,
        stacklevel=3,
    )
    given = list(args) + [None, "", False][len(args) :]
    return (
        given[0] if destination is None else destination,
        given[1] if prefix == "" else prefix,
        given[2] if keep_vars is False else keep_vars,
    )


def _swap_with_loaded(param: Tensor, loaded: Any, assign: bool) -> None:
    """Exchange a parameter or buffer with what its ``module_load`` makes of the loaded tensor."""
    new: Any = param.module_load(loaded, assign=assign)
    if new is loaded or new is param:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in "
            "module_load"
        )
    if isinstance(param, Parameter):
        new = new.requires_grad_(param.requires_grad) if isinstance(new, Parameter) else _parameter_like(new, param)
    swap_tensors(param, new)


def _parameter_like(value: Tensor, param: Parameter) -> Parameter:
    return Parameter(value, requires_grad=param.requires_grad)


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def _warn_of_copy_to_meta(key: str) -> None:
    warnings.warn(
        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
        "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
        "corresponding key in the module instead of copying them in place?)",
        stacklevel=6,
    )


class _Loading:
    """One run of `load_state_dict` over a module tree, gathering what goes wrong."""

    def __init__(self, strict: bool, assign: bool, metadata: Mapping[str, Any] | None) -> None:
        self.strict = strict
        self.assign = assign
        self.metadata = metadata
        self.missing_keys: list[str] = []
        self.unexpected_keys: list[str] = []
        self.error_msgs: list[str] = []

    def load(self, module: Any, state_dict: Mapping[str, Any], prefix: str) -> None:
        """Load a module, then its children from the part of the state that is theirs, then run its post hooks."""
        local_metadata = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local_metadata["assign_to_params_buffers"] = True
        module._load_from_state_dict(
            state_dict, prefix, local_metadata, True, self.missing_keys, self.unexpected_keys, self.error_msgs
        )
        for name, child in module._modules.items():
            if child is not None:
                child_prefix = f"{prefix}{name}."
                self.load(child, {k: v for k, v in state_dict.items() if k.startswith(child_prefix)}, child_prefix)
        self._run_post_hooks(module)

    def _run_post_hooks(self, module: Any) -> None:
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, _IncompatibleKeys(self.missing_keys, self.unexpected_keys)) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def raise_if_failed(self, module: Any) -> None:
        messages = self.error_msgs
        if self.strict:
            if self.unexpected_keys:
                messages.insert(0, f"Unexpected key(s) in state_dict: {_quoted(self.unexpected_keys)}. ")
            if self.missing_keys:
                messages.insert(0, f"Missing key(s) in state_dict: {_quoted(self.missing_keys)}. ")
        if messages:
            listed = "\n\t".join(messages)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{listed}")


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
