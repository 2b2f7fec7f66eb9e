"""The kinds of containers that a tree is made of: how each is taken apart, put together, and its items named."""

import dataclasses
import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from mt_core import Size
from mt_core.return_types import StructSequence

__all__ = [
    "SUPPORTED_NODES",
    "GetAttrKey",
    "KeyEntry",
    "MappingKey",
    "NodeDef",
    "SequenceKey",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "node_type",
    "register_pytree_node",
]

Context = Any
#: What functions take and give that a program registers a class by, and writes its contexts by.
DumpableContext = Any
FlattenFn = Callable[[Any], tuple[list[Any], Any]]
UnflattenFn = Callable[[Iterable[Any], Any], Any]
ToDumpableContextFn = Callable[[Any], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Any]
Flattened = tuple[list[Any], Context]


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The place of an item in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[Any]) -> Any:
        """The item at this place."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """The place of an item in a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The item at this place."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The place of an item that is an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The item at this place."""
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey


class NodeDef(NamedTuple):
    """A kind of container: how it becomes items and a context, and how these become it again."""

    type: Any
    flatten_fn: Callable[[Any], Flattened]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Context]] | None = None
    serialized_type_name: str | None = None
    to_dumpable_context: Callable[[Context], Any] | None = None
    from_dumpable_context: Callable[[Any], Context] | None = None


#: Type -> its definition. `collections.namedtuple` itself stands for every named tuple.
SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], Flattened],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Context], Any] | None = None,
    from_dumpable_context: Callable[[Any], Context] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Context]] | None = None,
) -> None:
    """Let instances of a class be containers, not leaves.

    Parameters
    ----------
    flatten_fn
        Container to a list of its items and a context, which is all that is needed besides to make it again.
    unflatten_fn
        Items and context to container.
    flatten_with_keys_fn
        As `flatten_fn`, with a key beside each item.
    serialized_type_name, to_dumpable_context, from_dumpable_context
        For `treespec_dumps` and `treespec_loads`: a name for the class, and its context as JSON knows it.

    Raises
    ------
    ValueError
        When the class is registered already, or only one of the two functions for contexts is given.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(
        cls,
        flatten_fn,
        unflatten_fn,
        flatten_with_keys_fn,
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
    )


def node_type(value: Any) -> Any:
    """What a value is registered under in `SUPPORTED_NODES`; its type if it is not."""
    kind = type(value)
    if kind in SUPPORTED_NODES:
        return kind
    if issubclass(kind, StructSequence):
        _register_structure(kind)
        return kind
    return namedtuple if is_namedtuple_class(kind) else kind


def _register_structure(kind: type[StructSequence]) -> None:
    def with_keys(value: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
        return [(GetAttrKey(name), item) for name, item in zip(kind._fields, value)], None

    register_pytree_node(kind, _flatten_sequence, lambda items, context: kind(items), flatten_with_keys_fn=with_keys)


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is a named tuple: derived from `tuple`, with names of fields."""
    if not isinstance(cls, type) or not issubclass(cls, tuple) or issubclass(cls, StructSequence):
        return False
    fields = getattr(cls, "_fields", None)
    return isinstance(fields, tuple) and all(isinstance(field, str) for field in fields)


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether an object is a named tuple, or a class of named tuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of results with named items, such as ``torch.return_types.max`` or `time.struct_time`."""
    if not isinstance(cls, type) or not issubclass(cls, tuple):
        return False
    return issubclass(cls, StructSequence) or isinstance(getattr(cls, "n_sequence_fields", None), int)


def is_structseq_instance(obj: Any) -> bool:
    """Whether an object is a result with named items."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether an object is a result with named items, or a class of such."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


# The containers of Python.


def _flatten_sequence(sequence: Iterable[Any]) -> Flattened:
    return list(sequence), None


def _sequence_with_keys(sequence: Iterable[Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(SequenceKey(index), item) for index, item in enumerate(sequence)], None


def _dict_flatten(d: dict[Any, Any]) -> Flattened:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(MappingKey(key), item) for key, item in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values))


def _namedtuple_with_keys(value: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(GetAttrKey(name), item) for name, item in zip(value._fields, value)], type(value)


def _defaultdict_with_keys(d: defaultdict[Any, Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    items, keys = _dict_flatten_with_keys(d)
    return items, [d.default_factory, keys]


def _deque_with_keys(d: deque[Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return _sequence_with_keys(d)[0], d.maxlen


def _refuse_namedtuple(context: Context) -> Any:
    raise NotImplementedError(f"named tuples cannot be serialized: {context}")


def _default_factory_to_json(context: Context) -> dict[str, Any]:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _default_factory_from_json(dumped: dict[str, Any]) -> Context:
    module = importlib.import_module(dumped["default_factory_module"])
    return [getattr(module, dumped["default_factory_name"]), dumped["dict_context"]]


register_pytree_node(
    tuple,
    _flatten_sequence,
    lambda items, context: tuple(items),
    serialized_type_name="builtins.tuple",
    flatten_with_keys_fn=_sequence_with_keys,
)
register_pytree_node(
    list,
    _flatten_sequence,
    lambda items, context: list(items),
    serialized_type_name="builtins.list",
    flatten_with_keys_fn=_sequence_with_keys,
)
register_pytree_node(
    dict,
    _dict_flatten,
    _dict_unflatten,
    serialized_type_name="builtins.dict",
    flatten_with_keys_fn=_dict_flatten_with_keys,
)
register_pytree_node(
    OrderedDict,
    _dict_flatten,
    lambda values, context: OrderedDict(zip(context, values)),
    serialized_type_name="collections.OrderedDict",
    flatten_with_keys_fn=_dict_flatten_with_keys,
)
register_pytree_node(
    defaultdict,
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    lambda values, context: defaultdict(context[0], zip(context[1], values)),
    serialized_type_name="collections.defaultdict",
    to_dumpable_context=_default_factory_to_json,
    from_dumpable_context=_default_factory_from_json,
    flatten_with_keys_fn=_defaultdict_with_keys,
)
register_pytree_node(
    deque,
    lambda d: (list(d), d.maxlen),
    lambda items, context: deque(items, maxlen=context),
    serialized_type_name="collections.deque",
    flatten_with_keys_fn=_deque_with_keys,
)
register_pytree_node(
    Size,
    _flatten_sequence,
    lambda items, context: Size(items),
    serialized_type_name="torch.Size",
    flatten_with_keys_fn=_sequence_with_keys,
)
SUPPORTED_NODES[namedtuple] = NodeDef(
    namedtuple,
    lambda value: (list(value), type(value)),
    lambda items, context: context(*items),
    _namedtuple_with_keys,
    "collections.namedtuple",
    _refuse_namedtuple,
    _refuse_namedtuple,
)
