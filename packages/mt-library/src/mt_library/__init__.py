"""``torch.library`` and ``torch.ops``: operators of one's own, and every operator by name."""

from mt_library.custom_ops import CustomOpDef as CustomOpDef
from mt_library.custom_ops import custom_op as custom_op
from mt_library.fake import get_ctx as get_ctx
from mt_library.library import Library as Library
from mt_library.library import _impls as _impls
from mt_library.library import _scoped_library as _scoped_library
from mt_library.library import define as define
from mt_library.library import fallthrough_kernel as fallthrough_kernel
from mt_library.library import impl as impl
from mt_library.opcheck import opcheck as opcheck
from mt_library.ops import OpOverload as OpOverload
from mt_library.ops import OpOverloadPacket as OpOverloadPacket
from mt_library.ops import ops as ops
from mt_library.registration_functions import get_kernel as get_kernel
from mt_library.registration_functions import impl_abstract as impl_abstract
from mt_library.registration_functions import register_autocast as register_autocast
from mt_library.registration_functions import register_autograd as register_autograd
from mt_library.registration_functions import register_fake as register_fake
from mt_library.registration_functions import register_kernel as register_kernel
from mt_library.registration_functions import register_torch_dispatch as register_torch_dispatch
from mt_library.registration_functions import register_vmap as register_vmap
from mt_library.registration_functions import triton_op as triton_op
from mt_library.registration_functions import wrap_triton as wrap_triton
from mt_library.schema_inference import infer_schema as infer_schema
from mt_library.tags import Tag as Tag

__all__ = [
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]
