"""What the built files hold, whatever the code in them does."""

from __future__ import annotations

import configparser
import sysconfig
import tarfile
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[2] / "packages"
NAMES = sorted(path.name for path in PACKAGES.iterdir() if (path / "pyproject.toml").is_file())

LIBRARY = f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"

#: What a wheel holds beside the package of its name: modules that programs import by that name.
BESIDE = {"mt-backend-ascend": {"torch_npu"}}
BACKENDS = {"mt-backend-cpu": "cpu", "mt-backend-gpu": "cuda", "mt-backend-ascend": "npu"}


def members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def stem(wheel: Path) -> str:
    """``mt_core-0.1.0`` of ``mt_core-0.1.0-py3-none-any.whl``, whatever its tags."""
    return "-".join(wheel.name.split("-")[:2])


def metadata_file(wheel: Path, name: str) -> str:
    return members(wheel)[f"{stem(wheel)}.dist-info/{name}"].decode()


def metadata(wheel: Path) -> Message:
    return HeaderParser().parsestr(metadata_file(wheel, "METADATA"))


def test_every_distribution_was_built(wheels: dict[str, Path], distributions: Path) -> None:
    assert sorted(wheels) == NAMES
    assert len(list(distributions.glob("*.tar.gz"))) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_wheel_holds_its_package_and_nothing_else(wheels: dict[str, Path], name: str) -> None:
    package = name.replace("-", "_")
    roots = {path.split("/")[0] for path in members(wheels[name])}
    assert roots == {package, f"{stem(wheels[name])}.dist-info", *BESIDE.get(name, ())}
    assert f"{package}/py.typed" in members(wheels[name])


@pytest.mark.parametrize("name", NAMES)
def test_wheel_holds_every_file_of_the_source(wheels: dict[str, Path], name: str) -> None:
    source = PACKAGES / name / "src"
    # Libraries that other Pythons built in this checkout.
    of_others = {path.name for path in source.rglob("_native.*")} - {LIBRARY}
    wanted = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name not in of_others
    }
    assert wanted <= set(members(wheels[name]))


@pytest.mark.parametrize("name", NAMES)
def test_metadata(wheels: dict[str, Path], name: str) -> None:
    fields = metadata(wheels[name])
    assert fields["License-Expression"] == "Apache-2.0"
    assert fields["Requires-Python"] == ">=3.10"
    assert "Apache License" in metadata_file(wheels[name], "licenses/LICENSE")
    assert "torch" not in {requirement.split("=")[0] for requirement in fields.get_all("Requires-Dist", [])}


@pytest.mark.parametrize("name", NAMES)
def test_sdist_builds_the_same_wheel(distributions: Path, wheels: dict[str, Path], name: str) -> None:
    """What the wheel holds can be made from the sdist alone."""
    source = f"{stem(wheels[name])}/src/"
    with tarfile.open(distributions / f"{stem(wheels[name])}.tar.gz") as archive:
        held = {path.removeprefix(source) for path in archive.getnames() if path.startswith(source)}
    package = name.replace("-", "_")
    assert {path for path in members(wheels[name]) if path.startswith(f"{package}/")} <= held


@pytest.mark.parametrize(("name", "device"), sorted(BACKENDS.items()))
def test_backends_announce_their_device(wheels: dict[str, Path], name: str, device: str) -> None:
    entry_points = configparser.ConfigParser()
    entry_points.read_string(metadata_file(wheels[name], "entry_points.txt"))
    assert list(entry_points["mindtorch.backends"]) == [device]


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_library_is_only_in_a_wheel_for_its_python(
    wheels: dict[str, Path], distributions: Path, name: str
) -> None:
    """Whatever stands beside the package in the checkout that was built from."""
    compiled = {path for path in members(wheels[name]) if path.endswith((".so", ".pyd", ".dylib"))}
    assert compiled <= {f"{name.replace('-', '_')}/{LIBRARY}"}
    assert not (compiled and wheels[name].name.endswith("-any.whl"))
    (source,) = distributions.glob(f"{stem(wheels[name])}.tar.gz")
    with tarfile.open(source) as archive:
        assert not [path for path in archive.getnames() if path.endswith((".so", ".pyd", ".dylib"))]
