"""Write the options that ``torch.compile`` takes, and the types that it checks, where mindtorch reads them.

Run with PyTorch 2.13: ``python make_inductor_options.py [--check]``.
"""

from __future__ import annotations

import json
import typing
from pathlib import Path

from torch._inductor import config
from writing import write_or_check

TARGET = Path(__file__).parents[2] / "src/mindtorch/_inductor_options.json"


def main() -> None:
    options: dict[str, str | None] = {}
    for name in config.get_config_copy():
        kind = config.get_type(name)
        is_checked = typing.get_origin(kind) is None and kind in (bool, int, float, str, tuple, list)
        options[name] = kind.__name__ if is_checked else None
    write_or_check(TARGET, json.dumps(options, indent=0) + "\n")


if __name__ == "__main__":
    main()
