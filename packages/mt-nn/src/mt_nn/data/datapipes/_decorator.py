"""Decorators of pipes: methods by name, and who may be random."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any

from .datapipe import IterDataPipe, MapDataPipe

__all__ = [
    "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic",
    "runtime_validation", "runtime_validation_disabled",
]  # fmt: skip


class functional_datapipe:
    """Decorator: a class of pipes is a method of every pipe of its kind.

    Parameters
    ----------
    name
        Of the method.
    enable_df_api_tracing
        Whether streams of data frames have it as well.

    Raises
    ------
    TypeError
        For what is no class of pipes.
    Exception
        Where the name is taken.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        made = cls
        if not isinstance(cls, type):
            if not isinstance(cls, non_deterministic):
                raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
            made = cls.cls
        for kind in (IterDataPipe, MapDataPipe):
            if isinstance(made, type) and issubclass(made, kind):
                if self.name in kind.functions:
                    raise Exception(f"Unable to add DataPipe function name {self.name} as it is already taken")

                @wraps(cls if isinstance(cls, type) else made, updated=())
                def make(source: Any, *args: Any, **kwargs: Any) -> Any:
                    return cls(source, *args, **kwargs)

                kind.register_function(self.name, make)
        return cls


_determinism = False


class guaranteed_datapipes_determinism:
    """While it is entered, pipes that are not deterministic cannot be made."""

    prev: bool

    def __init__(self) -> None:
        global _determinism
        self.prev = _determinism
        _determinism = True

    def __enter__(self) -> None:
        """It holds since it was made, as in PyTorch."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _determinism
        _determinism = self.prev


class non_deterministic:
    """Decorator of a class of streams, or with a function of a pipe's arguments: whether it is not deterministic.

    Raises
    ------
    TypeError
        For other things, and for a pipe of this kind inside of `guaranteed_datapipes_determinism`.
    """

    cls: Any = None

    def __init__(self, arg: Any) -> None:
        self.deterministic_fn: Callable[..., bool] = _never
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found"
                )
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is not None:
            if _determinism:
                raise TypeError(
                    f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'. "
                    f"You can turn off determinism for this DataPipe if that is acceptable for your application"
                )
            return self.cls(*args, **kwargs)
        made = args[0]
        if not (isinstance(made, type) and issubclass(made, IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {made.__name__} is found")
        self.cls = made
        return self._conditional()

    def _conditional(self) -> Callable[..., Any]:
        made, is_random = self.cls, self.deterministic_fn

        def make(*args: Any, **kwargs: Any) -> Any:
            answer = is_random(*args, **kwargs)
            if not isinstance(answer, bool):
                raise TypeError(
                    "deterministic_fn of `non_deterministic` decorator is required to return a boolean value, but "
                    f"{type(answer)} is found"
                )
            if _determinism and answer:
                raise TypeError(
                    f"{made.__name__} is non-deterministic with the inputs, but you set "
                    "'guaranteed_datapipes_determinism'. You can turn off determinism for this DataPipe if that is "
                    "acceptable for your application"
                )
            return made(*args, **kwargs)

        return make


def _never(*args: Any, **kwargs: Any) -> bool:
    return False


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Refused: types of samples are not checked.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("torch.utils.data.argument_validation is not supported by mindtorch.")


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Refused: types of samples are not checked.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("torch.utils.data.runtime_validation is not supported by mindtorch.")


class runtime_validation_disabled:
    """While it is entered, types of samples are not checked; they never are."""

    def __enter__(self) -> None:
        """Nothing is checked in any case."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is checked in any case."""
