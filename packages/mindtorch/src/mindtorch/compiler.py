"""``torch.compiler``: how programs talk to the compiler.

Programs are captured for backends that are functions of a graph (`_dynamo.convert_frame`); for the others there is
nothing to compile, and that is what the answers say.
"""

import functools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from . import _capturing
from ._capturing import disable_code_of
from ._capturing import stance as _current
from ._unsupported import refusal, unsupported_function

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "load_cache_artifacts",
    "load_compiled_function",
    "nested_compile_region",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]

_STANCES = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)


def compile(*args: Any, **kwargs: Any) -> Any:
    """``torch.compile``."""
    from . import _compile  # lazy: it loads torch.nn

    return _compile.compile(*args, **kwargs)


def is_compiling() -> bool:
    """Whether this code runs in order to be captured as a graph."""
    return _capturing.is_compiling()


def is_dynamo_compiling() -> bool:
    """Whether this code runs in order to be captured by ``torch.compile``."""
    return _capturing.is_compiling() and not _capturing.is_exporting()


def is_exporting() -> bool:
    """Whether this code runs in order to be exported."""
    return _capturing.is_exporting()


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Keep a function, or a module's ``forward``, from being captured: returns it, or a decorator.

    A program that calls it is not captured either. What it calls is captured where that is compiled itself, be
    `recursive` true or not; `reason` is for readers of the program.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    disable_code_of(fn)
    return fn


_disable_dynamo = disable  # the name that PyTorch has at the top level


def allow_in_graph(fn: Any) -> Any:
    """Let the compiler take a function, or a list of functions, for an operator: returns it as it is."""
    if not isinstance(fn, (list, tuple)) and not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let the compiler keep the result of a function: returns it as it is."""
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[..., Any]:
    """Let the compiler use the decorated function in the place of another: returns it as it is."""
    return lambda replacement: replacement


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The backends that ``torch.compile`` takes, those for debugging if `exclude_tags` does not leave them out."""
    from ._dynamo.backends import registry  # late: torch._dynamo takes names from this module

    return registry.list_backends(exclude_tags)


def get_default_backend() -> str | Callable[..., Any]:
    """The backend that ``torch.compile`` uses unless it is told another."""
    from . import _compile  # lazy: it loads torch.nn

    return _compile.default_backend


def set_default_backend(backend: str | Callable[..., Any]) -> None:
    """Change `get_default_backend`; as in PyTorch, it is looked up when ``torch.compile`` uses it.

    Raises
    ------
    TypeError
        When it is neither a name nor a function.
    """
    from . import _compile  # lazy: it loads torch.nn

    if not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    _compile.default_backend = backend


def reset() -> None:
    """Forget what was captured: every program is captured anew at its next call."""
    from ._dynamo import eval_frame  # late: torch._dynamo takes names from this module

    eval_frame.forget_all()


def cudagraph_mark_step_begin() -> None:
    """Say that a new step begins, so that memory of compiled graphs can be used again; there are none."""


class set_stance:
    """Set when programs are captured, from now on, or within a context or a function.

    Parameters
    ----------
    stance
        ``"default"``; ``"force_eager"``: programs run as they are; ``"eager_on_recompile"``: they do where one would be
        captured again; ``"fail_on_recompile"``: that is an error.

    Raises
    ------
    RuntimeError
        For a stance that does not exist.
    NotImplementedError
        For those that run a program before they capture it, and for ``force_backend``.
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}', should be one of: {', '.join(_STANCES)}")
        if force_backend is not None:
            raise refusal("torch.compiler.set_stance(force_backend=...)", "Give the backend to torch.compile.")
        if stance.endswith("then_compile") or skip_guard_eval_unsafe:
            name = "skip_guard_eval_unsafe=True" if skip_guard_eval_unsafe else repr(stance)
            raise refusal(f"torch.compiler.set_stance({name})", "Guards are asked at each call.")
        self.stance = stance
        self._before = _current.name
        _current.name = stance

    def __enter__(self) -> None:
        """The stance was set when this was made."""
        _current.name = self.stance

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Go back to what was set before."""
        _current.name = self._before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        _current.name = self._before  # a decorator sets it for calls alone

        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self.stance):
                return function(*args, **kwargs)

        return within


def nested_compile_region(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a function that recurs, so that its graph may be compiled once: returns it, or a decorator.

    Captured graphs are handed to backends whole; the mark has no effect on what they compute.
    """
    return fn if fn is not None else lambda function: function


def save_cache_artifacts() -> None:
    """None: nothing that was compiled is kept in files."""


_GUARDS = "Guards are asked at each call."
keep_portable_guards_unsafe = unsupported_function("torch.compiler.keep_portable_guards_unsafe", _GUARDS)
keep_tensor_guards_unsafe = unsupported_function("torch.compiler.keep_tensor_guards_unsafe", _GUARDS)
set_enable_guard_collectives = unsupported_function("torch.compiler.set_enable_guard_collectives", _GUARDS)
skip_all_guards_unsafe = unsupported_function("torch.compiler.skip_all_guards_unsafe", _GUARDS)
skip_guard_on_all_nn_modules_unsafe = unsupported_function(
    "torch.compiler.skip_guard_on_all_nn_modules_unsafe", _GUARDS
)
skip_guard_on_globals_unsafe = unsupported_function("torch.compiler.skip_guard_on_globals_unsafe", _GUARDS)
skip_guard_on_inbuilt_nn_modules_unsafe = unsupported_function(
    "torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe", _GUARDS
)
_FILES = "Save what torch.export.export makes."
load_cache_artifacts = unsupported_function("torch.compiler.load_cache_artifacts", _FILES)
load_compiled_function = unsupported_function("torch.compiler.load_compiled_function", _FILES)
wrap_numpy = unsupported_function("torch.compiler.wrap_numpy", "Call the function with NumPy arrays.")
