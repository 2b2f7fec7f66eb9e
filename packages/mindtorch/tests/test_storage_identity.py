"""Which storages are of the same bytes, as programs that save tensors ask."""

from __future__ import annotations

import mindtorch as torch


def test_typed_storages_tell_whether_they_share_bytes() -> None:
    x = torch.ones(2)
    typed = torch.TypedStorage(wrap_storage=x.untyped_storage(), dtype=torch.float32, _internal=True)
    other = x.clone()
    assert typed._cdata == x.untyped_storage()._cdata == x.view(1, 2).untyped_storage()._cdata
    assert typed._cdata != other.untyped_storage()._cdata
