"""``torch.distributed.fsdp.wrap``: which parts of a model are wrapped by themselves."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mt_nn.modules.activation import MultiheadAttention
from mt_nn.modules.container import ModuleDict, ModuleList
from mt_nn.modules.module import Module

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap all modules."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Wrap the modules for which a function says so."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """Wrap the modules of some classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Wrap modules in which as many elements are left that no module below was wrapped with.

    Parameters
    ----------
    min_num_params
        How many.
    force_leaf_modules
        Classes into which is not looked; attention by default.
    exclude_wrap_modules
        Classes that are not wrapped; lists and dicts of modules by default.
    """
    leaves = _size_policy.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules  # type: ignore[attr-defined]
    excluded = _size_policy.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules  # type: ignore[attr-defined]
    classes = leaves if recurse else excluded
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(classes))


_size_policy = size_based_auto_wrap_policy
_size_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # type: ignore[attr-defined]
_size_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # type: ignore[attr-defined]


class ModuleWrapPolicy:
    """Wraps the modules of some classes, other than the root."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def _targets(self, root: Module, ignored: set[Module], options: dict[str, Any]) -> dict[Module, dict[str, Any]]:
        classes = tuple(self._module_classes)
        return {module: options for module in root.modules() if module not in ignored and isinstance(module, classes)}

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return (
            f"<{type(self).__module__}.{type(self).__qualname__} object at {id(self):#x}>({self._module_classes_str})"
        )


class CustomPolicy:
    """Wraps the modules for which a function says True, or gives options in the place of the model's."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _targets(self, root: Module, ignored: set[Module], options: dict[str, Any]) -> dict[Module, dict[str, Any]]:
        found = {}
        for module in root.modules():
            if module in ignored:
                continue
            said = self._lambda_fn(module)
            if not isinstance(said, (dict, bool)):
                raise ValueError(
                    f"The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned "
                    f"{said}"
                )
            if said:
                found[module] = {**copy.copy(options), **(said if isinstance(said, dict) else {})}
        return found


def auto_wrap(
    root: Module,
    policy: Any,
    wrapper: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_parameters: set[Any],
    options: dict[str, Any],
) -> None:
    """Wrap modules below a root as a policy says, from the inside outwards.

    Raises
    ------
    ValueError
        For what is no policy, and where something is wrapped already.
    """
    for name, module in root.named_modules():
        if isinstance(module, wrapper):  # type: ignore[arg-type]
            raise ValueError(
                f"FSDP auto wrapping requires modules to not already have FSDP applied but found {name} in\n{root}"
            )
    if isinstance(policy, (ModuleWrapPolicy, CustomPolicy)):
        targets = policy._targets(root, ignored_modules, options)
        _wrap_targets(root, targets, wrapper, {}, set())
    elif callable(policy):
        _wrap_by_numel(root, policy, wrapper, ignored_modules, {id(one) for one in ignored_parameters}, options, True)
    else:
        raise ValueError(f"Unsupported auto_wrap_policy: {policy!r}")


def _wrap_targets(
    module: Module,
    targets: dict[Module, dict[str, Any]],
    wrapper: Any,
    made: dict[Module, Module],
    seen: set[Module],
) -> None:
    if module in seen:
        return
    seen.add(module)
    for name, child in list(module.named_children()):
        _wrap_targets(child, targets, wrapper, made, seen)
        if child in targets:
            if child not in made:
                made[child] = wrapper(child, **targets[child])
            setattr(module, name, made[child])


def _wrap_by_numel(
    module: Module,
    policy: Callable[..., bool],
    wrapper: Any,
    ignored_modules: set[Module],
    ignored: set[int],
    options: dict[str, Any],
    is_root: bool = False,
) -> tuple[Module, int]:
    """The module, wrapped or not, and how many elements were wrapped with it and with what is below."""
    own = sum(parameter.numel() for parameter in module.parameters() if id(parameter) not in ignored)
    if not policy(module=module, recurse=True, nonwrapped_numel=own):
        return module, 0
    wrapped = 0
    for name, child in list(module.named_children()):
        if child in ignored_modules:
            continue
        made, count = _wrap_by_numel(child, policy, wrapper, ignored_modules, ignored, options)
        setattr(module, name, made)
        wrapped += count
    rest = own - wrapped
    if not is_root and policy(module=module, recurse=False, nonwrapped_numel=rest):
        return wrapper(module, **options), own
    return module, wrapped


class _Enabled:
    """What `enable_wrap` said, for `wrap`."""

    cls: Any = None
    options: dict[str, Any] = {}


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Let `wrap` wrap modules in a class, with these options."""
    before = _Enabled.cls, _Enabled.options
    _Enabled.cls, _Enabled.options = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _Enabled.cls, _Enabled.options = before


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Wrap a module within `enable_wrap`; give it as it is elsewhere."""
    if _Enabled.cls is None:
        return module
    return _Enabled.cls(module, **{**_Enabled.options, **wrap_overrides})
