"""The schema grammar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mt_core.schema import MISSING, parse_schema
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
