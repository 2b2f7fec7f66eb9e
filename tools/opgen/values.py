"""Python source that recognizes an argument by its exact class, and source of the value it stands for.

Every parameter of a wrapper has the default ``MISSING``, so that what a caller gave is known word for word.
"""

from __future__ import annotations

from typing import Any

from .packets import is_missing

__all__ = ["ShortForm", "literal"]

_CLASSES = {
    "int": "is int", "bool": "is bool", "float": "is float", "str": "is str",
    "ScalarType": "is dtype_class", "Layout": "is layout_class", "MemoryFormat": "is memory_format_class",
}  # fmt: skip


def literal(argument: Any) -> str:
    """The default of an argument as Python source."""
    value = getattr(argument.default, "in_python", argument.default)
    if isinstance(value, str) and argument.type != "str":
        if argument.type == "MemoryFormat":
            return value
        return {"long": "int64", "inf": "float('inf')"}.get(value, repr(value))
    if argument.type == "float" and type(value) is int:
        return repr(float(value))
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f"float('{value}')"
    if argument.is_list and argument.size and type(value) is int:
        return repr((value,) * argument.size)
    return repr(value)


class ShortForm:
    """Conditions, preparing statements, values and key sets of one overload's arguments, gathered one by one.

    `prepared` are statements that run before the conditions; those of an earlier overload are not repeated.
    """

    def __init__(self, numbers: frozenset[str]) -> None:
        self.numbers = numbers
        self.absent: list[str] = []
        self.tests: list[str] = []
        self.prepared: list[str] = []
        self.values: dict[str, str] = {}
        self.keys: list[str] = []

    def conditions(self) -> list[str]:
        """All that must hold, the cheapest first."""
        return [*self.absent, *self.tests]

    def enter(self, variable: str, argument: Any, optional: bool) -> bool:
        """Enter an argument that stands in `variable`; `optional`: it may be MISSING. False: it has no short form."""
        if argument.is_list:
            return self._enter_list(variable, argument, optional)
        if argument.type == "Device":
            return self._enter_device(variable)
        test = self._test(variable, argument)
        if test is None and not (argument.optional and optional):
            return False
        alternatives = [f"{variable} is MISSING"] * optional + [f"{variable} is None"] * argument.optional
        alternatives += [test] if test is not None else []
        self.tests.append(f"({' or '.join(alternatives)})" if len(alternatives) > 1 else alternatives[0])
        self._enter_keys(variable, argument)
        self.values[argument.name] = (
            f"{literal(argument)} if {variable} is MISSING else {variable}" if optional else variable
        )
        return True

    def _test(self, variable: str, argument: Any) -> str | None:
        """A condition under which a value that is given can be passed on unchanged; None when there is no cheap one."""
        if argument.type == "Tensor":
            test = f"{variable}.__class__ in TENSORS"
            return f"({test} or {variable}.__class__ in NUMBERS)" if self._may_be_number(argument) else test
        if argument.name == "pin_memory":
            return f"{variable} is False"  # pinned memory is another allocation, which the binder sees to
        if argument.type == "Scalar":
            return f"({variable}.__class__ in NUMBERS and ({variable}.__class__ is not int or {variable} in INTEGERS))"
        if argument.type in _CLASSES:
            return f"{variable}.__class__ {_CLASSES[argument.type]}"
        return None

    def _may_be_number(self, argument: Any) -> bool:
        return argument.name in self.numbers and argument.name != "self"

    def _enter_keys(self, variable: str, argument: Any) -> None:
        if argument.type != "Tensor":
            return
        if argument.optional or self._may_be_number(argument):
            self.keys.append(f"({variable}._keys if {variable}.__class__ in TENSORS else 0)")
        else:
            self.keys.append(f"{variable}._keys")

    def _enter_list(self, variable: str, argument: Any, optional: bool) -> bool:
        if argument.type == "Tensor" and not argument.optional and not argument.optional_items:
            keys = f"keys_of_{variable.lstrip('_')}"
            self.prepared.append(f"{keys} = tensors_keys({variable})")
            self.tests.append(keys)
            self.keys.append(keys)
            self.values[argument.name] = variable
            return True
        if argument.type != "int":
            return False
        ints = f"ints_of_{variable.lstrip('_')}"
        self.prepared.append(f"{ints} = {self._ints(variable, argument, optional)}")
        none = [f"{variable} is None"] + ([f"{variable} is MISSING"] if optional else [])
        given = f"{ints} is not None"
        self.tests.append(f"({' or '.join([given, *none])})" if argument.optional else given)
        self.values[argument.name] = ints
        return True

    @staticmethod
    def _ints(variable: str, argument: Any, optional: bool) -> str:
        source = f"int_tuple({variable})"
        if argument.size:
            repeated = ", ".join([variable] * argument.size)
            source = f"({repeated},) if {variable}.__class__ is int else {source}"
        return f"{literal(argument)} if {variable} is MISSING else {source}" if optional else source

    def _enter_device(self, variable: str) -> bool:
        self.prepared.append(f"where_ = None if {variable} is MISSING else as_device({variable})")
        self.tests.append("where_ is not False")
        self.values["device"] = "where_"
        return True


def required(argument: Any) -> bool:
    """Whether an argument has no default."""
    return is_missing(argument.default)
