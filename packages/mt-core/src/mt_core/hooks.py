"""``torch.utils.hooks``: the handle by which a registered hook is taken away again."""

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """Removes one hook from the dictionary it was registered in; as a context manager, on leaving.

    Parameters
    ----------
    hooks_dict
        The registry. It is held weakly: a handle keeps neither a module nor a tensor alive.
    extra_dict
        Registries (one, or several) that may hold more about the hook under the same id.
    """

    _ids = itertools.count()

    def __init__(self, hooks_dict: OrderedDict[int, Any], *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = next(RemovableHandle._ids)
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in _as_sequence(extra_dict))

    def remove(self) -> None:
        """Forget the hook. Doing so twice is harmless."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            registry = reference()
            if registry is not None:
                registry.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks_dict, self.id, extra_dicts = state
        # An empty registry of its own stands in for one that was already gone when the handle was pickled.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks_dict is None else hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if extra is None else extra) for extra in extra_dicts)
        RemovableHandle._ids = itertools.count(max(next(RemovableHandle._ids), self.id + 1))

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


def _as_sequence(extra_dict: Any) -> Iterable[Any]:
    if extra_dict is None:
        return ()
    return extra_dict if isinstance(extra_dict, list) else (extra_dict,)
