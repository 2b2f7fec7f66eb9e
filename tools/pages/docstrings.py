"""Docstrings as Markdown, for pages made here and, as an extension of griffe, for mkdocstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["AsMarkdown", "as_markdown"]

ROLE = re.compile(r":(?:class|func|meth|attr|mod|obj):`~?([^`]+)`")
# A line that starts a sentence about shapes, which would else be taken for a parameter.
SHAPE = re.compile(r"^Shape: (.*(?:\n(?!\n).+)*)$", re.MULTILINE)


def as_markdown(doc: str) -> str:
    """A docstring without roles of Sphinx; its sentence about shapes stands before the tables."""
    doc = ROLE.sub(r"`\1`", doc).replace("``", "`")
    shapes = SHAPE.findall(doc)
    if not shapes:
        return doc
    first, _, rest = SHAPE.sub("", doc).partition("\n\n")
    return "\n\n".join([first, *(f"Shape: `{' '.join(shape.split()).rstrip('.')}`." for shape in shapes), rest])


class AsMarkdown(griffe.Extension):
    """Every docstring that mkdocstrings shows goes through `as_markdown`."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
