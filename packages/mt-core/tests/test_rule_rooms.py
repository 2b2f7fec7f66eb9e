"""Rules of a layer are read once, whoever asks first."""

from __future__ import annotations

import sys
import textwrap
import threading

import pytest

from mt_core.layers.rule_room import RuleRoom

SLOW = """
import threading
from room_owner import ROOM, HALF_READ, GO_ON

@ROOM.rule("first")
def first():
    return 1

assert ROOM.find("first") is first
assert ROOM.find("second") is None
HALF_READ.set()
assert GO_ON.wait(30)

@ROOM.rule("second", "third")
def second():
    return 2
"""


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A room whose one module stops in its middle until it is told to go on."""
    (tmp_path / "room_of_rules").mkdir()
    (tmp_path / "room_of_rules" / "__init__.py").write_text("")
    (tmp_path / "room_of_rules" / "slow.py").write_text(textwrap.dedent(SLOW))
    owner = type(sys)("room_owner")
    owner.ROOM, owner.HALF_READ, owner.GO_ON = RuleRoom("room_of_rules"), threading.Event(), threading.Event()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "room_owner", owner)
    yield owner
    for name in ("room_of_rules", "room_of_rules.slow"):
        sys.modules.pop(name, None)


def test_threads_find_all_rules_whoever_asks_while_they_are_read(room):
    found = {}
    asking = [threading.Thread(target=lambda n=n: found.update({n: room.ROOM.find(n)})) for n in ("first", "second")]
    asking[0].start()
    assert room.HALF_READ.wait(30)
    asking[1].start()  # half of the rules are entered, and the one it asks for is not among them
    asking[1].join(0.05)
    room.GO_ON.set()
    for thread in asking:
        thread.join(30)
    assert found["first"]() == 1
    assert found["second"]() == 2
    assert room.ROOM.find("third") is found["second"]
    assert room.ROOM.find("fourth") is None
