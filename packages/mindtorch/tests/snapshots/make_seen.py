"""Store in `seen.json` what PyTorch shows of the results of `seen_programs.py`; with ``--check``, compare."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from seen_programs import seen_of

PATH = Path(__file__).with_name("seen.json")


def main() -> int:
    found = dict(seen_of(torch))
    if "--check" not in sys.argv:
        PATH.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
        print(f"{len(found)} results")
        return 0
    stored = json.loads(PATH.read_text())
    different = [words for words in sorted({*stored, *found}) if stored.get(words) != found.get(words)]
    print("\n".join(f"{words}: {found.get(words)}, where {stored.get(words)} is stored" for words in different))
    return bool(different)


if __name__ == "__main__":
    raise SystemExit(main())
