"""The native library, and the kernels of it that stand in front of NumPy's, by operator family.

``MINDTORCH_NATIVE=0`` leaves it unused; ``MINDTORCH_NATIVE=v3`` uses that level of instructions.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from types import ModuleType

from ..memory import fresh
from ..native_sources import changed_since

__all__ = ["library", "state"]

# Only a checkout has them: an installed wheel is of its own sources.
SOURCES = Path(__file__).parents[3] / "native"


def _default_threads() -> int:
    """As many threads as the environment allows, else as this process has processors."""
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if asked.isdigit() and int(asked):
        return int(asked)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _load() -> tuple[ModuleType | None, str]:
    """The extension module, and what there is to say of it.

    Raises
    ------
    ImportError
        With the loader's words, when it was built but does not load; and when it was built from other sources than
        those that stand beside it in a checkout.
    ValueError
        When ``MINDTORCH_NATIVE`` names a level that this processor or the build does not have.
    """
    setting = os.environ.get("MINDTORCH_NATIVE", "")
    if setting == "0":
        return None, "not used, as MINDTORCH_NATIVE=0 asks: kernels run on NumPy"
    name = "mt_backend_cpu._native"
    if importlib.util.find_spec(name) is None:
        return None, "not built, for there was no C++ compiler when mt-backend-cpu was installed: kernels run on NumPy"
    module = importlib.import_module(name)
    built_from = module.source_hash.partition("-")[0]
    if (SOURCES / "CMakeLists.txt").is_file() and changed_since(SOURCES, Path(str(module.__file__)), built_from):
        raise ImportError(
            "the native library was built from other sources than those beside it: "
            f"pip install --no-deps --editable {SOURCES.parent}"
        )
    if setting:
        module.use_level(setting)
    module.set_num_threads(_default_threads())
    fresh.use(module)
    return module, f"level {module.level()} of {', '.join(module.levels())}"


library, state = _load()
