"""Calls of modules with other parameters."""

from mt_nn.func import functional_call as functional_call
from mt_nn.func import stack_module_state as stack_module_state

__all__ = ["functional_call", "stack_module_state"]
