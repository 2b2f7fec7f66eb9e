"""Stands in for ``cmake``: notes its calls (``FAKE_CMAKE_LOG``), and compiles what the project names with gcc."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def main(args: list[str]) -> int:
    with open(os.environ["FAKE_CMAKE_LOG"], "a", encoding="utf-8") as log:
        print(*args, file=log)
    if args[0] == "-S":
        build = Path(args[3])
        build.mkdir()
        (build / "options").write_text("\n".join([args[1], *args[4:]]), "utf-8")
        return 0
    project, *options = (Path(args[1]) / "options").read_text("utf-8").splitlines()
    found = re.search(r"ascendc_library\((\w+) SHARED (.*)\)", (Path(project) / "CMakeLists.txt").read_text("utf-8"))
    assert found is not None
    out = Path(next(o.partition("=")[2] for o in options if o.startswith("-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=")))
    out.mkdir()
    sources = re.findall(r'"([^"]*)"', found[2])
    return subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(out / f"lib{found[1]}.so"), *sources]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
