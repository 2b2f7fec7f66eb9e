"""Write ``cupy_facts.json``: what an installed CuPy has, for `fake_cupy`. Needs CuPy, but no device.

    python make_cupy_facts.py [--check]

Names of the modules that kernels use, signatures, loops of ufuncs, methods of arrays; read by introspection.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import cupy

PATH = Path(__file__).with_name("cupy_facts.json")
MODULES = ("", "linalg", "fft", "lib.stride_tricks", "random")


def parameters(function: Any) -> list[list[Any]] | None:
    """[name, kind, whether it has a default] of each parameter; None where nothing tells."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return _documented(function)
    return [[p.name, int(p.kind), p.default is not p.empty] for p in signature.parameters.values()]


def _documented(function: Any) -> list[list[Any]] | None:
    """From the first line of a docstring, where Cython writes the signature."""
    line = (getattr(function, "__doc__", None) or "").strip().partition("\n")[0].partition("->")[0].strip()
    if "(" not in line or not line.endswith(")"):
        return None
    scope: dict[str, Any] = {}
    text = line[line.index("(") :].replace("(self, ", "(").replace("(self)", "()").replace("ndarray self, ", "")
    try:
        exec(f"def stated{text}: pass", {}, scope)  # noqa: S102 - of an installed package
    except (SyntaxError, NameError):
        return None
    return parameters(scope["stated"])


def facts() -> dict[str, Any]:
    names: dict[str, Any] = {}
    ufuncs: dict[str, Any] = {}
    for path in MODULES:
        module: Any = cupy
        for part in filter(None, path.split(".")):
            module = getattr(module, part)
        for name in sorted(n for n in dir(module) if not n.startswith("_")):
            found, full = getattr(module, name), f"{path}.{name}".lstrip(".")
            if isinstance(found, cupy.ufunc):
                ufuncs[full] = sorted(found.types)
            elif not inspect.ismodule(found):
                names[full] = None if isinstance(found, type) or not callable(found) else parameters(found)
    methods = {n: parameters(getattr(cupy.ndarray, n)) for n in dir(cupy.ndarray) if not n.startswith("__")}
    return {"version": cupy.__version__, "names": names, "ufuncs": ufuncs, "ndarray": methods}


def text() -> str:
    found = facts()
    rows = [f'"version": {json.dumps(found["version"])}']
    for part in ("names", "ufuncs", "ndarray"):
        inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(found[part].items()))
        rows.append(f"{json.dumps(part)}: {{\n{inner}\n}}")
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(None if PATH.read_text() == text() else f"{PATH.name} is not what CuPy {cupy.__version__} says")
    PATH.write_text(text())
