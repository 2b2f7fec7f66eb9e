"""``torch.storage``: blocks of bytes, and PyTorch's deprecated views of them as elements of one dtype."""

from __future__ import annotations

from mt_core.serialization.loading import _load_from_bytes as _load_from_bytes
from mt_core.storage import UntypedStorage as UntypedStorage
from mt_core.typed_storage import TypedStorage as TypedStorage
from mt_core.typed_storage import _dtype_to_storage_type_map as _dtype_to_storage_type_map
from mt_core.typed_storage import _LegacyStorage as _LegacyStorage
from mt_core.typed_storage import _storage_type_to_dtype_map as _storage_type_to_dtype_map
from mt_core.typed_storage import _warn_typed_storage_removal as _warn_typed_storage_removal

__all__ = ["TypedStorage", "UntypedStorage"]
