"""Python's own pickles that PyTorch wrote open here: what they name can be imported under PyTorch's name."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import mindtorch
mindtorch.install_as_torch()
import importlib, pickle
from mt_core.serialization import names
names.resolve("torch.nn", "Linear")
called = [name for name in names._own_of if name[0] == "torch._utils"]
assert len(called) > 10
for module, name in called:
    assert getattr(importlib.import_module(module), name) is names.resolve(module, name), name
    assert pickle.loads(f"c{module}\\n{name}\\n.".encode()) is names.resolve(module, name)
"""


def test_what_pytorchs_pickles_call_is_found():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)
