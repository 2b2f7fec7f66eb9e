"""``torch.save``, ``torch.load`` and ``torch.serialization``.

The file formats are PyTorch's. Files: `archive` (the zip container), `legacy`, `tar` and `blocks` (the formats before
it), `reader` (what all formats share), `pickler` (PyTorch's names for our classes), `weights_unpickler` and
`allowlist` (reading without running anything), `tensor_pickle` and `rebuild` (tensors to pickles and back), `locations`
(devices).
"""

from ..torch_names import register_global_alias, register_module_alias
from .allowlist import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .config import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from .loading import (
    FILE_LIKE,
    MAP_LOCATION,
    FileLike,
    get_unsafe_globals_in_checkpoint,
    load,
)
from .locations import default_restore_location, location_tag, register_package
from .reader import SourceChangeWarning
from .rebuild import _get_layout as _get_layout
from .saving import DEFAULT_PROTOCOL, save
from .storage_types import StorageType, check_module_version_greater_or_equal, mkdtemp, normalize_storage_type

__all__ = [
    "DEFAULT_PROTOCOL",
    "FILE_LIKE",
    "MAP_LOCATION",
    "FileLike",
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_global_alias",
    "register_module_alias",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]
