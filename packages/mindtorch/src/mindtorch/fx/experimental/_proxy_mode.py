"""The mode that writes a node for each operator, and carries it out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from mt_core import Tensor, pytree
from mt_core.python_dispatch import has_handler, mode_of_kind, pop_mode_of_kind, push_dispatch_mode, without_modes
from mt_core.symbolic import is_symbolic
from mt_library.higher_order import HigherOrderOperator
from mt_library.ops import ops
from mt_library.tags import Tag
from mt_nn import Parameter

from ..._subclasses.fake_tensor import FakeTensor, is_fake
from ...utils._python_dispatch import TorchDispatchMode, _TorchDispatchModeKey
from ._proxy_slots import Tracked, get_proxy_slot, track_tensor_tree

__all__ = [
    "ProxyTorchDispatchMode", "decompose", "disable_proxy_modes_tracing", "get_innermost_proxy_mode", "get_proxy_mode",
    "proxy_call",
]  # fmt: skip

#: What is known of elements is kept for results with at most this many.
_LIMIT = 1

_tables: list[dict[Any, Any]] = [{}]


@contextlib.contextmanager
def decompose(decomposition_table: Any) -> Iterator[dict[Any, Any]]:
    """Inside of it, operators of a table are traced by what the table has for them."""
    _tables.append(dict(decomposition_table or {}))
    try:
        yield _tables[-1]
    finally:
        _tables.pop()


#: What writes the node of an operator on functions, which it has to trace; entered by `proxy_tensor`.
higher_order_rules: list[Callable[..., Any]] = []


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Writes a node into a tracer's graph for each operator, and carries it out.

    Parameters
    ----------
    tracer
        Knows the proxies of tensors (``tensor_tracker``).
    tracing_mode
        ``"real"`` or ``"fake"``.
    """

    _mode_key = _TorchDispatchModeKey.PROXY
    supports_higher_order_operators = True

    def __init__(
        self, tracer: Any, tracing_mode: str, pre_dispatch: bool = False, _allow_fake_constant: bool = False,
        _error_on_data_dependent_ops: bool = True,
    ) -> None:  # fmt: skip
        if pre_dispatch or _allow_fake_constant:
            raise NotImplementedError("ProxyTorchDispatchMode: pre_dispatch and _allow_fake_constant are not supported")
        self.tracer = tracer
        self.tracing_mode = tracing_mode
        self.pre_dispatch = False
        self.enable_tracing = True
        self._error_on_data_dependent_ops = _error_on_data_dependent_ops
        self.enter_stack: list[Any] = []

    @classmethod
    def is_infra_mode(cls) -> bool:
        """One of PyTorch's own, which stand below all others."""
        return True

    def note_symbolic(self, function: Any, args: tuple[Any, ...], made: Any) -> None:
        """Note what makes a symbolic number, for when it is used."""
        self.tracer.symbolic_slots.note(function, args, made)

    def __enter__(self) -> ProxyTorchDispatchMode:
        replaced = get_innermost_proxy_mode()
        if replaced is not None:
            pop_mode_of_kind(self._mode_key)
        self.enter_stack.append(replaced)
        push_dispatch_mode(self)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        pop_mode_of_kind(self._mode_key)
        replaced = self.enter_stack.pop()
        if replaced is not None:
            push_dispatch_mode(replaced)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return proxy_call(self, func, self.pre_dispatch, args, kwargs or {})


def get_innermost_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode of this thread that writes a graph, or None."""
    return mode_of_kind(_TorchDispatchModeKey.PROXY)  # type: ignore[no-any-return]


get_proxy_mode = get_innermost_proxy_mode


@contextlib.contextmanager
def disable_proxy_modes_tracing() -> Iterator[ProxyTorchDispatchMode | None]:
    """Inside of it, nothing is traced; gives the mode that is off."""
    mode = get_innermost_proxy_mode()
    if mode is not None:
        pop_mode_of_kind(_TorchDispatchModeKey.PROXY)
    try:
        yield mode
    finally:
        if mode is not None:
            push_dispatch_mode(mode)


def proxy_call(proxy_mode: ProxyTorchDispatchMode, func: Any, pre_dispatch: bool, args: Any, kwargs: Any) -> Any:
    """What an operator gives, after a node for it, or those of what it is written in, has been written.

    Raises
    ------
    RuntimeError
        For a number that is read from a tensor whose elements are not known while tracing.
    """
    if isinstance(func, HigherOrderOperator):
        return higher_order_rules[-1](proxy_mode, func, tuple(args))
    tensors = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
    if any(not _is_traceable(t) for t in tensors):
        return NotImplemented
    if func in _tables[-1]:
        with proxy_mode:
            result = _tables[-1][func](*args, **kwargs)
        if result is not NotImplemented:
            return result
    with proxy_mode:
        result = func.decompose(*args, **kwargs)
    return _written(proxy_mode, func, args, kwargs, tensors) if result is NotImplemented else result


def _is_traceable(tensor: Tensor) -> bool:
    return not has_handler(type(tensor)) or isinstance(tensor, (FakeTensor, Parameter))


def _written(mode: ProxyTorchDispatchMode, func: Any, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
    tracer = mode.tracer
    known = pytree.tree_map_only(Tensor, lambda t: get_proxy_slot(t, tracer, t), (args, kwargs))
    tracked = [t for t in pytree.tree_leaves(known) if isinstance(t, Tracked)]
    all_known = all(t.constant is not None for t in tracked)
    if Tag.data_dependent_output in func.tags:
        if all_known and tracked:
            return _computed(func, known)
        if mode._error_on_data_dependent_ops and not any(map(is_fake, tensors)):
            raise RuntimeError(
                f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's "
                "likely that this is caused by data-dependent control flow or similar.  It may be possible to trace "
                "this with dynamic shapes; try setting tracing_mode='symbolic' in your make_fx call."
            )
    proxy_args, proxy_kwargs = pytree.tree_map_only(Tracked, lambda t: t.proxy, tracer.symbolic_slots.arguments(known))
    lifted = func is ops.aten.lift_fresh.default
    func = ops.aten.lift_fresh_copy.default if lifted else func
    name = tracer.graph._target_to_str(func.overloadpacket.__name__)
    proxy = tracer.create_proxy("call_function", func, proxy_args, proxy_kwargs, name=name)
    out = func(*args, **kwargs)
    constant = _constant_of(func, args, out, known, lifted, all_known and bool(tracked))
    return track_tensor_tree(out, proxy, constant=constant, tracer=tracer)


def _computed(func: Any, known: Any) -> Any:
    args, kwargs = pytree.tree_map_only(Tracked, lambda t: t.constant, known)
    with without_modes():
        return func(*args, **kwargs)


def _constant_of(func: Any, args: Any, out: Any, known: Any, lifted: bool, all_known: bool) -> Any:
    """The elements of a result, where they are few and known: of Python data, and of what is computed from it."""
    results = [t for t in pytree.tree_leaves(out) if isinstance(t, Tensor)]
    if any(is_symbolic(t.numel()) or t.numel() > _LIMIT for t in results):
        return None
    if lifted:
        with without_modes():
            return args[0].clone()
    if all_known and Tag.nondeterministic_seeded not in func.tags:
        return _computed(func, known)
    return None
