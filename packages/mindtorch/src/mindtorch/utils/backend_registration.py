"""``torch.utils.backend_registration``: the name of the private device type, and the methods that go with it."""

from .._privateuse1 import generate_methods_for_privateuse1_backend as generate_methods_for_privateuse1_backend
from .._privateuse1 import rename_privateuse1_backend as rename_privateuse1_backend

__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]
