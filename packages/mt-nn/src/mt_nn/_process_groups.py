"""The default process group, for what is different where there is one."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["default_process_group"]


def default_process_group() -> Any:
    """The default process group; None where none was made.

    mt-distributed makes them. Where nobody has imported it there is none, so it need not be imported to ask.
    """
    module = sys.modules.get("mt_distributed.world")
    return None if module is None else module.world.default_pg
