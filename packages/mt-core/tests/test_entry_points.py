"""Entry points are read as `importlib.metadata` reads them, in a fraction of its time."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import time
import zipfile
from pathlib import Path

import pytest

from mt_core.plugins.entry_points import GROUPS, OWN_DISTRIBUTIONS, EntryPoint, all_entry_points, read_groups

TOY = "[mindtorch.backends]\ntoy = toy.plugin:backend\n"
ODD = """
# a comment
[console_scripts]
toy = toy:main

[mindtorch.extensions]
  spaced   =   toy.extension : register
with.dots-and dashes = toy.a.b:C.d [extra,other]
equals = toy:a=b
[mindtorch.layers]
module = toy.layer
[mindtorch.backends]

twice = toy:one
twice = toy:two
"""


def distribution(folder: Path, stem: str, text: str | None, name: str | None = None) -> None:
    info = folder / stem
    info.mkdir(parents=True)
    (info / ("PKG-INFO" if "egg" in stem.lower() else "METADATA")).write_text(
        f"Metadata-Version: 2.1\nName: {name or stem.partition('-')[0]}\nVersion: 1.0\n"
    )
    if text is not None:
        (info / "entry_points.txt").write_text(text)


@pytest.fixture
def path(tmp_path: Path) -> list[str]:
    """Two folders, an egg, a wheel and a folder that does not exist."""
    first, second = tmp_path / "first", tmp_path / "second"
    distribution(first, "toy-1.0.dist-info", TOY)
    distribution(first, "Odd_Name.x-2.0.dist-info", ODD)
    distribution(first, "hides-1.0.dist-info", None)
    distribution(first, "old.egg-info", TOY.replace("toy", "old"))
    (first / "file-1.0-py3.10.egg-info").write_text("Metadata-Version: 1.0\nName: file\nVersion: 1.0\n")
    (first / "package").mkdir()
    distribution(second, "toy-0.9.dist-info", TOY.replace("plugin", "stale"))
    distribution(second, "hides-0.9.dist-info", TOY.replace("toy", "hidden"))
    distribution(second, "later-1.0-py3.10.egg-info", TOY.replace("toy", "later"))
    distribution(second, "umlaut-1.0.dist-info", TOY.replace("toy", "größe"))
    distribution(tmp_path / "laid-1.0-py3.10.egg", "EGG-INFO", TOY.replace("toy", "laid"), "laid")
    wheel = tmp_path / "packed.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("packed-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: packed\nVersion: 1.0\n")
        archive.writestr("packed-1.0.dist-info/entry_points.txt", TOY.replace("toy", "packed"))
    egg = tmp_path / "laid-1.0-py3.10.egg"
    return [str(first), str(second), str(first), str(egg), str(wheel), str(tmp_path / "nowhere")]


def theirs(path: list[str], monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str, str]]:
    """What `importlib.metadata` finds on a path."""
    monkeypatch.setattr(sys, "path", path)
    return told()


def told() -> set[tuple[str, str, str]]:
    return {(p.group, p.name, p.value) for group in GROUPS for p in importlib.metadata.entry_points(group=group)}


def test_finds_what_importlib_metadata_finds(path: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(p.group, p.name, p.value) for p in read_groups(path)]
    expected = theirs(path, monkeypatch)
    assert set(found) == expected
    assert len(found) == len(set(found))
    names = {name for _, name, _ in found}
    assert {"toy", "old", "later", "laid", "packed", "größe", "module", "spaced", "twice"} <= names
    assert "hidden" not in names and ("mindtorch.backends", "toy", "toy.stale:backend") not in found


def test_a_line_that_is_no_entry_point_harms_no_other(tmp_path: Path) -> None:
    """It stops importlib.metadata, for every distribution on the path."""
    distribution(tmp_path, "toy-1.0.dist-info", "[mindtorch.layers]\nno value\n" + TOY)
    assert [point.name for point in read_groups([str(tmp_path)])] == ["toy"]


def test_finds_what_importlib_metadata_finds_in_this_environment() -> None:
    ours = {(p.group, p.name, p.value) for p in read_groups(sys.path)}
    assert ours == told() and len(ours) > 3


def test_parts_of_a_value_are_those_of_importlib_metadata() -> None:
    for value in "a", "a.b:c", "a.b : c.d", "a:b [x,y]", "a [x]", "a.b:c.d[x]":
        their = importlib.metadata.EntryPoint("name", value, "group")
        ours = EntryPoint("group", "name", value, "dist")
        assert (ours.module, ours.attr) == (their.module, their.attr or "")
    with pytest.raises(ValueError, match="names no module"):
        EntryPoint("group", "name", "not a module", "dist").module  # noqa: B018


def test_loads_what_the_value_names() -> None:
    assert EntryPoint("g", "n", "os.path:join", "d").load() is os.path.join
    assert EntryPoint("g", "n", "zipfile:ZipFile.read", "d").load() is zipfile.ZipFile.read
    assert EntryPoint("g", "n", "zipfile", "d").load() is zipfile


def test_the_current_folder_on_the_path(path: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path[0])
    assert "toy" in {point.name for point in read_groups([""])}


def test_distributions_of_other_finders(path: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(importlib.metadata.distributions(path=path[:1]))

    class Finder:
        def find_spec(self, *args: object) -> None:
            return None

        def find_distributions(self, context: object = None):
            return found

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert "toy" in {point.name for point in read_groups([])}


def test_third_parties_can_be_switched_off(path: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*path, *sys.path])
    monkeypatch.setenv("MINDTORCH_PLUGINS", "1")
    assert "toy" in all_entry_points.__wrapped__()["mindtorch.backends"]
    monkeypatch.setenv("MINDTORCH_PLUGINS", "0")
    left = all_entry_points.__wrapped__()
    assert {point.distribution for point in _all(left)} <= OWN_DISTRIBUTIONS
    assert "mt_backend_cpu" in {point.module.partition(".")[0] for point in _all(left)}
    monkeypatch.setenv("MINDTORCH_PLUGINS", "no")
    with pytest.raises(RuntimeError, match="MINDTORCH_PLUGINS must be 0 or 1, not 'no'"):
        all_entry_points.__wrapped__()


def _all(groups: dict[str, dict[str, list[EntryPoint]]]) -> list[EntryPoint]:
    return [point for group in groups.values() for same in group.values() for point in same]


def test_own_distributions_are_those_of_the_repository() -> None:
    packages = Path(__file__).parents[2]
    if not (packages / "mt-core").is_dir():
        pytest.skip("the other distributions are part of the repository")
    # One of them is to come.
    assert {path.parent.name for path in packages.glob("*/pyproject.toml")} == OWN_DISTRIBUTIONS


def _best(path: list[str]) -> float:
    times = []
    for _ in range(30):
        start = time.perf_counter()
        list(read_groups(path))
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


@pytest.mark.parametrize(("count", "milliseconds"), [(20, 1.0), (300, 15.0)])
def test_the_scan_is_quick(tmp_path: Path, count: int, milliseconds: float) -> None:
    for i in range(count):
        distribution(tmp_path, f"dist_number_{i}-1.0.dist-info", "[console_scripts]\na = b:c\n" if i % 2 else None)
    assert _best([str(tmp_path)]) <= milliseconds


def test_importing_does_not_load_importlib_metadata() -> None:
    import subprocess

    program = "import sys, mt_core; sys.exit('importlib.metadata' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
