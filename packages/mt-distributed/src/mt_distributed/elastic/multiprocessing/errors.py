"""``torch.distributed.elastic.multiprocessing.errors``: `record`, which writes down why a rank failed."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

__all__ = ["record"]

P = ParamSpec("P")
T = TypeVar("T")


def record(fn: Callable[P, T], error_handler: Any = None) -> Callable[P, T]:
    """A function that, where it raises, first writes the error to the file that ``TORCHELASTIC_ERROR_FILE`` names.

    Parameters
    ----------
    fn
        What is run, such as a script's ``main``.
    error_handler
        Not supported: raises NotImplementedError.
    """
    if error_handler is not None:
        raise NotImplementedError("record(error_handler=) is not supported by mindtorch")

    @functools.wraps(fn)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            _write(error)
            raise

    return recorded


def _write(error: Exception) -> None:
    file = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not file:
        return
    said = {
        "message": f"{type(error).__name__}: {error}",
        "extraInfo": {"py_callstack": "".join(traceback.format_exception(error)), "timestamp": str(int(time.time()))},
    }
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"message": said}))
