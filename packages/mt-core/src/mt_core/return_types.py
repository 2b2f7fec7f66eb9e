"""``torch.return_types``: the named tuples of operators with several named results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["StructSequence", "result_type"]


class StructSequence(tuple[Any, ...]):
    """A tuple whose items also have names, printed as PyTorch prints them."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        body = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{body})"

    def __new__(cls, sequence: Iterable[Any], dict: Mapping[str, Any] | None = None) -> StructSequence:
        """A result of these values; `dict`, of further values that have names alone, stays empty."""
        values = tuple(sequence)
        wanted = len(cls._fields)
        if dict or len(values) != wanted:
            name = f"torch.return_types.{cls.__name__}"
            raise TypeError(f"{name}() takes a {wanted}-sequence ({len(values)}-sequence given)")
        return tuple.__new__(cls, values)

    def __reduce__(self) -> tuple[Any, ...]:
        known = _class_of_operator(type(self).__name__)
        if known is type(self):
            return known, (tuple(self), {})
        return result_class, (type(self).__name__, self._fields, tuple(self))


_classes: dict[tuple[str, tuple[str, ...]], type[StructSequence]] = {}


def _field(position: int) -> property:
    return property(lambda self: tuple.__getitem__(self, position))


def struct_sequence(name: str, fields: tuple[str, ...]) -> type[StructSequence]:
    """The class of results called `name` with these fields; one class per name and fields."""
    found = _classes.get((name, fields))
    if found is None:
        members: dict[str, Any] = {
            "__slots__": (), "__module__": "torch.return_types", "_fields": fields, "n_fields": len(fields),
            "n_sequence_fields": len(fields), "n_unnamed_fields": 0,
        }  # fmt: skip
        members.update((f, _field(i)) for i, f in enumerate(fields))
        found = _classes[name, fields] = type(name, (StructSequence,), members)
    return found


def _class_of_operator(name: str) -> type[StructSequence] | None:
    """The class of the results of the operator `name`, with ``_out`` of its ``out=`` form; None where it has none."""
    from .dispatch.registry import PACKETS, find_overload  # lazy: operators are dispatched with the classes here

    packet = PACKETS.get(name.removesuffix("_out"))
    for overload in packet.overloads() if packet is not None else ():
        declaration = overload.declaration
        if name.endswith("_out"):
            if declaration.out is None:
                continue
            declaration = find_overload(declaration.out).declaration
        found = result_type(declaration)
        if isinstance(found, type) and issubclass(found, StructSequence):
            return found
    return None


def _all_classes() -> list[type[StructSequence]]:
    """The classes of all operators whose results have names, by these names."""
    from .dispatch.registry import PACKETS  # lazy: operators are dispatched with the classes here

    names = (name.rstrip("_") + kind for name in PACKETS for kind in ("", "_out"))
    found = {name: made for name in names if (made := _class_of_operator(name)) is not None}
    return [found[name] for name in sorted(found) if found[name]._fields]


def __getattr__(name: str) -> Any:
    if name == "all_return_types":
        return _all_classes()
    found = None if name.startswith("__") else _class_of_operator(name)
    if found is None:
        raise AttributeError(f"module 'torch.return_types' has no attribute {name!r}")
    return found


def result_class(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> StructSequence:
    """Rebuild a result when unpickling."""
    return struct_sequence(name, fields)(values)


def result_type(declaration: Any) -> Callable[[list[Any]], Any]:
    """What an operator's several results are handed over in: list, tuple, or named tuple."""
    returns = declaration.schema.returns
    if len(returns) == 1 and returns[0].is_list:
        return list if returns[0].alias is None else tuple
    names = tuple(r.name for r in returns)
    if None in names:
        return tuple
    kind = "_out" if declaration.form == "out" else ""
    return struct_sequence(declaration.schema.name.rstrip("_") + kind, names)  # type: ignore[arg-type]
