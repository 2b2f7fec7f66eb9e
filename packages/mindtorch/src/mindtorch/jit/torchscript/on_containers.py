"""Operators on lists, tuples and dicts."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor, broadcast_shapes

from .on_text import TEXT_OF_ANYTHING
from .sequences import item_of, place_of, repeated, same, sliced
from .table import ANYWHERE, PLAIN, enter, too_long
from .types import BOOL, INT, NONE, STR, UNKNOWN, Type, list_of, optional

__all__: list[str] = []


def _set_item(container: Any, key: Any, value: Any) -> Any:
    if isinstance(container, dict):
        container[key] = value
    elif isinstance(container, list):
        if not -len(container) <= key < len(container):
            raise RuntimeError("list index out of range")
        container[key] = value
    else:
        raise RuntimeError(f"'{type(container).__name__}' object has no items to be set")
    return container


def _delete(container: Any, key: Any) -> None:
    item_of(container, key)
    del container[key]


def _contains(container: Any, value: Any) -> bool:
    if isinstance(container, (dict, str)):
        return value in container
    return any(same(item, value) for item in container)


def _appended(items: list[Any], item: Any) -> list[Any]:
    items.append(item)
    too_long(len(items))
    return items


def _extend(items: list[Any], others: list[Any]) -> None:
    too_long(len(items) + len(others))
    items.extend(others)


def _extended(items: list[Any], others: list[Any]) -> list[Any]:
    _extend(items, others)
    return items


def _pop(container: Any, *args: Any) -> Any:
    if isinstance(container, dict):
        if args[0] not in container and len(args) == 1:
            raise RuntimeError(f"KeyError: {args[0]}")
        return container.pop(*args)
    index = args[0] if args else -1
    if not container:
        raise RuntimeError("pop from empty list")
    if not -len(container) <= index < len(container):
        raise RuntimeError("pop index out of range")
    return container.pop(index)


def _remove(items: list[Any], value: Any) -> None:
    try:
        del items[place_of(items, value)]
    except RuntimeError:
        raise RuntimeError("list.remove(x): x not in list") from None


def _key(value: Any) -> Any:
    return value


def _sort(items: list[Any], reverse: bool = False) -> None:
    if any(isinstance(item, Tensor) for item in items):
        raise NotImplementedError("sort of a list of tensors in TorchScript is not supported by mindtorch.")
    items.sort(reverse=reverse, key=None if all(isinstance(i, (int, float, str, tuple)) for i in items) else _by_lt)


class _by_lt:
    """Orders instances of classes by their ``__lt__``."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _by_lt) -> bool:
        return bool(self.value._special("__lt__", other.value))


def _sorted(items: list[Any]) -> list[Any]:
    made = list(items)
    _sort(made)
    return made


def _as_list(value: Any) -> list[Any]:
    return list(value)


def _as_dict(pairs: Any = ()) -> dict[Any, Any]:
    return dict(pairs)


def _update(a: dict[Any, Any], b: dict[Any, Any]) -> None:
    a.update(b)


def _insert(items: list[Any], place: int, item: Any) -> None:
    items.insert(place, item)
    too_long(len(items))


def _length(value: Any) -> int:
    if isinstance(value, Tensor):
        if value.dim() == 0:
            raise RuntimeError("len() of a 0-d tensor")
        return int(value.shape[0])
    return len(value)


def _unwrapped(value: Any) -> Any:
    if value is None:
        raise RuntimeError("Unwrapping null optional")
    return value


def _sum(items: list[Any]) -> Any:
    return sum(items)


def _infer_size(a: list[int], b: list[int]) -> list[int]:
    return list(broadcast_shapes(a, b))


def _item_type(types: list[Type]) -> Type:
    return types[0].parts[0] if types and types[0].name == "List" else UNKNOWN


def _first(types: list[Type]) -> Type:
    return types[0] if types[0].name in ("List", "Dict", "str") else UNKNOWN


def _keys_type(types: list[Type]) -> Type:
    return list_of(types[0].parts[0]) if types[0].name == "Dict" else UNKNOWN


def _values_type(types: list[Type]) -> Type:
    return list_of(types[0].parts[1]) if types[0].name == "Dict" else UNKNOWN


def _items_type(types: list[Type]) -> Type:
    return list_of(Type("Tuple", types[0].parts)) if types[0].name == "Dict" else UNKNOWN


def _popped_type(types: list[Type]) -> Type:
    return types[0].parts[1] if types[0].name == "Dict" and len(types) == 2 else _item_type(types)


def _sum_type(types: list[Type]) -> Type:
    item = _item_type(types)
    return INT if item == BOOL else item


def _in_list(types: list[Type]) -> Type:
    return types[0] if types[0].name == "List" else list_of(STR) if types[0] == STR else UNKNOWN


def _got(types: list[Type]) -> Type:
    if types[0].name != "Dict":
        return UNKNOWN
    return optional(types[0].parts[1]) if len(types) == 2 else types[0].parts[1]


def _unwrapped_type(types: list[Type]) -> Type:
    return types[0].parts[0] if types[0].name == "Optional" else types[0]


enter(ANYWHERE, {"append": _appended, "_set_item": _set_item})
enter(PLAIN, {"add_": _extended}, _first)
enter(ANYWHERE, {"extend": _extend, "reverse": list.reverse, "insert": _insert, "clear": lambda c: c.clear()}, NONE)
enter(ANYWHERE, {"Delete": _delete, "remove": _remove, "update": _update}, NONE)
enter(ANYWHERE, {"pop": _pop}, _popped_type)
enter(ANYWHERE, {"popitem": lambda d: d.popitem()})
enter(ANYWHERE, {"__contains__": _contains}, BOOL)
enter(ANYWHERE, {"keys": lambda d: list(d.keys())}, _keys_type)
enter(ANYWHERE, {"values": lambda d: list(d.values())}, _values_type)
enter(ANYWHERE, {"items": lambda d: list(d.items())}, _items_type)
enter(ANYWHERE, {"get": lambda d, key, default=None: d.get(key, default)}, _got)
enter(ANYWHERE, {"setdefault": lambda d, key, default: d.setdefault(key, default)}, lambda t: _popped_type(t[:2]))
enter(ANYWHERE, {"len": _length}, INT)
enter(ANYWHERE, {"__is__": lambda a, b: a is b, "__isnot__": lambda a, b: a is not b}, BOOL)
enter(ANYWHERE, {"__not__": lambda a: not a}, BOOL)
enter(ANYWHERE, {"_unwrap_optional": _unwrapped}, _unwrapped_type)
enter(ANYWHERE, {"sorted": _sorted}, _first)
enter(ANYWHERE, {"list": _as_list}, _in_list)
enter(ANYWHERE, {"dict": _as_dict})
enter(ANYWHERE, TEXT_OF_ANYTHING, STR)
enter(PLAIN, {"slice": sliced}, _first)
enter(PLAIN, {"select": item_of, "__getitem__": item_of}, _item_type)
enter(PLAIN, {"copy": lambda container: container.copy()}, _first)
enter(PLAIN, {"sort": _sort}, NONE)
enter(PLAIN, {"sum": _sum}, _sum_type)
enter(PLAIN, {"any": any, "all": all}, BOOL)
enter(PLAIN, {"mul_": lambda items, n: _extended(items, repeated(items, n - 1)) if n > 0 else items.clear() or items})
enter(PLAIN, {"_infer_size": _infer_size, "broadcast_shapes": _infer_size}, list_of(INT))
