"""``python -m tools.pages [--release VERSION]``: build the documentation into ``site/dev/`` or ``site/VERSION/``.

Fails on links that lead nowhere.
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
from .releases import RELEASE, publish
from .site import BUILT, DOCS, ROOT, SITE, STAGED, not_in_navigation


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


def dead_pictures() -> list[str]:
    """Pictures that pages show and that are not there: the builder checks links alone."""
    dead = []
    for page in BUILT.rglob("*.html"):
        for source in re.findall(r'<img[^>]* src="([^":#]+)', page.read_text(encoding="utf-8")):
            if not (page.parent / source).exists():
                dead.append(f"{page.relative_to(BUILT)}: {source}")
    return dead


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev docs", description=__doc__)
    parser.add_argument("--release", default="dev", help="the folder in the site, and the line in the selector")
    release = parser.parse_args().release
    if not RELEASE.fullmatch(release):
        parser.error(f"{release!r} is neither 'dev' nor a release such as 0.2 or 1.0.3")
    stage()
    missing = not_in_navigation(path.relative_to(STAGED).as_posix() for path in STAGED.rglob("*.md"))
    if missing:
        print("mkdocs.yml does not name", *missing)
        return 1
    shutil.rmtree(BUILT, ignore_errors=True)
    builder = Path(sys.executable).with_name("zensical")
    outcome = subprocess.run([builder, "build", "--clean", "--strict"], cwd=ROOT)
    if outcome.returncode:
        return outcome.returncode
    dead = dead_pictures()
    if dead:
        print(*(f"no picture: {picture}" for picture in dead), sep="\n")
        return 1
    publish(BUILT, SITE, release)
    return 0


if __name__ == "__main__":
    sys.exit(main())
