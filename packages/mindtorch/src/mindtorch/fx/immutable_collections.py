"""Lists and dicts that nodes keep as arguments: a change would go past the record of users, so it is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from mt_core import pytree

__all__ = ["immutable_dict", "immutable_list"]

T = TypeVar("T")


def _no_mutation(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args "
        "of a torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args\n"
    )


class immutable_list(list[Any]):
    """A list that cannot be changed, and can be hashed where its items can."""

    __slots__ = ()

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _no_mutation
    append = clear = extend = insert = pop = remove = reverse = sort = _no_mutation

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type, tuple[tuple[Any, ...]]]:
        return type(self), (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that cannot be changed, and can be hashed where its values can."""

    __slots__ = ()

    __delitem__ = __ior__ = __setitem__ = _no_mutation  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _no_mutation  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type, tuple[tuple[Any, ...]]]:
        return type(self), (tuple(self.items()),)


def _flat_list(values: immutable_list) -> tuple[list[Any], Any]:
    return list(values), len(values)


def _list_of(values: Iterable[Any], context: Any) -> immutable_list:
    return immutable_list(values)


def _flat_dict(values: immutable_dict) -> tuple[list[Any], Any]:
    return list(values.values()), list(values)


def _dict_of(values: Iterable[Any], context: Any) -> immutable_dict:
    return immutable_dict(zip(context, values, strict=True))


pytree.register_pytree_node(immutable_list, _flat_list, _list_of)
pytree.register_pytree_node(immutable_dict, _flat_dict, _dict_of)
