"""``torch._subclasses``: tensors without elements, on which programs run to see shapes, dtypes and devices."""

from .fake_tensor import DynamicOutputShapeException as DynamicOutputShapeException
from .fake_tensor import FakeTensor as FakeTensor
from .fake_tensor import FakeTensorMode as FakeTensorMode
from .fake_tensor import UnsupportedFakeTensorException as UnsupportedFakeTensorException
from .fake_utils import CrossRefFakeMode as CrossRefFakeMode

__all__ = [
    "CrossRefFakeMode",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
]
