"""The language's operators (``+``, ``@``, ``<`` ...) as methods that go straight to an overload."""

from __future__ import annotations


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
    #: method -> packet function called as f(other, self) for a number on the left
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

    def packets(self) -> set[str]:
        """Packets whose tables the source mentions."""
        names = {overload.partition(".")[0] for overload, *_ in [*self.binary.values(), *self.by_operand.values()]}
        return names | {*self.reflected.values(), *self.unary.values(), *self.tensors_only.values()}

    def sources(self, known: set[str]) -> list[str]:
        """Source of the methods whose operator is declared."""
        parts = []
        for name, (overload, extra) in self.binary.items():
            if overload.partition(".")[0] in known:
                parts.append(self._binary(name, overload, overload, extra))
        for name, (for_tensor, for_number, extra) in self.by_operand.items():
            if for_tensor.partition(".")[0] in known:
                parts.append(self._binary(name, for_tensor, for_number, extra))
        for name, packet in self.unary.items():
            if packet in known:
                parts.append(f"    def {name}(self):\n        return _{packet}_kernels[self._keys | tls.mode](self)\n")
        for name, packet in self.tensors_only.items():
            if packet in known:
                parts.append(self._matmul(name, packet))
        for name, packet in self.reflected.items():
            if packet in known:
                parts.append(self._reflected(name, packet))
        return parts

    def stubs(self) -> list[str]:
        """Types of all operator methods."""
        two = [*self.binary, *self.by_operand, *self.reflected, *self.tensors_only]
        lines = [f"    def {n}(self, other: Any) -> Tensor: ..." for n in two]
        return lines + [f"    def {n}(self) -> Tensor: ..." for n in self.unary]

    @staticmethod
    def _binary(name: str, for_tensor: str, for_number: str, extra: str) -> str:
        tensor_table, number_table = (f"_{overload.replace('.', '_')}_kernels" for overload in (for_tensor, for_number))
        return f"""    def {name}(self, other):
        kind = other.__class__
        if kind in TENSORS:
            return {tensor_table}[self._keys | other._keys | tls.mode](self, other{extra})
        if kind in NUMBERS:
            return {number_table}[self._keys | tls.mode](self, other{extra})
        return operator_fallback(self, other, "{name}")
"""

    @staticmethod
    def _matmul(name: str, packet: str) -> str:
        first, second = ("other", "self") if name.startswith("__r") else ("self", "other")
        return f"""    def {name}(self, other):
        if other.__class__ in TENSORS:
            return _{packet}_kernels[self._keys | other._keys | tls.mode]({first}, {second})
        return NotImplemented
"""

    @staticmethod
    def _reflected(name: str, packet: str) -> str:
        return f"""    def {name}(self, other):
        if other.__class__ in NUMBERS:
            return reflected(_{packet}_packet, self, other)
        return operator_fallback(self, other, "{name}")
"""


OPERATOR_METHODS = OperatorMethods()
