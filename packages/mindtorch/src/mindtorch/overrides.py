"""``torch.overrides``: functions and modes for those who write classes that behave like tensors.

A class takes part by a method ``__torch_function__(func, types, args, kwargs)``. What it is told of, and in which form,
is what `get_overridable_functions` lists.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import mindtorch as torch
from mt_core.api import _functions, _methods
from mt_core.api.signatures import LazySignature, widest_signature
from mt_core.overrides import BaseTorchFunctionMode as BaseTorchFunctionMode
from mt_core.overrides import TorchFunctionMode as TorchFunctionMode
from mt_core.overrides import handle_torch_function as handle_torch_function
from mt_core.overrides import has_torch_function as has_torch_function
from mt_core.overrides import has_torch_function_unary as has_torch_function_unary
from mt_core.overrides import has_torch_function_variadic as has_torch_function_variadic
from mt_core.overrides import pop_mode, push_mode, unwrapped
from mt_core.overriding import (
    MEMBERS,
    OVERRIDABLE,
    DisableTorchFunction,
    EnableTorchFunction,
    must_ask,
    off,
)
from mt_core.python_dispatch import reentrant
from mt_core.state import tls
from mt_core.tensor import Tensor

__all__ = [
    "enable_reentrant_dispatch",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]


#: Whose functions stand for PyTorch's.
_OWN_PACKAGES = frozenset("mindtorch mt_core mt_autograd mt_nn mt_library".split())

# Asking overrides


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorator that lets overrides take a function over; `dispatcher`, of its arguments, gives those that count."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if must_ask(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Call a function from within its own override, which is not asked once more.

    What a program's function calls in turn is asked of overrides; a function of PyTorch's is carried out as a whole.
    """
    if _is_of_a_program(func):
        off.once = True
        try:
            return func(*args, **(kwargs or {}))
        finally:
            off.once = False
    with DisableTorchFunction():
        return func(*args, **(kwargs or {}))


def _is_of_a_program(func: Callable[..., Any]) -> bool:
    if not isinstance(func, FunctionType):
        return False
    return func.__globals__["__name__"].partition(".")[0] not in _OWN_PACKAGES


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or of a class that has a ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# Modes


def _push_mode(mode: TorchFunctionMode) -> None:
    """Make a mode the innermost of this thread."""
    push_mode(mode)


def _pop_mode() -> TorchFunctionMode:
    """Take the innermost mode of this thread away, and return it."""
    return pop_mode()


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[TorchFunctionMode]:
    """Context manager: without the innermost mode, which it gives."""
    mode = pop_mode()
    try:
        yield mode
    finally:
        push_mode(mode)


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost mode of this thread."""
    return tls.function_modes[-1] if tls.function_modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The modes of this thread, the outermost first."""
    return list(tls.function_modes)


def _len_torch_function_stack() -> int:
    return len(tls.function_modes)


def _is_torch_function_mode_enabled() -> bool:
    return bool(tls.function_modes)


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Context manager: in a handler, overrides of subclasses count, and calls are recorded, cast and transformed."""
    guard = EnableTorchFunction()
    try:
        with reentrant():
            yield
    finally:
        del guard


# What can be overridden


_NAMESPACES = ("torch", "torch.functional", "torch.nn.functional", "torch.Tensor", "torch.linalg", "torch.fft",
               "torch.special")  # fmt: skip


def _namespace(name: str) -> Any:
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def _members_of(namespace: Any) -> Iterator[tuple[str, Any]]:
    """(name, value) of a namespace's public functions, and of the properties of a class."""
    for name in dir(namespace):
        of_class = isinstance(namespace, type)
        if name.startswith("_") and not of_class:
            continue
        try:
            value = inspect.getattr_static(namespace, name) if of_class else getattr(namespace, name)
        except AttributeError:
            continue
        if not isinstance(value, (FunctionType, property)):
            continue
        if name.startswith("__") or not name.startswith("_") or _is_overridable(value):
            yield name, value


def _is_overridable(value: Any) -> bool:
    if isinstance(value, property):
        return value.__get__ in MEMBERS
    return value in OVERRIDABLE or value in MEMBERS or value in _generated()


