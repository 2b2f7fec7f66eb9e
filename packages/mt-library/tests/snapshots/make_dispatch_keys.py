"""Write dispatch_keys.json: the words at which PyTorch registers kernels, and those that it refuses.

Run with PyTorch 2.13: ``python make_dispatch_keys.py [--check]``.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from writing import write_or_check

#: Words that are no members of the class: device types, old keys, mistakes.
OTHERS = """
    Batched Named Tracer VmapMode Tracing Functionalize cpu cuda meta CPU,CUDA Cpu cPU AutogradCpu autograd nonsense
    CompositeExplicit CompositeImplicit PrivateUse4 AutogradPrivateUse4 privateuseone NPU npu
""".split()


def words() -> list[str]:
    members = [name for name in dir(torch._C.DispatchKey) if not name.startswith("_") and name not in ("name", "value")]
    return sorted({*members, *OTHERS})


def main() -> None:
    warnings.simplefilter("ignore")
    library = torch.library.Library("snapshot", "DEF")
    found = {"Library.impl": {}, "library.impl": {}}
    for i, word in enumerate(words()):
        library.define(f"method{i}(Tensor x) -> Tensor")
        library.define(f"function{i}(Tensor x) -> Tensor")
        found["Library.impl"][word] = takes(library.impl, f"method{i}", abs, word)
        found["library.impl"][word] = takes(torch.library.impl, f"snapshot::function{i}", word, abs)
    write_or_check(Path(__file__).with_name("dispatch_keys.json"), json.dumps(found, indent=0) + "\n")


def takes(register: Callable[..., object], *arguments: object) -> bool:
    try:
        register(*arguments)
    except RuntimeError:
        return False
    return True


if __name__ == "__main__":
    main()
