"""`Module`, the base class of every layer and model."""

import importlib
import sys
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from mt_core import Tensor
from mt_core.hooks import RemovableHandle as RemovableHandle
from mt_core.plugins.remedies import from_a_clone

from .._type_names import type_name
from ..parameter import Buffer, Parameter
from . import _hooks
from ._conversion import ModuleConversion
from ._hooks import (
    ModuleHooks,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._hooks import _global_forward_hooks_always_called as _global_forward_hooks_always_called
from ._hooks import _global_forward_hooks_with_kwargs as _global_forward_hooks_with_kwargs
from ._state_dict import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from ._state_dict import ModuleState
from ._state_dict import _IncompatibleKeys as _IncompatibleKeys
from ._state_dict import _WrappedHook as _WrappedHook
from ._traversal import ModuleTraversal

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

#: Tables added to the contract after the first pickles of modules were made.
_LATER_HOOK_TABLES = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
    "_backward_pre_hooks",
)


def _forward_unimplemented(self: "Module", *input: Any) -> None:
    """Compute the module's output; every subclass defines it. Call the module, not `forward`, so that hooks run."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(ModuleHooks, ModuleState, ModuleTraversal, ModuleConversion):
    """Base class of layers and models.

    A subclass calls ``super().__init__()`` first, assigns its parameters (`Parameter`), buffers and submodules as
    attributes, and defines `forward`. The module then knows all of them by name: it lists, saves, loads, moves and
    casts them, and finds those of its submodules, their submodules and so on.

    Attributes
    ----------
    training : bool
        Whether the module is in training mode.
    """

    #: For annotations of what has the type of a given state dictionary.
    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    dump_patches: bool = False
    #: Stored beside the state of a module; `_load_from_state_dict` can tell old formats by it.
    _version: int = 1
    #: Whether `__init__` passes its arguments on to the next class of the method resolution order.
    call_super_init: bool = False
    _compiled_call_impl: Callable[..., Any] | None = None

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: "dict[str, Module | None]"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            _check_no_arguments(type(self), args, kwargs)
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    # Calling

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        # The test of `_call_impl` is repeated here: a call of a module is frequent enough to save one Python frame.
        if (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
            or self._compiled_call_impl is not None
        ):
            return (self._compiled_call_impl or self._call_impl)(*args, **kwargs)
        return self.forward(*args, **kwargs)

    __call__: Callable[..., Any] = _wrapped_call_impl

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Let calls of this module go through ``torch.compile``, with its arguments."""
        try:
            namespace = importlib.import_module("mindtorch")  # upward: compiling belongs to the whole namespace
        except ImportError as error:
            raise RuntimeError(f"Module.compile needs the package mindtorch: {from_a_clone('mindtorch')}") from error
        self._compiled_call_impl = namespace.compile(self._call_impl, *args, **kwargs)

    # Registration

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is state but no parameter, such as a running mean.

        Parameters
        ----------
        name
            The attribute under which it is found.
        tensor
            The buffer; `None` keeps the place.
        persistent
            Whether it belongs to `state_dict`.

        Raises
        ------
        TypeError
            The name is no string, or the value no tensor.
        KeyError
            The name is empty, contains a dot, or is taken.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"buffer name should be a string. Got {type_name(name)}")
        if "." in name:
            raise KeyError('buffer name can\'t contain "."')
        if name == "":
            raise KeyError('buffer name can\'t be empty string ""')
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _passed_through(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter.

        Parameters
        ----------
        name
            The attribute under which it is found.
        param
            The parameter; `None` keeps the place.

        Raises
        ------
        TypeError
            The name is no string, or the value no `Parameter`.
        KeyError
            The name is empty, contains a dot, or is taken.
        ValueError
            The parameter was computed from other tensors.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"parameter name should be a string. Got {type_name(name)}")
        if "." in name:
            raise KeyError('parameter name can\'t contain "."')
        if name == "":
            raise KeyError('parameter name can\'t be empty string ""')
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            _check_parameter(name, param)
            param = _passed_through(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: "Module | None") -> None:
        """Add a submodule.

        Parameters
        ----------
        name
            The attribute under which it is found.
        module
            The submodule; `None` keeps the place.

        Raises
        ------
        TypeError
            The name is no string, or the value no module.
        KeyError
            The name is empty, contains a dot, or is taken.
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {type_name(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _passed_through(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: "Module | None") -> None:
        """Alias of `add_module`."""
        self.add_module(name, module)

    # Attributes

    def __getattr__(self, name: str) -> Any:
        # Called for every access to a parameter, buffer or submodule, as these are not in __dict__ itself.
        contents = self.__dict__
        if "_modules" in contents:  # otherwise Module.__init__ has not run
            if name in (parameters := contents["_parameters"]):
                return parameters[name]
            if name in (modules := contents["_modules"]):
                return modules[name]
            if name in (buffers := contents["_buffers"]):
                return buffers[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        contents = self.__dict__
        if isinstance(value, Parameter):
            _require_init(contents, "_parameters", "parameters")
            _forget(contents, name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            _require_init(contents, "_modules", "module")
            _forget(contents, name, "_parameters", "_buffers")
            contents["_modules"][name] = _passed_through(_global_module_registration_hooks, self, name, value)
        elif (parameters := contents.get("_parameters")) and name in parameters:
            _check_replacement(value, "parameter", name, "torch.nn.Parameter or None")
            self.register_parameter(name, value)
        elif (modules := contents.get("_modules")) and name in modules:
            _check_replacement(value, "child module", name, "torch.nn.Module or None")
            modules[name] = _passed_through(_global_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer) or ((buffers := contents.get("_buffers")) and name in buffers):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        contents = self.__dict__
        _require_init(contents, "_buffers", "buffer")
        if value is not None and not isinstance(value, Tensor):
            _check_replacement(value, "buffer", name, "torch.nn.Buffer, torch.Tensor or None")
        buffers = contents["_buffers"]
        if isinstance(value, Buffer):
            _forget(contents, name, "_parameters", "_modules")
            self.register_buffer(name, value, value.persistent)  # type: ignore[attr-defined]
        else:
            buffers[name] = _passed_through(_global_buffer_registration_hooks, self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # Copying

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _LATER_HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def _replicate_for_data_parallel(self) -> "Module":
        """A copy that shares parameters and buffers but has tables of its own."""
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica

    # Representation

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses of the module's `repr`; subclasses override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra})"
        lines = "".join(f"\n  {line}" for line in extra_lines + child_lines)
        return f"{self._get_name()}({lines}\n)" if lines else f"{self._get_name()}()"


def _check_no_arguments(cls: type, args: tuple, kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise TypeError(f"{cls.__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if args:
        raise TypeError(f"{cls.__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")


def _passed_through(hooks: OrderedDict[int, Callable], module: "Module", name: str, value: Any) -> Any:
    """A value as the registration hooks leave it."""
    for hook in hooks.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def _check_parameter(name: str, param: Any) -> None:
    if not isinstance(param, Parameter):
        raise TypeError(
            f"cannot assign '{type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
        )
    if param.grad_fn is not None:
        raise ValueError(
            f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
            f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
        )


def _check_replacement(value: Any, kind: str, name: str, expected: str) -> None:
    if value is not None:
        raise TypeError(f"cannot assign '{type_name(value)}' as {kind} '{name}' ({expected} expected)")


def _require_init(contents: dict[str, Any], table: str, what: str) -> None:
    if table not in contents:
        raise AttributeError(f"cannot assign {what} before Module.__init__() call")


def _forget(contents: dict[str, Any], name: str, *tables: str) -> None:
    """Make room for a registration: drop an ordinary attribute and entries of other tables with that name."""
    contents.pop(name, None)
    for table in tables:
        contents[table].pop(name, None)
    contents["_non_persistent_buffers_set"].discard(name)


def _indented(text: str) -> str:
    """Text whose lines after the first are set in by two spaces."""
    return text.replace("\n", "\n  ")


class _SharesGlobalHooks(ModuleType):
    """This file, in which programs replace the tables of global hooks: where hooks are registered and run, too."""

    @property
    def _global_is_full_backward_hook(self) -> bool | None:
        return _hooks._global_is_full_backward_hook

    @_global_is_full_backward_hook.setter
    def _global_is_full_backward_hook(self, value: bool | None) -> None:
        _hooks._global_is_full_backward_hook = value

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name.startswith("_global_"):
            setattr(_hooks, name, value)


sys.modules[__name__].__class__ = _SharesGlobalHooks