@functools.cache
def _generated() -> frozenset[Callable[..., Any]]:
    """The generated functions and methods that Python sees."""
    spaces = [pairs for space, pairs in _functions.NAMESPACES.items() if space != "internal"]
    functions = [getattr(_functions, own) for pairs in spaces for _, own in pairs]
    methods = [m for m in vars(_methods.TensorBase).values() if isinstance(m, FunctionType)]
    return frozenset([*functions, *methods])


@functools.cache
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Namespace -> its functions that overrides are told of; a property stands for itself, with its ``__get__``."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    for name in _NAMESPACES:
        namespace = _namespace(name)
        for _, value in _members_of(namespace):
            if not _is_overridable(value):
                continue
            if isinstance(value, property):
                found.setdefault(value, []).append(value.__get__)
            else:
                found.setdefault(namespace, []).append(value)
    return found


@functools.cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that overrides are not told of: they take no tensors, or see to the thread or the process."""
    found: set[Callable[..., Any]] = set()
    for name in _NAMESPACES:
        for _, value in _members_of(_namespace(name)):
            if not isinstance(value, property) and not _is_overridable(value):
                found.add(value)
    return found


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results `Tensor.__torch_function__` does not turn into the subclass."""
    return unwrapped()


@functools.cache
def _names() -> dict[Any, str]:
    """Function -> where it is found: ``torch.add``, ``torch.Tensor.shape.__get__``."""
    found: dict[Any, str] = {}
    for space in _NAMESPACES:
        for name, value in _members_of(_namespace(space)):
            if not isinstance(value, property):
                found.setdefault(value, f"{space}.{name}")
                continue
            for part in ("__get__", "__set__", "__delete__"):
                found.setdefault(getattr(value, part), f"{space}.{name}.{part}")
    for name in ("einsum", "split", "norm", "unique", "meshgrid"):
        value = getattr(torch, name)
        found[value] = f"torch.functional.{name}"
    return found


def resolve_name(f: Any) -> str | None:
    """Where an overridable function is found, for people to read; None for any other."""
    if isinstance(f, (torch.ops.aten.add.__class__, torch.ops.aten.add.Tensor.__class__)):
        return str(f)
    return _names().get(f)


@functools.cache
def _tensor_members() -> set[Any]:
    found: set[Any] = set()
    for _, value in _members_of(Tensor):
        found.add(value.__get__ if isinstance(value, property) else value)
    return found


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor, or reads one of its properties."""
    return func in _tensor_members() or getattr(func, "__name__", "") == "__get__"


# Signatures


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Every overridable function -> a function of its signature that returns -1."""
    found: dict[Callable[..., Any], Callable[..., Any]] = {}
    for functions in [*get_overridable_functions().values(), map(_namespace, _UNLISTED)]:
        for function in functions:
            found.setdefault(function, _returns_minus_one(_signature(function)))
    return found


#: What PyTorch does not list as overridable, and has testing overrides of all the same.
_UNLISTED = (
    *[f"torch._{name}" for name in """assert_async conj_copy functional_assert_async fused_rms_norm
      linalg_check_errors native_batch_norm_legit neg_view_copy reshape_alias_copy rowwise_prune sym_acos sym_asin
      sym_atan sym_cos sym_cosh sym_sin sym_sinh sym_tan sym_tanh""".split()],
    *[f"torch.nn.init.{name}_" for name in ("constant", "kaiming_uniform", "normal", "uniform")],
)  # fmt: skip


def _returns_minus_one(signature: inspect.Signature) -> Callable[..., Any]:
    """A function of a signature; defaults are those of the signature, whatever they are."""
    text = [str(p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else None))
            for p in signature.parameters.values()]  # fmt: skip
    kinds = [p.kind for p in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        text.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    made = eval(f"lambda {', '.join(text)}: -1")  # noqa: S307 - names of parameters, from our own declarations
    given = [p for p in signature.parameters.values() if p.default is not p.empty]
    made.__defaults__ = tuple(p.default for p in given if p.kind is not p.KEYWORD_ONLY) or None
    made.__kwdefaults__ = {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY} or None
    return made


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    if not isinstance(function, FunctionType):  # the `__get__` of a property
        return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    found = inspect.signature(function)
    if isinstance(found, LazySignature):
        return widest_signature(found._packet, found._method)
    return found
