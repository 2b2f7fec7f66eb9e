"""What ``mindtorch doctor`` says of the compiler: the platforms that jax sees, and how others are added."""

from __future__ import annotations

import importlib.util

__all__ = ["lines"]

#: Platform -> what adds it.
_PLATFORMS = {
    "cpu": "pip install jax",
    "cuda": "pip install 'jax[cuda13]' (or cuda12)",
    "rocm": "pip install 'jax[rocm7-local]'",
    "tpu": "pip install 'jax[tpu]'",
}


def lines() -> list[tuple[str, str]]:
    """(what, state or remedy) pairs."""
    if importlib.util.find_spec("jax") is None:
        return [("jax", f"not here: {_PLATFORMS['cpu']}")]
    import jax  # late: a second of import, and it need not be installed

    found = [("jax", jax.__version__)]
    for name, remedy in _PLATFORMS.items():
        try:
            devices = jax.devices(name)
        except RuntimeError:
            found.append((name, f"jax sees none: {remedy}"))
            continue
        kinds = dict.fromkeys(device.device_kind for device in devices)
        tried = "" if name == "cpu" else ", not tried with mindtorch"
        found.append((name, f"{len(devices)} device{'' if len(devices) == 1 else 's'} ({', '.join(kinds)}){tried}"))
    return found
