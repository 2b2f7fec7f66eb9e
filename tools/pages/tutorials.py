"""``python -m tools.pages.tutorials [NAME ...] [--write]``: run the tutorials, and compare what they print and draw.

A tutorial is a page in ``docs/tutorials``. Its blocks marked ``python`` run in order, as one program, in a process
whose ``torch`` is mindtorch. A block marked ``text`` after one of them is what it printed; ``--write`` puts it there.
Numbers may be off by rounding; where they are times, the line before the block says so:

    <!-- numbers vary -->

`savefig(name)`, which every tutorial has, leaves the current figure beside the page as ``name.svg``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .compared import apart, apart_as_drawn
from .site import DOCS, ROOT

__all__ = ["TUTORIALS", "blocks", "main"]

FOLDER = DOCS / "tutorials"
TUTORIALS = tuple(sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index"))

#: A block of code, and what is said to be printed by it.
BLOCK = re.compile(
    r"^```python(?P<options>[^\n]*)\n(?P<code>.*?)^```\n"
    r"(?P<output>\n(?P<varies><!-- numbers vary -->\n)?```text\n(?P<text>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


def blocks(page: str) -> list[re.Match[str]]:
    """The blocks of code of a page, each with its output."""
    return list(BLOCK.finditer(page))


def run_here(name: str, pictures: Path) -> list[str]:
    """Run a tutorial in this process, whose `torch` must be mindtorch; what each block printed."""
    from .plots import savefig, use_style

    use_style()
    namespace = {"__name__": "__main__", "savefig": lambda figure: savefig(pictures / f"{figure}.svg")}
    printed = []
    page = FOLDER / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    for block in blocks(text):
        line = text.count("\n", 0, block.start("code"))
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            exec(compile("\n" * line + block["code"], str(page), "exec"), namespace)  # noqa: S102
        printed.append("".join(f"{line.rstrip()}\n" for line in stdout.getvalue().splitlines()))
    return printed


def run(name: str, pictures: Path) -> list[str]:
    """Run a tutorial in a process of its own."""
    told = pictures / "printed.json"
    command = [sys.executable, "-m", "mindtorch", "run", "-m", "tools.pages.tutorials", "--child", name, str(pictures)]
    subprocess.run(command, cwd=ROOT, check=True)
    found: list[str] = json.loads(told.read_text(encoding="utf-8"))
    told.unlink()
    return found


def checked(name: str, printed: list[str], pictures: Path) -> list[str]:
    """What differs from the page and from the pictures beside it."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    differences = []
    for block, output in zip(blocks(text), printed, strict=True):
        found = apart(block["text"] or "", output, numbers=block["varies"] is None)
        if found:
            differences.append(f"{name}.md, line {text.count(chr(10), 0, block.start()) + 1}: {found}")
    drawn = {path.name for path in pictures.glob("*.svg")}
    shown = set(re.findall(r"\]\(([\w-]+\.svg)\)", text))
    differences += [
        f"{name}.md: {picture} is {'drawn' if picture in drawn else 'shown'} alone" for picture in drawn ^ shown
    ]
    for picture in sorted(drawn & shown):
        kept = FOLDER / picture
        drawn_now = (pictures / picture).read_text(encoding="utf-8")
        found = apart_as_drawn(kept.read_text(encoding="utf-8"), drawn_now) if kept.exists() else "it is not kept"
        if found:
            differences.append(f"{picture}: {found}")
    return differences


def written(name: str, printed: list[str], pictures: Path) -> None:
    """Put what was printed into the page, and the pictures beside it."""
    path = FOLDER / f"{name}.md"
    text, done, place = path.read_text(encoding="utf-8"), [], 0
    for block, output in zip(blocks(text), printed, strict=True):
        done += [text[place : block.start()], f"```python{block['options']}\n{block['code']}```\n"]
        done += [f"\n{block['varies'] or ''}```text\n{output}```\n"] if output else []
        place = block.end()
    path.write_text("".join(done) + text[place:], encoding="utf-8")
    for picture in pictures.glob("*.svg"):
        (FOLDER / picture.name).write_text(picture.read_text(encoding="utf-8"), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev tutorials", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"tutorials; all unless given: {' '.join(TUTORIALS)}")
    parser.add_argument("--write", action="store_true", help="write what they print into the pages")
    parser.add_argument("--child", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, folder = options.child
        (Path(folder) / "printed.json").write_text(json.dumps(run_here(name, Path(folder))), encoding="utf-8")
        return 0
    unknown = sorted(set(options.names) - set(TUTORIALS))
    if unknown:
        parser.error(f"no such tutorials: {' '.join(unknown)}")
    differences: list[str] = []
    for name in options.names or TUTORIALS:
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            try:
                printed = run(name, Path(folder))
            except subprocess.CalledProcessError:
                differences.append(f"{name}.md: it did not run to its end")
            else:
                found = checked(name, printed, Path(folder))
                if options.write:
                    written(name, printed, Path(folder))
                    found = []
                differences += found
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    print(*differences, sep="\n")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main())
