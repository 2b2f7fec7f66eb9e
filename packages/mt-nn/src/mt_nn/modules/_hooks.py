"""Hooks of modules: the tables, how they are registered, and the order in which they run around `forward`."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from mt_core import Tensor
from mt_core.hooks import RemovableHandle

from ._backward_hooks import BackwardHook, attach_legacy_backward_hooks

_global_buffer_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_is_full_backward_hook: bool | None = None

_MIXED_BACKWARD_HOOKS = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
)
_MIXED_GLOBAL_BACKWARD_HOOKS = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
    "Please use only one of them."
)


def _add(hooks: OrderedDict, hook: Callable, *flags: OrderedDict, prepend: bool = False) -> RemovableHandle:
    """File a hook under a new id, set its flags, and hand out what removes all of it again."""
    handle = RemovableHandle(hooks, extra_dict=list(flags))
    hooks[handle.id] = hook
    for table in flags:
        table[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Run ``hook(module, name, buffer) -> None or new buffer`` whenever any module registers a buffer."""
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Run ``hook(module, name, submodule) -> None or new submodule`` whenever any module registers a submodule."""
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Run ``hook(module, name, param) -> None or new parameter`` whenever any module registers a parameter."""
    return _add(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Run ``hook(module, args) -> None or new args`` before every module's forward, ahead of the module's own hooks."""
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., None], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Run ``hook(module, args, output) -> None or new output`` after every module's forward.

    Parameters
    ----------
    hook
        The function; with `with_kwargs` it is called as ``hook(module, args, kwargs, output)``.
    with_kwargs
        Whether the hook is given the keyword arguments of the call.
    always_call
        Whether the hook runs although forward or another hook raised.
    """
    flags = [_global_forward_hooks_with_kwargs] if with_kwargs else []
    if always_call:
        flags.append(_global_forward_hooks_always_called)
    return _add(_global_forward_hooks, hook, *flags)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run ``hook(module, grad_input, grad_output)`` for every module. Prefer `register_module_full_backward_hook`."""
    _choose_global_backward_kind(full=False)
    return _add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run ``hook(module, grad_output) -> None or new grad_output`` before every module's backward."""
    return _add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Run ``hook(module, grad_input, grad_output) -> None or new grad_input`` for every module."""
    _choose_global_backward_kind(full=True)
    return _add(_global_backward_hooks, hook)


def _choose_global_backward_kind(full: bool) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED_GLOBAL_BACKWARD_HOOKS)
    _global_is_full_backward_hook = full


class ModuleHooks:
    """The part of `Module` that registers hooks and runs a call that has any."""

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Run ``hook(module, args)`` before every call of `forward`.

        Parameters
        ----------
        hook
            Returns `None`, or the arguments to use instead (one value or a tuple). With `with_kwargs` it is called as
            ``hook(module, args, kwargs)`` and returns `None` or ``(args, kwargs)``.
        prepend
            Whether it runs ahead of the hooks registered so far on this module.
        with_kwargs
            Whether the hook is given the keyword arguments.
        """
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return _add(self._forward_pre_hooks, hook, *flags, prepend=prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Run ``hook(module, args, output)`` after every call of `forward`.

        Parameters
        ----------
        hook
            Returns `None` or the output to use instead. With `with_kwargs` it is called as ``hook(module, args, kwargs,
            output)``.
        prepend
            Whether it runs ahead of the hooks registered so far on this module.
        with_kwargs
            Whether the hook is given the keyword arguments.
        always_call
            Whether the hook runs although `forward` or another hook raised.
        """
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            flags.append(self._forward_hooks_always_called)
        return _add(self._forward_hooks, hook, *flags, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Run ``hook(module, grad_output) -> None or new grad_output`` before the module's gradients are computed."""
        return _add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Run ``hook(module, grad_input, grad_output)`` once the gradients of the module's inputs are known.

        `grad_input` holds one entry for each positional input of the call, `None` where it is no tensor. What the hook
        returns, unless `None`, takes its place.
        """
        self._choose_backward_kind(full=True)
        return _add(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run a hook on the last node that `forward` recorded. Prefer `register_full_backward_hook`."""
        self._choose_backward_kind(full=False)
        return _add(self._backward_hooks, hook)

    def _choose_backward_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(_MIXED_BACKWARD_HOOKS)
        self._is_full_backward_hook = full

    def _get_backward_hooks(self) -> tuple[list[Callable], list[Callable]]:
        """The full and the regular backward hooks that apply to this module, global ones first."""
        full: list[Callable] = []
        regular: list[Callable] = []
        for kind, hooks in (
            (_global_is_full_backward_hook, _global_backward_hooks),
            (self._is_full_backward_hook, self._backward_hooks),
        ):
            if kind is not None:
                (full if kind else regular).extend(hooks.values())
        return full, regular

    def _get_backward_pre_hooks(self) -> list[Callable]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _call_with_hooks(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """`forward` with every hook around it; a hook registered with `always_call` runs on errors too."""
        if not (self._forward_hooks_always_called or _global_forward_hooks_always_called):
            return self._run_hooked(args, kwargs, [], set())
        seen: list[Any] = []
        called: set[int] = set()
        try:
            return self._run_hooked(args, kwargs, seen, called)
        except Exception:
            self._run_remaining_hooks(args, kwargs, seen[-1] if seen else None, called)
            raise

    def _run_hooked(self, args: tuple, kwargs: dict[str, Any], seen: list[Any], called: set[int]) -> Any:
        """One hooked call. The results so far go to `seen`, the ids of finished forward hooks to `called`."""
        args, kwargs = self._run_forward_pre_hooks(args, kwargs)
        full_hooks, regular_hooks = self._get_backward_hooks()
        pre_hooks = self._get_backward_pre_hooks()
        backward_hook = BackwardHook(self, full_hooks, pre_hooks) if full_hooks or pre_hooks else None
        if backward_hook is not None:
            args = backward_hook.setup_input_hook(args)
        result = self.forward(*args, **kwargs)
        seen.append(result)
        for hook_id, hook, with_kwargs in self._forward_hook_list():
            called.add(hook_id)
            replacement = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if replacement is not None:
                result = replacement
                seen.append(result)
        if backward_hook is not None:
            result = self._setup_output_hook(backward_hook, result)
        if regular_hooks:
            attach_legacy_backward_hooks(self, regular_hooks, args, result)
        return result

    def _run_forward_pre_hooks(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        for hook in _global_forward_pre_hooks.values():
            args = _replaced_args(hook(self, args), args)
        for hook_id, hook in list(self._forward_pre_hooks.items()):
            if hook_id in self._forward_pre_hooks_with_kwargs:
                args, kwargs = _replaced_args_kwargs(hook(self, args, kwargs), args, kwargs)
            else:
                args = _replaced_args(hook(self, args), args)
        return args, kwargs

    def _forward_hook_list(self) -> list[tuple[int, Callable, bool]]:
        """(id, hook, wants keyword arguments) of the forward hooks, in the order in which they run."""
        with_kwargs = _global_forward_hooks_with_kwargs
        hooks = [(hook_id, hook, hook_id in with_kwargs) for hook_id, hook in _global_forward_hooks.items()]
        with_kwargs = self._forward_hooks_with_kwargs
        hooks += [(hook_id, hook, hook_id in with_kwargs) for hook_id, hook in self._forward_hooks.items()]
        return hooks

    @staticmethod
    def _setup_output_hook(backward_hook: BackwardHook, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=5,
            )
        return backward_hook.setup_output_hook(result)

    def _run_remaining_hooks(self, args: tuple, kwargs: dict[str, Any], result: Any, called: set[int]) -> None:
        """After an error: the `always_call` hooks that have not run. Their own errors are only warned about."""
        for hook_id, hook, with_kwargs in list(self._always_called_hooks()):
            if hook_id in called:
                continue
            scope = "global module" if hook_id in _global_forward_hooks else "module"
            try:
                replacement = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            except Exception as error:  # noqa: BLE001 - the error of forward is the one to raise
                warnings.warn(
                    f"{scope} forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error}",
                    stacklevel=4,
                )
            else:
                result = result if replacement is None else replacement

    def _always_called_hooks(self) -> Iterator[tuple[int, Callable, bool]]:
        always = (_global_forward_hooks_always_called, self._forward_hooks_always_called)
        return (entry for entry in self._forward_hook_list() if any(entry[0] in table for table in always))


def _replaced_args(result: Any, args: tuple) -> tuple:
    if result is None:
        return args
    return result if isinstance(result, tuple) else (result,)


def _replaced_args_kwargs(result: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    if result is None:
        return args, kwargs
    if isinstance(result, tuple) and len(result) == 2:
        return result
    raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {result}.")
