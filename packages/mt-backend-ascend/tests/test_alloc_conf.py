"""`PYTORCH_NPU_ALLOC_CONF`: what is taken is in effect, everything else is refused by name."""

from __future__ import annotations

import pytest

from mt_backend_ascend.alloc_conf import AllocatorSettings, settings_of


def test_what_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_of("") == settings_of("expandable_segments:False") == AllocatorSettings()
    assert settings_of(" max_split_size_mb:32 , garbage_collection_threshold:0.6 ") == (32 << 20, 0.6)
    monkeypatch.setenv("PYTORCH_NPU_ALLOC_CONF", "max_split_size_mb:21")
    assert settings_of().max_split_size == 21 << 20


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("expandable_segments:True", NotImplementedError, "expandable_segments:True is not implemented"),
        ("expandable_segments:1", RuntimeError, "single True/False"),
        ("page_size:1g", NotImplementedError, "page_size is not implemented"),
        ("max_split_size_mb:20", RuntimeError, "must be > 20 MB"),
        ("max_split_size_mb:many", RuntimeError, "no whole number"),
        ("garbage_collection_threshold:0", RuntimeError, "too small"),
        ("garbage_collection_threshold:1.0", RuntimeError, "too big"),
        ("garbage_collection_threshold:x", RuntimeError, "no number"),
        ("roundup:4", RuntimeError, "unrecognized CachingAllocator option: roundup"),
    ],
)
def test_what_is_refused(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        settings_of(text)
