"""Write the signatures of MindSpore's communication functions: ``python make_hccl_signatures.py [--check]``.

It needs MindSpore 2.10. A default is written as its text.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

SNAPSHOT = Path(__file__).with_name("hccl_signatures.json")
NAMES = """
all_gather_into_tensor all_reduce all_to_all_single barrier broadcast destroy_process_group init_process_group irecv
is_initialized isend new_group reduce reduce_scatter_tensor
""".split()


def signatures() -> dict[str, list[list[str]]]:
    """Name -> (parameter, text of its default or nothing), in order."""
    from mindspore.mint import distributed  # lazy: the names are read without it

    return {
        name: [
            [p.name, *([] if p.default is p.empty else [repr(p.default)])]
            for p in inspect.signature(getattr(distributed, name)).parameters.values()
        ]
        for name in NAMES
    }


if __name__ == "__main__":
    text = json.dumps(signatures(), indent=1) + "\n"
    if "--check" in sys.argv[1:]:
        sys.exit(SNAPSHOT.read_text(encoding="utf-8") != text)
    SNAPSHOT.write_text(text, encoding="utf-8")
