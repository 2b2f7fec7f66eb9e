"""``torch.utils.hooks``: the handle by which a registered hook is taken away again, and which hooks are not saved."""

import itertools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, TypeVar

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

_Hook = TypeVar("_Hook")
#: The attribute of a hook whose loss, when its tensor is pickled, is meant.
_MARK = "__torch_unserializable__"


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


def unserializable_hook(f: _Hook) -> _Hook:
    """Mark a hook as one that pickling its tensor loses without a warning."""
    setattr(f, _MARK, True)
    return f


def warn_if_has_hooks(tensor: Any, *, stacklevel: int = 2) -> None:
    """Warn of every hook of a tensor that pickling it would lose, but those of `unserializable_hook`."""
    state = tensor._autograd
    for hook in (state.hooks or {}).values() if state is not None else ():
        if not hasattr(hook, _MARK):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=stacklevel,
            )
