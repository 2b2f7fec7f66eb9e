"""``torch._C._nn``: where pickles and functions say that operators of ``torch.nn.functional`` are."""

from typing import Any

from mt_nn.modules._conversion import _parsed_to

from .._operator_module import operators_of

__getattr__, __dir__ = operators_of(__name__, "torch._C._nn")


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) that arguments of ``Module.to`` mean."""
    return _parsed_to(args, kwargs)
