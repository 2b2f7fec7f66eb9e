"""The autograd slots of a tensor, and the switches of grad mode. Recording itself is the business of `mt_autograd`."""

import functools
import warnings
from enum import Enum
from typing import Any

from .state import tls

__all__ = [
    "AutogradState",
    "Creation",
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "refuse_in_transforms",
    "set_grad_enabled",
]


class Creation(Enum):
    """How a view came to be, where that forbids to change it in place (`AutogradState.creation`)."""

    IN_INFERENCE_MODE = "in inference mode"
    #: A custom Function returned it; its flag is that of several views.
    IN_CUSTOM_FUNCTION = "in a custom Function"


#: Says that gradients have the dtype of their tensor.
OWN_DTYPE = object()


class AutogradState:
    """What a tensor that takes part in differentiation knows; tensors that do not have None in its place.

    `tangents`, the tangents of forward mode by level, is there exactly where the tensor has the key `FORWARD_GRAD`.
    """

    __slots__ = (
        "requires_grad", "grad", "grad_fn", "output_nr", "hooks", "retains_grad", "post_accumulate_grad_hooks",
        "accumulator", "creation", "attr_version", "grad_dtype", "former", "tangents", "__weakref__",
    )  # fmt: skip

    tangents: dict[int, Any]

    def __init__(self) -> None:
        self.requires_grad = False
        self.grad: Any = None
        self.grad_fn: Any = None
        self.output_nr = 0
        self.hooks: Any = None
        self.retains_grad = False
        self.post_accumulate_grad_hooks: Any = None
        self.accumulator: Any = None
        #: What a leaf was to graphs that used it before it was laid out otherwise; the autograd layer's.
        self.former: Any = None
        self.creation: Creation | None = None
        self.attr_version = 0
        #: The dtype of gradients where it is not the tensor's own: None for any.
        self.grad_dtype: Any = OWN_DTYPE


def is_grad_enabled() -> bool:
    """Whether operations on tensors that require grad are being recorded in this thread."""
    return tls.grad_enabled and not tls.inference


def refuse_in_transforms(method: str) -> None:
    """Refuse what would change a tensor's part in differentiation inside of transforms, which see to that themselves.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if not tls.transforms:
        return
    apis = " (or perhaps using torch.autograd.functional.* APIs)" if method == "requires_grad_" else ""
    raise RuntimeError(
        f"You are attempting to call Tensor.{method}(){apis} inside of a function being transformed by a functorch "
        "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
        f"jacfwd, hessian) or call {method}() outside of a function being transformed instead."
    )


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``."""
    return tls.inference


class _GradSwitch:
    """Context manager and decorator over one thread-local switch."""

    def __call__(self, function: Any) -> Any:
        if isinstance(function, type):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            return self._over(lambda *args, **kwargs: function(*args, **kwargs))
        if _is_generator(function):
            return generator_within(self.clone, function)

        return functools.wraps(function)(self._over(function))

    def _over(self, function: Any) -> Any:
        def switched(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return switched

    def clone(self) -> Any:
        return self.__class__()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc_info: object) -> None:
        raise NotImplementedError


def _is_generator(function: Any) -> bool:
    import inspect  # lazy: it is slow to load, and only decorators ask

    return inspect.isgeneratorfunction(function)


def generator_within(switch: Any, function: Any) -> Any:
    """A generator function whose body, but not its consumer, runs in the mode."""

    @functools.wraps(function)
    def switched(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        try:
            with switch():
                item = generator.send(None)
            while True:
                try:
                    received = yield item
                except GeneratorExit:
                    with switch():
                        generator.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - handed on to the generator, as `yield from` would
                    with switch():
                        item = generator.throw(error)
                else:
                    with switch():
                        item = generator.send(received)
        except StopIteration as end:
            return end.value

    return switched


class no_grad(_GradSwitch):
    """Switch recording off: results do not require grad. ``with no_grad():`` or ``@no_grad()`` (or ``@no_grad``)."""

    def __new__(cls, function: Any = None) -> Any:
        self = object.__new__(cls)
        return self if function is None else self(function)

    def __init__(self, function: Any = None) -> None:
        self._previous = False

    def __enter__(self) -> None:
        self._previous = tls.grad_enabled
        tls.grad_enabled = False
        tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        tls.grad_enabled = self._previous
        tls.refresh()


class enable_grad(no_grad):
    """Switch recording on, inside `no_grad`."""

    def __enter__(self) -> None:
        self._previous = tls.grad_enabled
        tls.grad_enabled = True
        tls.refresh()


class set_grad_enabled(_GradSwitch):
    """Switch recording on or off, at once; as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = tls.grad_enabled
        tls.grad_enabled = bool(mode)
        tls.refresh()

    def __call__(self, function: Any) -> Any:
        tls.grad_enabled = self.prev
        tls.refresh()
        return super().__call__(function)

    def __enter__(self) -> None:
        tls.grad_enabled = bool(self.mode)
        tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        tls.grad_enabled = self.prev
        tls.refresh()

    def clone(self) -> "set_grad_enabled":
        return self.__class__(self.mode)


class inference_mode(_GradSwitch):
    """Switch recording off and mark new tensors as inference tensors, which autograd refuses ever after."""

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return object.__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._previous = (False, True)

    def __enter__(self) -> None:
        self._previous = (tls.inference, tls.grad_enabled)
        tls.inference, tls.grad_enabled = self.mode, not self.mode
        tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        tls.inference, tls.grad_enabled = self._previous
        tls.refresh()

    def clone(self) -> "inference_mode":
        return self.__class__(self.mode)
