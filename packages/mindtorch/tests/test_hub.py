"""Fetching weights."""

from __future__ import annotations

import hashlib
import re
import sys
import textwrap

import pytest

import mindtorch as torch


@pytest.fixture
def weights(tmp_path):
    """A URL of saved weights, and the SHA-256 of the file."""
    path = tmp_path / "weights.pth"
    torch.save({"weight": torch.arange(3)}, path)
    return path.as_uri(), hashlib.sha256(path.read_bytes()).hexdigest()


def test_fetched_weights_are_loaded_and_kept(weights, tmp_path):
    url, _ = weights
    loaded = torch.hub.load_state_dict_from_url(url, model_dir=tmp_path / "kept")
    assert loaded["weight"].tolist() == [0, 1, 2]
    (tmp_path / "weights.pth").unlink()
    assert torch.hub.load_state_dict_from_url(url, model_dir=tmp_path / "kept")["weight"].tolist() == [0, 1, 2]


def test_a_file_with_the_wrong_hash_is_not_kept(weights, tmp_path):
    url, digest = weights
    target = tmp_path / "target.pth"
    torch.hub.download_url_to_file(url, str(target), hash_prefix=digest[:8])
    target.unlink()
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00000000"'):
        torch.hub.download_url_to_file(url, str(target), hash_prefix="00000000")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["weights.pth"]


def test_the_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.hub, "_directory", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert torch.hub.get_dir() == str(tmp_path / "hub")
    torch.hub.set_dir(tmp_path / "other")
    assert torch.hub.get_dir() == str(tmp_path / "other")


@pytest.fixture
def folder(tmp_path):
    """A folder that describes models."""
    program = """
        import sys
        import beside

        dependencies = ["math"]
        number = 3

        def model(first, second=1):
            return first, second, beside.NAME, sys.path[0]
    """
    (tmp_path / "hubconf.py").write_text(textwrap.dedent(program))
    (tmp_path / "beside.py").write_text("NAME = 'beside'")
    yield str(tmp_path)
    sys.modules.pop("beside", None)


def test_models_of_a_folder_are_called_with_it_on_the_path(folder):
    path = list(sys.path)
    assert torch.hub.load(folder, "model", 2, source="local", second=3) == (2, 3, "beside", folder)
    assert sys.path == path and "hubconf" not in sys.modules


@pytest.mark.parametrize(
    ("model", "source", "error", "text"),
    [
        ("number", "local", RuntimeError, "Cannot find callable number in hubconf"),
        ("missing", "local", RuntimeError, "Cannot find callable missing in hubconf"),
        (3, "local", ValueError, "Invalid input: model should be a string of function name"),
        ("model", "elsewhere", ValueError, 'Unknown source: "elsewhere". Allowed values: "github" | "local".'),
        ("model", "github", NotImplementedError, "is not supported by mindtorch"),
    ],
)
def test_what_is_no_model_of_a_folder_is_refused(folder, model, source, error, text):
    path = list(sys.path)
    with pytest.raises(error, match=re.escape(text)):
        torch.hub.load(folder, model, source=source)
    assert sys.path == path


def test_missing_dependencies_are_named(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['math', 'no_such_a', 'no_such_b']")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_a, no_such_b"):
        torch.hub.load(tmp_path, "model", source="local")
