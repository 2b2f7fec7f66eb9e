"""Which area of the standard library does a docstring belong to? The examples for the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from corpus import Entry

AREAS = {
    "graphics": "colorsys curses tkinter turtle",
    "network": "cgi ftplib http imaplib ipaddress nntplib poplib smtplib socket socketserver ssl telnetlib urllib "
    "webbrowser wsgiref xmlrpc",
    "mail and markup": "email html mailbox mailcap mimetypes quopri xml",
    "concurrency": "asyncio concurrent multiprocessing queue sched subprocess threading",
    "numbers and time": "calendar cmath datetime decimal fractions math numbers random statistics time zoneinfo",
    "files": "bz2 filecmp fileinput fnmatch genericpath glob gzip io lzma ntpath os pathlib posixpath shelve shutil "
    "stat tarfile tempfile zipfile zlib",
    "testing and debugging": "bdb cProfile doctest logging pdb profile pstats pydoc timeit trace traceback tracemalloc "
    "unittest warnings",
    "language": "abc ast builtins collections contextlib copy dataclasses dis enum functools importlib inspect "
    "itertools operator symtable sys tokenize types typing weakref",
}
AREA_OF_MODULE = {module: area for area, modules in AREAS.items() for module in modules.split()}
LABELS = {area: label for label, area in enumerate(AREAS)}


class Example(NamedTuple):
    """A docstring and the index of its area in `AREAS`. The name is left out: it would give the answer away."""

    text: str
    label: int


def examples(entries: Sequence[Entry]) -> list[Example]:
    """The entries whose module belongs to one of the areas."""
    return [
        Example(entry.docstring, LABELS[AREA_OF_MODULE[entry.module]])
        for entry in entries
        if entry.module in AREA_OF_MODULE
    ]


def split(
    examples: Sequence[Example], train: int, held_out: int, generator: torch.Generator
) -> tuple[list[Example], list[Example]]:
    """Two random disjoint selections, for training and for measuring what was learned."""
    order = torch.randperm(len(examples), generator=generator).tolist()
    chosen = [examples[index] for index in order[: train + held_out]]
    return chosen[:train], chosen[train:]
