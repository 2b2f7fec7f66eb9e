"""``python -m tools.opgen [--check]``: write the generated files, or fail when they are not up to date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import stubs, wrappers
from .load import load_declarations
from .packets import packets_of
from .reference import operator_reference

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "packages" / "mt-core" / "src" / "mt_core"


def generated() -> dict[Path, str]:
    """Every generated file and what it should hold."""
    declarations = load_declarations(CORE)
    packets = packets_of(declarations)
    return {
        CORE / "api" / "_functions.py": wrappers.functions_module(packets),
        CORE / "api" / "_methods.py": wrappers.methods_module(packets),
        CORE / "api" / "_functions.pyi": stubs.functions_stub(packets),
        CORE / "api" / "_methods.pyi": stubs.methods_stub(packets),
        ROOT / "docs" / "operators.md": operator_reference(packets),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    options = parser.parse_args()
    stale = []
    for path, text in generated().items():
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.relative_to(ROOT))
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for path in stale:
        print(f"{'out of date' if options.check else 'wrote'}: {path}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
