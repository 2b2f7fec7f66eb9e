"""The build hook of the native library: what is built, what is left out and said, what is an error; and the loader."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

import pytest

from mt_backend_cpu import native

PACKAGE = Path(__file__).parents[1]
LIBRARY = f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"


class App:
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module `hatch_build`, on a stand-in for hatchling, which is there only while a distribution is built."""
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object  # type: ignore[attr-defined]
    parts = interface.__name__.split(".")
    for count in range(1, len(parts)):
        name = ".".join(parts[:count])
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.delenv("MINDTORCH_NATIVE_BUILD", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    spec = importlib.util.spec_from_file_location("hatch_build_of_test", PACKAGE / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(hook: Any, root: Path, version: str = "standard", target: str = "wheel") -> tuple[dict[str, Any], list[str]]:
    """What the hook puts into the build's data, and what it says."""
    made = hook.NativeLibrary()
    made.target_name, made.app, made.root = target, App(), str(root)
    data: dict[str, Any] = {"force_include": {}}
    made.initialize(version, data)
    return data, made.app.warnings


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "native").mkdir()
    (tmp_path / "native" / "kernel.cpp").write_text("int kernel;")
    (tmp_path / "src" / "mt_backend_cpu").mkdir(parents=True)
    return tmp_path


def test_without_a_compiler_the_wheel_is_pure_and_says_so(hook: Any, sources: Path, monkeypatch) -> None:
    monkeypatch.setattr(hook.shutil, "which", lambda name, path=None: None)
    monkeypatch.setattr(hook, "build", lambda *given: pytest.fail("nothing can be built"))
    data, said = built(hook, sources)
    assert data == {"force_include": {}}
    assert len(said) == 1 and "there is no C++ compiler" in said[0] and "NumPy" in said[0]


def test_what_the_environment_leaves_out_is_left_out(hook: Any, sources: Path, monkeypatch) -> None:
    monkeypatch.setenv("MINDTORCH_NATIVE_BUILD", "0")
    monkeypatch.setattr(hook, "build", lambda *given: pytest.fail("it is left out"))
    data, said = built(hook, sources)
    assert data == {"force_include": {}} and "MINDTORCH_NATIVE_BUILD=0" in said[0]
    monkeypatch.delenv("MINDTORCH_NATIVE_BUILD")
    assert built(hook, sources, target="sdist") == ({"force_include": {}}, [])


def test_a_library_of_these_sources_is_not_built_again(hook: Any, sources: Path, monkeypatch) -> None:
    calls: list[str] = []

    def build(native_sources: Path, wanted: str, library: Path) -> None:
        calls.append(wanted)
        library.write_bytes(b"before " + wanted.encode() + b" after")

    monkeypatch.setattr(hook, "build", build)
    monkeypatch.setattr(hook.shutil, "which", lambda name, path=None: "/bin/c++")
    library = sources / "src" / "mt_backend_cpu" / LIBRARY
    for version, included in (("standard", {str(library): f"mt_backend_cpu/{LIBRARY}"}), ("editable", {})):
        data, said = built(hook, sources, version)
        assert data == {"force_include": included, "pure_python": False, "infer_tag": True} and said == []
    assert len(calls) == 1
    (sources / "native" / "kernel.cpp").write_text("int other;")
    built(hook, sources)
    assert len(calls) == 2 and calls[0] != calls[1]


def test_a_build_that_fails_is_an_error_with_its_words(hook: Any) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)mt-backend-cpu: .* failed.*the compiler's words"):
        hook.run([sys.executable, "-c", "import sys; sys.exit('the compiler\\'s words')"], {})


def test_only_the_hook_puts_a_library_into_an_archive() -> None:
    """Of a checkout in which the library stands beside the package, for this Python or another."""
    text = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
    assert '\n[tool.hatch.build]\nexclude = ["/src/mt_backend_cpu/_native.*"]\n' in text


def test_a_library_that_does_not_load_is_an_error_with_the_loaders_words(tmp_path: Path, monkeypatch) -> None:
    broken = tmp_path / LIBRARY
    broken.write_bytes(b"\x7fELF is how it begins")
    name = "mt_backend_cpu._native"

    class Finder:
        @staticmethod
        def find_spec(wanted: str, path: Any = None, target: Any = None) -> Any:
            return importlib.util.spec_from_file_location(name, broken) if wanted == name else None

    monkeypatch.delenv("MINDTORCH_NATIVE", raising=False)
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with pytest.raises(ImportError, match=str(broken)):
        native._load()


def test_without_a_library_kernels_run_on_numpy_and_doctor_says_so(monkeypatch) -> None:
    monkeypatch.delenv("MINDTORCH_NATIVE", raising=False)
    monkeypatch.setattr(native.importlib.util, "find_spec", lambda name: None)
    library, state = native._load()
    assert library is None and "no C++ compiler" in state and "NumPy" in state
