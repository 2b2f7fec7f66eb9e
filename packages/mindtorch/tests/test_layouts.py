"""Results are laid out as PyTorch lays them out, whatever memory format their input has."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mindtorch
from mt_core.dispatch.lookup import backend_for
from mt_core.keys import CPU

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from layout_programs import FORMATS, PROGRAMS, layouts_of  # noqa: E402 - found beside the snapshot

STORED = json.loads((SNAPSHOTS / "layouts.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found() -> dict[str, list[object]]:
    return dict(layouts_of(mindtorch))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_strides_of_results_and_gradients_are_pytorchs(found, kind, format_):
    start = f"{kind}, {format_}: "
    different = {
        words: (strides, STORED[words])
        for words, strides in found.items()
        if words.startswith(start) and strides != STORED[words]
    }
    assert not different


def test_the_snapshot_holds_what_is_asked(found):
    assert found.keys() == STORED.keys()


@pytest.mark.parametrize(
    ("program", "copies_allowed"),
    [
        ("F.conv2d(x, torch.ones(8, 4, 3, 3))", 0),
        ("F.max_pool2d(x, 2)", 0),
        ("F.interpolate(x, scale_factor=2)", 0),
        ("F.interpolate(x, size=(3, 5), mode='bilinear')", 0),
        ("F.pad(x, (1, 1, 1, 1), mode='reflect')", 0),
        ("F.pixel_shuffle(x, 2)", 1),  # which is what it does
        ("F.channel_shuffle(x, 2)", 1),
    ],
)
def test_what_is_laid_out_already_is_not_copied(monkeypatch, program, copies_allowed):
    x = mindtorch.ones(2, 4, 6, 8).contiguous(memory_format=mindtorch.channels_last)
    sizes = []
    copy = type(backend_for(CPU)).copy
    monkeypatch.setattr(
        type(backend_for(CPU)), "copy", lambda self, to, of: (sizes.append(to.size), copy(self, to, of))[1]
    )
    result = eval(program, {"torch": mindtorch, "F": mindtorch.nn.functional, "x": x})  # noqa: S307 - our own words
    assert result.is_contiguous(memory_format=mindtorch.channels_last)
    assert sum(size >= result.numel() for size in sizes) == copies_allowed
