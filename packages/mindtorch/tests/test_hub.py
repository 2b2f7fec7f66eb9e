"""Fetching weights."""

from __future__ import annotations

import hashlib

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
