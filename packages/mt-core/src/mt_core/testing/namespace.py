"""The core under the names that programs use, for tests of distributions that know nothing of those above them."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import mt_core

from .. import interop, printing, random
from ..api import _functions
from ..errors import LinAlgError

__all__ = ["namespace"]

#: Where names that the core has outside of its top level stand, by PyTorch's name of the place.
_HOMES: tuple[ModuleType, ...] = (mt_core, _functions, interop, printing, random)


class _Names:
    """Attributes are looked up in modules, with a prefix: ``linalg.norm`` is the operator ``linalg_norm``."""

    def __init__(self, homes: tuple[ModuleType, ...], prefix: str = "", **members: Any) -> None:
        self.__dict__.update(members, _homes=homes, _prefix=prefix)

    def __getattr__(self, name: str) -> Any:
        for home in self._homes:
            if hasattr(home, self._prefix + name):
                return getattr(home, self._prefix + name)
        raise AttributeError(f"the core has no {self._prefix}{name}")


def namespace(**members: Any) -> Any:
    """What ``torch`` is to a program, as far as the core goes, and the `members` that the caller adds.

    It has the core's functions, and ``linalg``, ``special`` and the operators of ``nn.functional``.
    """
    given: dict[str, Any] = {
        "linalg": _Names((_functions,), "linalg_", LinAlgError=LinAlgError),
        "special": _Names((_functions,), "special_"),
        "nn": SimpleNamespace(functional=_functions),
        "random": random,
        "_C": SimpleNamespace(_nn=_functions),
    }
    return _Names(_HOMES, **{**given, **members})
