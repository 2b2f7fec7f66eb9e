"""The base classes of streams and maps, and chunks of samples."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset
from ._watching import watched

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class _Functional:
    """What both kinds have: methods that are registered by `functional_datapipe`, and pickling by hooks."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    getstate_hook: ClassVar[Callable[..., Any] | None]
    reduce_ex_hook: ClassVar[Callable[..., Any] | None]

    def __getattr__(self, attribute_name: str) -> Any:
        function = type(self).functions.get(attribute_name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}")
        bound = functools.partial(function, self)
        functools.update_wrapper(bound, function, assigned=("__doc__",))
        return bound

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Have a function as a method of every pipe."""
        cls.functions[function_name] = function

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Call a function with what would be pickled, and pickle what it returns; None: no longer.

        Raises
        ------
        RuntimeError
            Where there is one already.
        """
        kind = _kind_of(cls)
        if kind.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        kind.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Pickle pipes by a function, which may raise NotImplementedError for plain pickling; None: no longer.

        Raises
        ------
        RuntimeError
            Where there is one already.
        """
        kind = _kind_of(cls)
        if kind.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        kind.reduce_ex_hook = hook_fn

    def __getstate__(self) -> Any:
        return self._state(vars(self))

    def _state(self, state: Any) -> Any:
        """What is pickled of a state; a subclass that picks parts passes it through this, too."""
        hook = type(self).getstate_hook
        return state if hook is None else hook(state)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass  # the hook leaves this pipe to plain pickling
        return super().__reduce_ex__(*args, **kwargs)

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __str__(self) -> str:
        return type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


def _kind_of(cls: type[_Functional]) -> type[_Functional]:
    """`IterDataPipe` or `MapDataPipe`: hooks are for all pipes of a kind."""
    return IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe


class IterDataPipe(_Functional, IterableDataset[T_co]):
    """A stream; subclasses define ``__iter__``, and ``reset`` where an iterator begins from a state of the pipe.

    One iterator at a time: where another begins, the one before raises RuntimeError at its next step.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    reduce_ex_hook: ClassVar[Callable[..., Any] | None] = None
    getstate_hook: ClassVar[Callable[..., Any] | None] = None
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _is_child_datapipe: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__iter__")
        if own is not None and not cls.__dict__.get("_is_child_datapipe", False):
            cls.__iter__ = watched(own)  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[T_co]:
        return self  # type: ignore[return-value]

    def reset(self) -> None:
        """Begin anew; called when an iterator begins."""


class DFIterDataPipe(IterDataPipe[Any]):
    """A stream of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Functional, Dataset[T_co]):
    """A map from keys to samples; subclasses define ``__getitem__``, and mostly ``__len__``."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    reduce_ex_hook: ClassVar[Callable[..., Any] | None] = None
    getstate_hook: ClassVar[Callable[..., Any] | None] = None


class DataChunk(list[T]):
    """Samples of a batch; ``items`` is the list that they came in."""

    def __init__(self, items: Iterable[T]) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The samples in brackets."""
        return f"{indent}[{', '.join(str(item) for item in iter(self))}]"

    def __iter__(self) -> Iterator[T]:
        yield from super().__iter__()

    def raw_iterator(self) -> Iterator[T]:
        """The samples as they came."""
        yield from self.items


class _DataPipeSerializationWrapper:
    """A pipe for workers: what is not pickled plainly is an error that says so when it is sent."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __getstate__(self) -> bytes:
        return pickle.dumps(self._datapipe)

    def __setstate__(self, state: bytes) -> None:
        self._datapipe = pickle.loads(state)

    def __len__(self) -> int:
        return len(self._datapipe)
