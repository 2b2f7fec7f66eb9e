"""Calling a module with other parameters and buffers than its own."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mt_core import Tensor

from ..modules.module import Module

__all__ = ["functional_call"]

_MISSING = object()


def _untie_named_tensors_map(module: Module, parameters_and_buffers: dict[str, Tensor]) -> dict[str, Tensor]:
    """A map in which a value given for one name of a tied tensor stands for its other names too."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in (
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ):
        names_of.setdefault(id(tensor), []).append(name)
    groups = [names for names in names_of.values() if len(names) > 1]
    untied = dict(parameters_and_buffers)
    for names in groups:
        given = [name for name in names if name in parameters_and_buffers]
        if not given:
            continue
        values = {id(parameters_and_buffers[name]) for name in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. Consider using "
                "tie_weights=False"
            )
        for name in names:
            untied[name] = parameters_and_buffers[given[0]]
    return untied


def _check_names(module: Module, given: dict[str, Any], strict: bool) -> None:
    if not strict:
        return
    own = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    own |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    lines = []
    for label, names in (("Unexpected", set(given) - own), ("Missing", own - set(given))):
        if names:
            listed = ", ".join(repr(name) for name in sorted(names))
            lines.append(f"\n\t{label} key(s): {listed}.")
    if lines:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:" + "".join(lines))


def _swap(module: Module, path: str, value: Any) -> Any:
    """Put a tensor at a dotted path and return what was there; `_MISSING` stands for nothing."""
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for table in (owner._parameters, owner._buffers, owner.__dict__):
        if name in table:
            previous = table[name]
            if value is _MISSING:
                del table[name]
            else:
                table[name] = value
            return previous
    if hasattr(type(owner), name):
        raise RuntimeError(f"'{path}' is computed by its module; give a value for what it is computed from instead")
    owner.__dict__[name] = value
    return _MISSING


@contextmanager
def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """Within this context a module has the given parameters and buffers in place of its own."""
    replacements = parameters_and_buffers
    if tie_weights:
        replacements = _untie_named_tensors_map(module, parameters_and_buffers)
    _check_names(module, replacements, strict)
    for value in replacements.values():
        if not isinstance(value, Tensor):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    previous: dict[str, Any] = {}
    try:
        for path, value in replacements.items():
            previous[path] = _swap(module, path, value)
        yield
    finally:
        for path in reversed(list(previous)):
            if path in parameters_and_buffers:  # in-place changes by the module are seen by the caller
                parameters_and_buffers[path] = _current(module, path, parameters_and_buffers[path])
            _swap(module, path, previous[path])


def _current(module: Module, path: str, default: Tensor) -> Tensor:
    prefix, _, name = path.rpartition(".")
    current = getattr(module.get_submodule(prefix), name, default)
    return current if isinstance(current, Tensor) else default


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any | tuple | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers. Deprecated for ``torch.func.functional_call``."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any | tuple | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers than its own.

    Parameters
    ----------
    module
        The module.
    parameters_and_buffers
        Dotted name to tensor.
    args
        The positional arguments, or the only one.
    kwargs
        The keyword arguments.
    tie_weights
        Whether a tensor given for one name of a tied parameter stands for its other names too.
    strict
        Whether the names must be exactly those of all parameters and buffers.
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
