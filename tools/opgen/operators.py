"""The language's operators (``+``, ``@``, ``<`` ...) as methods that go straight to an overload."""

from __future__ import annotations

from .packets import cache_name


class OperatorMethods:
    """Tables from special methods to overloads, and their source."""

    #: method -> (overload, arguments after the two operands)
    binary = {
        "__add__": ("add.Tensor", ", 1"), "__sub__": ("sub.Tensor", ", 1"), "__mul__": ("mul.Tensor", ""),
        "__truediv__": ("div.Tensor", ""), "__floordiv__": ("floor_divide", ""),
        "__and__": ("bitwise_and.Tensor", ""), "__or__": ("bitwise_or.Tensor", ""),
        "__xor__": ("bitwise_xor.Tensor", ""),
        "__lshift__": ("bitwise_left_shift.Tensor", ""), "__rshift__": ("bitwise_right_shift.Tensor", ""),
        "__eq__": ("eq.Tensor", ""), "__ne__": ("ne.Tensor", ""), "__lt__": ("lt.Tensor", ""),
        "__le__": ("le.Tensor", ""),
        "__gt__": ("gt.Tensor", ""), "__ge__": ("ge.Tensor", ""),
        "__radd__": ("add.Tensor", ", 1"), "__rmul__": ("mul.Tensor", ""),
        "__rand__": ("bitwise_and.Tensor", ""), "__ror__": ("bitwise_or.Tensor", ""),
        "__rxor__": ("bitwise_xor.Tensor", ""),
        "__iadd__": ("add_.Tensor", ", 1"), "__isub__": ("sub_.Tensor", ", 1"), "__imul__": ("mul_.Tensor", ""),
        "__itruediv__": ("div_.Tensor", ""), "__ifloordiv__": ("floor_divide_.Tensor", ""),
        "__iand__": ("bitwise_and_.Tensor", ""), "__ior__": ("bitwise_or_.Tensor", ""),
        "__ixor__": ("bitwise_xor_.Tensor", ""),
        "__ilshift__": ("bitwise_left_shift_.Tensor", ""), "__irshift__": ("bitwise_right_shift_.Tensor", ""),
    }  # fmt: skip
    #: method -> packet function called as f(other, self), which Python asks of a number on the left
    reflected = {
        "__rtruediv__": "div", "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rpow__": "pow",
        "__rlshift__": "bitwise_left_shift", "__rrshift__": "bitwise_right_shift",
    }  # fmt: skip
    #: method -> (overload for a tensor, overload for a number, arguments after the two operands)
    by_operand = {
        "__mod__": ("remainder.Tensor", "remainder.Scalar", ""),
        "__imod__": ("remainder_.Tensor", "remainder_.Scalar", ""),
        "__pow__": ("pow.Tensor_Tensor", "pow.Tensor_Scalar", ""), "__ipow__": ("pow_.Tensor", "pow_.Scalar", ""),
        "__rsub__": ("rsub.Tensor", "rsub.Scalar", ", 1"),
    }  # fmt: skip
    unary = {"__neg__": "neg", "__pos__": "positive", "__abs__": "abs", "__invert__": "bitwise_not"}
    tensors_only = {"__matmul__": "matmul", "__rmatmul__": "matmul"}

    #: method -> the function that an override is told of, where that is another (as in PyTorch)
    told = {
        "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_",
        "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div", "__itruediv__": "div_",
        "__ifloordiv__": "floor_divide_", "__mod__": "remainder", "__imod__": "remainder_",
        "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__matmul__": "matmul",
        "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    }  # fmt: skip
    #: methods that take a NumPy array for a tensor
    of_arrays = frozenset(("__eq__",))
    #: methods that PyTorch writes in Python: their overrides see a dictionary of no keywords, others see None
    in_python = frozenset(
        """__rsub__ __rtruediv__ __floordiv__ __rfloordiv__ __rmod__ __pow__ __rpow__ __ipow__ __rmatmul__ __rlshift__
        __rrshift__""".split()
    )

    def tables(self, known: set[str]) -> dict[str, str]:
        """Name of a table that the source reads -> the overload or packet it belongs to; of the declared operators."""
        overloads = [overload for overload, _ in self.binary.values()]
        overloads += [overload for first, second, _ in self.by_operand.values() for overload in (first, second)]
        overloads += self.tensors_only.values()
        found = {cache_name(o): o for o in overloads if o.partition(".")[0] in known}
        return found | {f"_{packet}_packet": packet for packet in self.reflected.values() if packet in known}

    def sources(self, known: set[str]) -> list[str]:
        """Source of the methods whose operator is declared."""
        parts = []
        for name, (overload, extra) in self.binary.items():
            if overload.partition(".")[0] in known:
                parts.append(self._binary(name, overload, overload, extra))
        for name, (for_tensor, for_number, extra) in self.by_operand.items():
            if for_tensor.partition(".")[0] in known:
                parts.append(self._binary(name, for_tensor, for_number, extra))
        parts += [self._unary(name, packet) for name, packet in self.unary.items() if packet in known]
        parts += [self._matmul(name, packet) for name, packet in self.tensors_only.items() if packet in known]
        parts += [self._reflected(name, packet) for name, packet in self.reflected.items() if packet in known]
        return parts + self.second_names(known)

    def stubs(self) -> list[str]:
        """Types of all operator methods."""
        two = [*self.binary, *self.by_operand, *self.reflected, *self.tensors_only]
        lines = [f"    def {n}(self, other: Any) -> Tensor: ..." for n in two]
        return lines + [f"    def {n}(self) -> Tensor: ..." for n in self.unary]

    def _fallback(self, name: str) -> str:
        told = self.told.get(name, name)
        if name in self.of_arrays:
            method = self.binary[name][0].partition(".")[0]
            return f"array_operator_fallback(TensorBase.{told}, TensorBase.{method}, self, other, '{name}')"
        return f"operator_fallback(TensorBase.{told}, self, other, '{name}', {name in self.in_python})"

    def _binary(self, name: str, for_tensor: str, for_number: str, extra: str) -> str:
        return f"""    def {name}(self, other):
        kind = other.__class__
        try:
            if kind in TENSORS:
                return {cache_name(for_tensor)}[self._keys | other._keys | tls.mode](self, other{extra})
            if kind in NUMBERS:
                return {cache_name(for_number)}[self._keys | tls.mode](self, other{extra})
        except Overridden:
            pass
        return {self._fallback(name)}
"""

    def _matmul(self, name: str, packet: str) -> str:
        first, second = ("other", "self") if name.startswith("__r") else ("self", "other")
        return f"""    def {name}(self, other):
        if other.__class__ in TENSORS:
            try:
                return {cache_name(packet)}[self._keys | other._keys | tls.mode]({first}, {second})
            except Overridden:
                pass
        elif not hasattr(other, '__torch_function__'):
            return NotImplemented
        return {self._fallback(name)}
"""

    def _reflected(self, name: str, packet: str) -> str:
        return f"""    def {name}(self, other):
        kind = other.__class__
        if kind in NUMBERS or kind in TENSORS:
            try:
                return reflected(_{packet}_packet, self, other)
            except Overridden:
                pass
        return {self._fallback(name)}
"""

    def second_names(self, known: set[str]) -> list[str]:
        """Names that Python no longer calls, and programs still do."""
        names = {"__div__": "div", "__idiv__": "div_", "__rdiv__": "__rtruediv__"}
        return [f"    {name} = {other}\n" for name, other in names.items()] if "div" in known else []

    def _unary(self, name: str, packet: str) -> str:
        """PyTorch has all of them but one under two names."""
        if name != "__invert__":
            return f"    {name} = {packet}\n"
        return f"""    def {name}(self):
        return inverted(TensorBase.{packet}, TensorBase.{name}, self)
"""


OPERATOR_METHODS = OperatorMethods()
