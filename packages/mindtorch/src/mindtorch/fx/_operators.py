"""Python's operators as graphs know them: by the names that the module `operator` gives them."""

from __future__ import annotations

__all__ = ["IN_PLACE", "MAGIC", "REFLECTABLE"]

#: Operators with two sides, of which the right one may be traced while the left one is not.
REFLECTABLE = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}",
    "truediv": "{} / {}",
    "div": "{} / {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}

#: All operators -> how they are written.
MAGIC = {
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    **REFLECTABLE,
}

#: Operators that change their left side.
IN_PLACE = {
    "iadd": "+=",
    "iand": "&=",
    "ifloordiv": "//=",
    "ilshift": "<<=",
    "imod": "%=",
    "imul": "*=",
    "imatmul": "@=",
    "ior": "|=",
    "ipow": "**=",
    "irshift": ">>=",
    "isub": "-=",
    "itruediv": "/=",
    "ixor": "^=",
}
