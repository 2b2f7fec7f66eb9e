"""Record in `native_accuracy.json` how exact PyTorch's elementwise functions are: ``make_native_accuracy.py``.

"pytorch": function -> kind of samples -> its largest error in units in the last place, over 2^20 bit patterns and all
special values (`native_accuracy`). "ours": function -> level -> the same of the native library, where it is larger than
PyTorch's and than 2; it is meant to be empty. ``--check`` measures both again: ours must be within what is recorded,
and PyTorch's be what it was, where it uses the same instructions. It needs PyTorch 2.13 and the packages.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from native_accuracy import ALLOWED, FUNCTIONS, PATH, largest, measure, recorded, worse

from mt_backend_cpu import native
from mt_core.testing.namespace import namespace


def of_library(name: str, allowed: dict[str, float]) -> dict[str, dict[str, float]]:
    """Level -> the library's largest errors by kind, where they are more than what is allowed."""
    found = {}
    level = native.library.level()
    for each in native.library.levels():
        native.library.use_level(each)
        late = worse(largest(*measure(namespace(), name)), allowed)
        if late:
            found[each] = late
    native.library.use_level(level)
    return found


def main() -> int:
    if native.library is None:
        print(f"errors of the native library are not measured: {native.state}")
        return 0
    torch.set_num_threads(1)
    made: dict[str, Any] = {"instructions": torch.backends.cpu.get_cpu_capability(), "pytorch": {}, "ours": {}}
    for name in FUNCTIONS:
        made["pytorch"][name] = largest(*measure(torch, name))
        late = of_library(name, made["pytorch"][name])
        if late:
            made["ours"][name] = late
    if "--check" not in sys.argv:
        PATH.write_text(json.dumps(made, indent=0) + "\n", encoding="utf-8")
        return 0
    before = recorded()
    wrong = [
        f"{name}, {level}: larger errors than {ALLOWED} and PyTorch's: {more}"
        for name, levels in made["ours"].items() for level, late in levels.items()
        if (more := worse(late, before["ours"].get(name, {}).get(level, {})))
    ]  # fmt: skip
    if made["instructions"] == before["instructions"]:
        wrong += [f"{n}: PyTorch's errors are not those recorded" for n in FUNCTIONS
                  if made["pytorch"][n] != before["pytorch"].get(n)]  # fmt: skip
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
