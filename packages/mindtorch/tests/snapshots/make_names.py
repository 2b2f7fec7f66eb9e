"""``python make_names.py [--check]``, with PyTorch: what its public names say of themselves, written to names.json."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from public_names import described
from writing import write_or_check

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    lines = [f"{json.dumps(module)}: {json.dumps(names, sort_keys=True)}" for module, names in described().items()]
    write_or_check(Path(__file__).with_name("names.json"), "{\n" + ",\n".join(lines) + "\n}\n")
