"""Docstrings as Markdown, for pages made here and, as an extension of griffe, for mkdocstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["AsMarkdown", "as_markdown"]

ROLE = re.compile(r":(?:class|func|meth|attr|mod|obj):`~?([^`]+)`")
SECTION = re.compile(r"(\w[\w ]*)\n-{3,}\n")
#: Sections that list names, where a sentence would be taken for one.
LISTS = {"Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns"}


def as_markdown(doc: str) -> str:
    """A docstring without roles of Sphinx, whose sentences behind a list of parameters stand before it."""
    described: list[str] = []
    listed: list[str] = []
    section = ""
    for paragraph in re.split(r"\n\n+", ROLE.sub(r"`\1`", doc).replace("``", "`")):
        header = SECTION.match(paragraph)
        section = header[1] if header else section
        sentence = section in LISTS and header is None and re.match(r"[A-Z`]", paragraph)
        if not section or sentence:
            described.append(_starred(paragraph, r".*"))
        else:
            listed.append(_starred(paragraph, r"[ \t].*") if section in LISTS else paragraph)
    return "\n\n".join([*described, *listed])


def _starred(paragraph: str, lines: str) -> str:
    """A paragraph whose stars are no emphasis, in lines like those; those of ``*args`` and of code stay."""
    if ">>>" in paragraph:
        return paragraph
    parts = re.split(r"(`[^`]*`)", paragraph)
    line = re.compile(f"^{lines}$", re.MULTILINE)
    parts[::2] = [line.sub(lambda found: re.sub(r"(?<=.)\*", r"\*", found[0]), part) for part in parts[::2]]
    return "".join(parts)


class AsMarkdown(griffe.Extension):
    """Every docstring that mkdocstrings shows goes through `as_markdown`."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
