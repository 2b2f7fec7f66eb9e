"""The schema grammar."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mt_core.schema import MISSING, Argument, Return, SchemaError, parse_schema
from mt_core.testing import declared_operators


def test_parts_of_a_schema() -> None:
    schema = parse_schema("add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
    assert (schema.name, schema.overload, schema.full_name) == ("add", "out", "add.out")
    assert [a.name for a in schema.arguments] == ["self", "other", "alpha", "out"]
    assert [a.kwarg_only for a in schema.arguments] == [False, False, True, True]
    assert [a.writes for a in schema.arguments] == [False, False, False, True]
    assert schema.is_mutable and schema.returns[0].alias == "a"


@pytest.mark.parametrize(
    ("text", "base", "is_list", "size", "optional", "optional_items"),
    [
        ("Tensor", "Tensor", False, None, False, False),
        ("Tensor?", "Tensor", False, None, True, False),
        ("Tensor[]", "Tensor", True, None, False, False),
        ("Tensor?[]", "Tensor", True, None, False, True),
        ("int[2]", "int", True, 2, False, False),
        ("int[1]?", "int", True, 1, True, False),
        ("SymInt[]?", "int", True, None, True, False),
        ("Tensor(a -> *)", "Tensor", False, None, False, False),
    ],
)
def test_types(text: str, base: str, is_list: bool, size: int | None, optional: bool, optional_items: bool) -> None:
    argument = parse_schema(f"f({text} x) -> Tensor").arguments[0]
    assert (argument.type, argument.is_list, argument.size, argument.optional, argument.optional_items) == (
        base, is_list, size, optional, optional_items,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int n=3", 3),
        ("float x=1.", 1.0),
        ("bool b=True", True),
        ("int? n=None", None),
        ("int[2] k=[]", ()),
        ('str s="mean"', "mean"),
        ("str s='a, b'", "a, b"),
        ("int n", MISSING),
    ],
)
def test_defaults(text: str, value: object) -> None:
    default = parse_schema(f"f({text}) -> Tensor").arguments[0].default
    assert default == value and type(default) is type(value)


def test_several_named_returns() -> None:
    schema = parse_schema("max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)")
    assert [r.name for r in schema.returns] == ["values", "indices"]


@pytest.mark.parametrize("text", ["f(Tens or x) -> Tensor", "f(Tensor x", "f"])
def test_what_is_no_schema(text: str) -> None:
    with pytest.raises(ValueError):
        parse_schema(text)


names = st.text("abcxyz_", min_size=1, max_size=6).filter(lambda name: name[0] != "_")
types = st.sampled_from(["Tensor", "Tensor?", "int", "int[]", "float?", "bool", "Scalar", "str", "Tensor[]"])


@given(names, st.lists(st.tuples(types, names), max_size=6, unique_by=lambda pair: pair[1]))
def test_reading_keeps_everything(name: str, arguments: list[tuple[str, str]]) -> None:
    schema = parse_schema(f"{name}({', '.join(f'{t} {n}' for t, n in arguments)}) -> Tensor")
    assert schema.name == name
    assert [(a.type_text, a.name) for a in schema.arguments] == arguments


def test_every_declared_schema_reads_as_it_prints() -> None:
    for overload in declared_operators():
        again = parse_schema(str(overload.schema))
        assert [repr(a) for a in again.arguments] == [repr(a) for a in overload.schema.arguments]
        assert again.full_name == overload.name


STORED = json.loads((Path(__file__).parent / "snapshots" / "schemas.json").read_text())
_NAMES = {"Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int", "SymBool": "bool"}


def type_text(described: Argument | Return) -> str:
    """A type as PyTorch shows it: ``List[Optional[Tensor]]``."""
    text = _NAMES.get(described.type, described.type)
    if isinstance(described, Argument) and described.optional_items:
        text = f"Optional[{text}]"
    if described.is_list:
        text = f"List[{text}]"
    return f"Optional[{text}]" if isinstance(described, Argument) and described.optional else text


def read(text: str) -> list[object] | str:
    """What of the stored facts is kept here, or the refusal."""
    try:
        schema = parse_schema(text)
    except SchemaError as error:
        return str(error)
    arguments = [
        [a.name, type_text(a), a.size, a.kwarg_only, a.default is not MISSING, a.writes] for a in schema.arguments
    ]
    return [schema.name, schema.overload, arguments, [[r.name or "", r.is_list, r.writes] for r in schema.returns]]


def stored(text: str) -> list[object] | None:
    found = STORED[text]
    if found is None:
        return None
    name, overload, arguments, returns = found
    return [
        name,
        overload,
        [[a[0], a[1], a[2], a[3], a[4], a[6]] for a in arguments],
        [[r[0], "List[" in r[1], r[6]] for r in returns],
    ]


#: What PyTorch takes and operators here cannot have; of its own namespace PyTorch takes unknown types for variables.
UNSUPPORTED = re.compile("are not supported:|unknown type specifier(?s:.*)aten::")


@pytest.mark.parametrize("part", range(8))
def test_reads_what_pytorch_reads_and_refuses_what_it_refuses(part: int) -> None:
    unsupported = 0
    for text in list(STORED)[part::8]:
        ours, theirs = read(text), stored(text)
        if theirs is None:
            assert isinstance(ours, str), f"PyTorch refuses {text!r}"
        elif isinstance(ours, str):
            assert UNSUPPORTED.search(ours), f"PyTorch takes {text!r}: {ours}"
            unsupported += 1
        else:
            assert ours == theirs, text
    assert unsupported < 20


def test_the_stored_texts_are_of_both_kinds() -> None:
    assert sum(found is None for found in STORED.values()) > 500
    assert sum(found is not None for found in STORED.values()) > 500


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("float x=-.5e-3", -0.0005),
        ("float x=0x1p3", 8.0),
        ("int x=- 1", -1),
        ("int x=0xff", 0),
        ("Scalar x=1e2", 100.0),
        ("int[2] x=-1", -1),
        ("int[] x=[-1,- 2]", (-1, -2)),
        ("float[] x=[1, 2.5]", (1, 2.5)),
        ("complex x=2.5j", 2.5j),
        ("ScalarType? x=float32", "float32"),
        (r"str x='\101\n\'\\'", "A\n'\\"),
        ("str x='''a'''", "a"),
        ("Device x='cpu'", "cpu"),
    ],
)
def test_values_of_defaults(text: str, value: object) -> None:
    default = parse_schema(f"f({text}) -> ()").arguments[0].default
    assert default == value and type(default) is type(value)


def test_the_default_reduction_is_the_mean_but_none_in_python() -> None:
    default = parse_schema("f(int x=Mean) -> ()").arguments[0].default
    assert default == 1 and default.in_python == 0
