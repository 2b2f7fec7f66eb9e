"""Operators that a test declares are gone after it, so that no other test counts them among PyTorch's."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from mt_core.dispatch.registry import DECLARATIONS
from mt_library.library import Library


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take every library that the test made away again, those of custom operators among them."""
    made: list[weakref.ref[Library]] = []  # weak: tests let go of libraries to see what happens
    begin = Library.__init__

    def record(self: Library, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        made.append(weakref.ref(self))

    before = set(DECLARATIONS)
    with monkeypatch.context() as patch:
        patch.setattr(Library, "__init__", record)
        yield
    for library in filter(None, (reference() for reference in made)):
        library._destroy()
    left = {name for name in DECLARATIONS if "::" in name} - before
    assert not left, f"operators that no library takes away: {sorted(left)}"
