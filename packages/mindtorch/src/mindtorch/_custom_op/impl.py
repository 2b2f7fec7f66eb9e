"""``torch._custom_op.impl``: the operators of ``torch._custom_ops``."""

from mt_library.fake import get_ctx as get_ctx
from mt_library.legacy_ops import RESERVED_NS as RESERVED_NS
from mt_library.legacy_ops import SUPPORTED_DEVICE_TYPE_TO_KEY as SUPPORTED_DEVICE_TYPE_TO_KEY
from mt_library.legacy_ops import CustomOp as CustomOp
from mt_library.legacy_ops import check_namespace as validate_namespace
from mt_library.legacy_ops import custom_op_from_existing as custom_op_from_existing
from mt_library.legacy_ops import custom_op_of_function as custom_op
from mt_library.legacy_ops import get_op as get_op
from mt_library.legacy_ops import registry as global_registry
from mt_library.legacy_ops import split_name as parse_qualname
from mt_library.schema_inference import infer_schema as infer_schema

__all__ = [
    "RESERVED_NS", "SUPPORTED_DEVICE_TYPE_TO_KEY", "CustomOp", "custom_op", "custom_op_from_existing", "get_ctx",
    "get_op", "global_registry", "infer_schema", "parse_qualname", "validate_namespace",
]  # fmt: skip
