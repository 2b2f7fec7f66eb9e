"""Nested state dicts as flat ones, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import mt_core as mt

__all__ = ["Path", "flatten_state_dict", "set_at", "unflatten_state_dict"]

Path = tuple[str | int, ...]


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """Name all leaves by the keys that lead to them, with dots between.

    Dicts are gone into; lists where there is a dict or a tensor in them, or in lists in them; all else is a leaf.

    Returns
    -------
    tuple
        Name -> leaf, and name -> keys: texts for dicts, numbers for lists.

    Raises
    ------
    ValueError
        Where two leaves have one name.
    """
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}

    def keep(path: Path, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path

    _visit(state_dict, (), keep)
    return flat, paths


def _visit(value: Any, path: Path, keep: Callable[[Path, Any], None]) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _visit(inner, (*path, str(key)), keep)
    elif isinstance(value, list) and _is_gone_into(value):
        for index, inner in enumerate(value):
            _visit(inner, (*path, index), keep)
    else:
        keep(path, value)


def _is_gone_into(values: list[Any]) -> bool:
    return any(
        isinstance(one, (Mapping, mt.Tensor)) or (isinstance(one, list) and _is_gone_into(one)) for one in values
    )


def set_at(root: Any, path: Path, value: Any) -> None:
    """Set a leaf of a nested state dict; dicts and lists on the way are made."""
    place = root
    for key, following in pairwise(path):
        place = _inner(place, key, dict if isinstance(following, str) else list)
    last = _key_in(place, path[-1])
    if isinstance(place, list):
        place += [None] * (int(last) + 1 - len(place))
    place[last] = value


def _inner(place: Any, key: str | int, kind: type) -> Any:
    own = _key_in(place, key)
    if isinstance(place, list):
        place += [None] * (int(own) + 1 - len(place))
        if place[own] is None:
            place[own] = kind()
    elif own not in place:
        place[own] = kind()
    return place[own]


def _key_in(place: Any, key: str | int) -> Any:
    """The key of a dict whose text a path has: 0 for "0"."""
    if isinstance(place, dict) and key not in place:
        return next((own for own in place if str(own) == key), key)
    return key


def unflatten_state_dict(flat: Mapping[str, Any], paths: Mapping[str, Path]) -> dict[str, Any]:
    """The nested state dict of a flat one."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        set_at(nested, paths[name], value)
    return nested
