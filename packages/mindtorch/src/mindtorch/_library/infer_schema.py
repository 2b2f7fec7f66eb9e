"""``torch._library.infer_schema``: which annotations operators may have, and the schema that they tell."""

from __future__ import annotations

from mt_library.schema_inference import infer_schema as infer_schema
from mt_library.schema_inference import supported_param_types, supported_return_types

__all__ = ["infer_schema"]

#: Annotation -> what schemas call it.
SUPPORTED_PARAM_TYPES = supported_param_types()
SUPPORTED_RETURN_TYPES = supported_return_types()
