"""``torch.optim.Optimizer``: parameter groups, state, hooks and checkpoints of every optimizer."""

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

import mt_core as mt
from mt_core.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

#: What an optimizer accepts: tensors, groups of tensors with their own options, or named tensors.
ParamsT: TypeAlias = Iterable[Any]
StateDict: TypeAlias = dict[str, Any]


class _RequiredParameter:
    """The default of an option that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()

_global_step_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_step_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

#: The registries of one optimizer. Pickles leave them out: hooks are often closures.
_HOOK_REGISTRIES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each ``step()`` of every optimizer."""
    return _register(_global_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each ``step()`` of every optimizer."""
    return _register(_global_step_post_hooks, hook)


class Optimizer:
    """Base class of optimizers.

    Parameters
    ----------
    params
        Leaf tensors; or dicts with a key ``params`` and options of that group; or ``(name, tensor)`` pairs.
    defaults
        Options of a group that does not give its own.

    Attributes
    ----------
    param_groups
        One dict per group: ``params``, ``param_names`` where named, and every option.
    state
        What the optimizer remembers of each parameter; empty until its first step.
    """

    OptimizerPreHook: TypeAlias = Callable[..., Any]
    OptimizerPostHook: TypeAlias = Callable[..., None]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._add_missing_hook_registries()
        self._patch_step_function()
        if isinstance(params, mt.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {params.type()}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    # Hooks ------------------------------------------------------------------------------------------------------------

    def _add_missing_hook_registries(self) -> None:
        for registry in _HOOK_REGISTRIES:
            if registry not in self.__dict__:
                setattr(self, registry, OrderedDict())

    def _patch_step_function(self) -> None:
        """Make the class's ``step`` call the hooks; once per class, whichever of its ancestors defines ``step``."""
        step = type(self).step
        if not getattr(step, "hooked", False):
            type(self).step = self.profile_hook_step(step)  # type: ignore[method-assign]

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a ``step`` so that the registered hooks run around it.

        A pre-hook may return ``(args, kwargs)`` to replace the arguments.
        """

        @functools.wraps(func)
        def step_with_hooks(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            for hook in chain(_global_step_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                args, kwargs = _replaced_arguments(func, hook(self, args, kwargs), args, kwargs)
            result = func(*args, **kwargs)
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_step_post_hooks.values()):
                hook(self, args, kwargs)
            return result

        step_with_hooks.hooked = True  # type: ignore[attr-defined]
        return step_with_hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before :meth:`state_dict` gathers anything."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on the result of :meth:`state_dict`; it may return another."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on what :meth:`load_state_dict` is given; it may return another."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after :meth:`load_state_dict`."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # Pickling and printing --------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._add_missing_hook_registries()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """The state and the groups, with parameters replaced by their positions.

        Returns
        -------
        dict
            ``state`` maps a position to what is remembered of that parameter (the tensors themselves, not copies);
            ``param_groups`` lists the options, with ``params`` as a list of positions.
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        state_dict = self._packed()
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            replacement = post_hook(self, state_dict)
            if replacement is not None:
                state_dict = replacement
        return state_dict

    def _packed(self) -> StateDict:
        positions: dict[int, int] = {}
        for parameter in _parameters(self.param_groups):
            positions.setdefault(id(parameter), len(positions))
        groups = [
            {**_without_params(group), "params": [positions[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {positions[id(k)] if isinstance(k, mt.Tensor) else k: v for k, v in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over a state from :meth:`state_dict`.

        Parameters are matched by their order. A floating-point parameter's state is cast to its dtype and device,
        except ``step``; names of parameters are not compared.

        Raises
        ------
        ValueError
            Where the number of groups, or the size of one, differs.
        """
        state_dict = state_dict.copy()  # a hook may change it; the caller's own stays as it was
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            replacement = pre_hook(self, state_dict)
            if replacement is not None:
                state_dict = replacement
        groups = deepcopy(state_dict["param_groups"])
        _check_same_sizes(self.param_groups, groups)
        state = self._unpacked_state(state_dict["state"], groups)
        groups = [_updated_group(old, new) for old, new in zip(self.param_groups, groups, strict=True)]
        self.__setstate__({"state": state, "param_groups": groups})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    def _unpacked_state(self, packed: dict[Any, Any], groups: list[dict[str, Any]]) -> defaultdict[Any, Any]:
        by_position = dict(zip(_parameters(groups), _parameters(self.param_groups), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in packed.items():
            if key in by_position:
                parameter = by_position[key]
                state[parameter] = _cast(parameter, value, key, groups)
            else:
                state[key] = value
        return state

    @staticmethod
    def _process_value_according_to_param_policy(
        param: mt.Tensor,
        value: mt.Tensor,
        param_id: Hashable,
        param_groups: list[dict[str, Any]],
        key: Hashable = None,
    ) -> mt.Tensor:
        """Cast a loaded tensor as its parameter demands; ``step`` keeps its dtype and, mostly, its device."""
        if key == "step":
            group = next((g for g in param_groups if param_id in g["params"]), {})
            if group.get("capturable") or group.get("fused"):
                return value.to(dtype=mt.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    # Use --------------------------------------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop every parameter's gradient, or fill it with zeros where ``set_to_none`` is False."""
        for parameter in _parameters(self.param_groups):
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if gradient.grad_fn is not None:
                gradient.detach_()
            else:
                gradient.requires_grad_(False)
            gradient.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once.

        ``closure`` recomputes the loss with gradients and returns it; its result is returned.
        """
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, for instance those of a layer that is unfrozen during training.

        Raises
        ------
        TypeError
            Where the group is no dict, its ``params`` are a set, or one of them is no tensor.
        ValueError
            Where a parameter is no leaf, stands in another group already, or lacks a required option or a name.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        param_group["params"] = _listed(param_group["params"])
        _split_names(param_group)
        self._check_parameters(param_group["params"])
        self._fill_in_defaults(param_group)
        self._check_not_in_groups(param_group)
        self.param_groups.append(param_group)

    def _check_parameters(self, parameters: list[Any]) -> None:
        for parameter in parameters:
            if not isinstance(parameter, mt.Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(parameter)}")
            if not self.defaults.get("differentiable", None) and not (parameter.is_leaf or parameter.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")

    def _fill_in_defaults(self, group: dict[str, Any]) -> None:
        for option, default in self.defaults.items():
            if default is required and option not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {option}")
            group.setdefault(option, default)

    def _check_not_in_groups(self, group: dict[str, Any]) -> None:
        parameters = group["params"]
        if len(parameters) != len(set(parameters)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        if not set(parameters).isdisjoint(_parameters(self.param_groups)):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if 'param_names' in group else 'without'} names to the optimizer"
            )


def _register(registry: OrderedDict[int, Any], hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(registry)
    registry[handle.id] = hook
    if prepend:
        registry.move_to_end(handle.id, last=False)
    return handle


def _replaced_arguments(func: Callable[..., Any], result: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    if result is None:
        return args, kwargs
    if isinstance(result, tuple) and len(result) == 2:
        return result
    raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}.")


def _parameters(groups: Iterable[dict[str, Any]]) -> Iterator[Any]:
    return chain.from_iterable(group["params"] for group in groups)


def _without_params(group: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in group.items() if key != "params"}


def _check_same_sizes(own: list[dict[str, Any]], loaded: list[dict[str, Any]]) -> None:
    if len(own) != len(loaded):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(mine["params"]) != len(theirs["params"]) for mine, theirs in zip(own, loaded, strict=True)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )


def _updated_group(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The loaded options with the optimizer's own parameters and, where it has them, names."""
    new["params"] = old["params"]
    if "param_names" in old:
        new.setdefault("param_names", old["param_names"])
    return new


def _cast(parameter: Any, value: Any, position: Any, groups: list[dict[str, Any]], key: Any = None) -> Any:
    """A deep copy of the containers in a loaded state, with every tensor cast by the optimizer's policy."""
    if isinstance(value, mt.Tensor):
        return Optimizer._process_value_according_to_param_policy(parameter, value, position, groups, key)
    if isinstance(value, dict):
        return {k: _cast(parameter, v, position, groups, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return type(value)(_cast(parameter, v, position, groups) for v in value)  # type: ignore[call-arg]
    return value


def _listed(params: Any) -> list[Any]:
    if isinstance(params, mt.Tensor):
        return [params]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    return list(params)


def _split_names(group: dict[str, Any]) -> None:
    """Separate ``(name, tensor)`` pairs into ``param_names`` and ``params``."""
    named = [isinstance(parameter, tuple) for parameter in group["params"]]
    if not any(named):
        return
    if not all(named):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    group["param_names"] = [name for name, _ in group["params"]]
    group["params"] = [parameter for _, parameter in group["params"]]


def _typename(value: Any) -> str:
    """A value's class as messages name it: builtins without their module."""
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
