"""``python -m tools.pages``: build the documentation into ``site/``; fails on links that lead nowhere.

Pages stand in ``docs/``. Those that derive from code (operators, namespaces, differences) are made anew for each build
and are not kept.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .differences import differences_page
from .figures import draw_figures
from .namespaces import namespace_pages
from .operators import operator_pages
from .site import DOCS, ROOT, SITE, STAGED


def stage() -> None:
    """The pages as the builder reads them."""
    shutil.rmtree(STAGED, ignore_errors=True)
    shutil.copytree(DOCS, STAGED)
    pages = {"differences.md": differences_page(), **operator_pages(), **namespace_pages()}
    for name, text in pages.items():
        path = STAGED / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    draw_figures(STAGED)


def not_in_navigation() -> list[str]:
    """Pages that no line of the navigation names."""
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    return sorted({path.relative_to(STAGED).as_posix() for path in STAGED.rglob("*.md")} - named)


def dead_pictures() -> list[str]:
    """Pictures that pages show and that are not there: the builder checks links alone."""
    dead = []
    for page in SITE.rglob("*.html"):
        for source in re.findall(r'<img[^>]* src="([^":#]+)', page.read_text(encoding="utf-8")):
            if not (page.parent / source).exists():
                dead.append(f"{page.relative_to(SITE)}: {source}")
    return dead


def main() -> int:
    argparse.ArgumentParser(prog="./dev docs", description=__doc__).parse_args()
    stage()
    missing = not_in_navigation()
    if missing:
        print("mkdocs.yml does not name", *missing)
        return 1
    shutil.rmtree(SITE, ignore_errors=True)
    builder = Path(sys.executable).with_name("zensical")
    outcome = subprocess.run([builder, "build", "--clean", "--strict"], cwd=ROOT)
    if outcome.returncode:
        return outcome.returncode
    dead = dead_pictures()
    print(*(f"no picture: {picture}" for picture in dead), sep="\n", end="\n" if dead else "")
    return bool(dead)


if __name__ == "__main__":
    sys.exit(main())
