"""The site holds the documentation of several releases, one beside the other."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

__all__ = ["RELEASE", "publish", "releases"]

#: What is being worked on, or the number of a release.
RELEASE = re.compile(r"dev|\d+(\.\d+)*")


def releases(site: Path) -> list[str]:
    """The releases that `site` holds, the newest first, what is being worked on last."""
    held = [path.name for path in site.iterdir() if path.is_dir() and RELEASE.fullmatch(path.name)]
    numbers = sorted((name for name in held if name != "dev"), key=lambda name: [int(n) for n in name.split(".")])
    return [*reversed(numbers), *(name for name in held if name == "dev")]


def publish(built: Path, site: Path, release: str) -> None:
    """Put `built` into `site` as `release`, replacing it where it was there; others stay as they are.

    ``versions.json`` has the form that mike gives it, which the theme's selector reads. The page of the site itself
    leads to the newest release.
    """
    site.mkdir(exist_ok=True)
    shutil.rmtree(site / release, ignore_errors=True)
    shutil.copytree(built, site / release)
    held = releases(site)
    entries = [{"version": name, "title": name, "aliases": ["latest"] if name == held[0] else []} for name in held]
    (site / "versions.json").write_text(json.dumps(entries, indent=1), encoding="utf-8")
    (site / "index.html").write_text(
        f'<!doctype html><title>mindtorch</title><meta http-equiv="refresh" content="0; url={held[0]}/index.html">\n',
        encoding="utf-8",
    )
