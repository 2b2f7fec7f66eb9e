"""``torch._library``: what stands behind ``torch.library``, in the parts that programs reach for."""

from . import autograd as autograd
from . import custom_ops as custom_ops
from . import fake_impl as fake_impl
from . import infer_schema as infer_schema
from . import simple_registry as simple_registry
from . import utils as utils
