"""``torch.utils._dtype_abbrs``: short names of dtypes, for texts of graphs and calls."""

from __future__ import annotations

from mt_core import dtypes

__all__ = ["dtype_abbrs"]

#: dtype -> a letter for its kind, its bits, and what tells 8-bit floats apart.
dtype_abbrs: dict[dtypes.dtype, str] = {
    dtypes.uint8: "u8", dtypes.int8: "i8", dtypes.int16: "i16", dtypes.int32: "i32", dtypes.int64: "i64",
    dtypes.float16: "f16", dtypes.float32: "f32", dtypes.float64: "f64", dtypes.complex32: "c32",
    dtypes.complex64: "c64", dtypes.complex128: "c128", dtypes.bool: "b8", dtypes.bfloat16: "bf16",
    dtypes.float8_e5m2: "f8e5m2", dtypes.float8_e4m3fn: "f8e4m3fn", dtypes.float8_e5m2fnuz: "f8e5m2fnuz",
    dtypes.float8_e4m3fnuz: "f8e4m3fnuz", dtypes.uint16: "u16", dtypes.uint32: "u32", dtypes.uint64: "u64",
    dtypes.float8_e8m0fnu: "f8e8m0fnu",
}  # fmt: skip
