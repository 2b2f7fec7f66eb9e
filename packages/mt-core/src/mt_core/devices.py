"""``torch.device`` and the table from device types to dispatch keys."""

from __future__ import annotations

import functools
import re
import threading
from typing import Any

from . import keys
from .plugins.discovery import backend_entry_points
from .plugins.runtime_access import RENAMED, accelerator_type
from .state import tls

__all__ = ["backend_key", "describe_keys", "device", "device_type_of", "index_flag", "third_party_keys"]

#: Device types PyTorch's parser knows; a plugin adds its own through `backend_key`.
_KEY_OF_TYPE: dict[str, int] = {"cpu": keys.CPU, "cuda": keys.CUDA, "npu": keys.NPU, "meta": keys.META}
_TYPE_OF_KEY: dict[int, str] = {key: name for name, key in _KEY_OF_TYPE.items()}
_KNOWN = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, "
    "mtia, privateuseone"
)
_PATTERN = re.compile(r"([a-zA-Z_]+)(?::(0|[1-9]\d*))?\Z")


class device:
    """Where a tensor lives: a type (``"cpu"``, ``"meta"``, ``"npu"``) and an index or None.

    As a context manager it sets the default device of factories: ``with torch.device("meta"): torch.empty(3)``.
    """

    __slots__ = ("type", "index")

    type: str
    index: int | None

    def __init__(self, type: Any = None, index: int | None = None) -> None:
        if type is None:
            raise TypeError("device(): argument 'type' (position 1) must be str, not NoneType")
        if isinstance(type, device):
            self.type, self.index = type.type, type.index
            return
        if isinstance(type, int):
            # A bare number is the accelerator of that index.
            self.index = _checked(type)
            self.type = _accelerator_type()
            return
        self.type, self.index = _parse(type, index if index is None else _checked(index))

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return other.__class__ is device and self.type == other.type and self.index == other.index  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device, ((self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self) -> device:
        stack = tls.__dict__.setdefault("device_stack", [])
        stack.append(tls.default_device)
        tls.default_device = self
        return self

    def __exit__(self, *exc_info: object) -> None:
        tls.default_device = tls.__dict__["device_stack"].pop()

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def on_device(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return on_device


def _checked(index: int) -> int:
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    return index


def _parse(text: Any, index: int | None) -> tuple[str, int | None]:
    if not isinstance(text, str):
        raise TypeError(f"device(): argument 'type' (position 1) must be str, not {type(text).__name__}")
    match = _PATTERN.match(text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    name, number = match.groups()
    name = RENAMED.get(name, name)
    if number is not None and index is not None:
        raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {text}")
    if name not in _KEY_OF_TYPE and name not in _KNOWN.split(", ") and not _claimed_by_plugin(name):
        raise RuntimeError(f"Expected one of {_KNOWN} device type at start of device string: {name}")
    return name, int(number) if number is not None else index


def _claimed_by_plugin(name: str) -> bool:
    return name in backend_entry_points() or name in RENAMED.values()


def _accelerator_type() -> str:
    found = accelerator_type()
    if found is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return found


#: Dispatch key -> the backend object behind it, once it has been needed (`mt_core.dispatch.dispatcher.backend_for`).
BACKENDS: dict[int, Any] = {}


def backend_key(type_: str) -> int:
    """The dispatch key of a device type.

    A third party's type has the bit `PRIVATE`, which all of them share, and one of its own above all modes.
    """
    key = _KEY_OF_TYPE.get(type_)
    return _third_party_key(type_) if key is None else key


_naming = threading.Lock()


def _third_party_key(type_: str) -> int:
    with _naming:
        key = _KEY_OF_TYPE.get(type_)
        if key is None:
            taken = sum(1 for known in _TYPE_OF_KEY if known & keys.PRIVATE)
            key = keys.PRIVATE | 1 << (keys.PRIVATE_SHIFT + taken)
            _TYPE_OF_KEY[key] = type_
            _KEY_OF_TYPE[type_] = key
        return key


def third_party_keys() -> list[int]:
    """The backend keys of the third-party device types that this process knows."""
    return [key for key in _TYPE_OF_KEY if key & keys.PRIVATE]


def index_flag(backend: Any, array: Any) -> int:
    """The flag of a tensor on this array that tells that its device index is not 0."""
    return keys.OTHER_INDEX if backend.index_of(array) else 0


def device_type_of(key: int) -> str:
    """The device type that a backend's dispatch key stands for."""
    return _TYPE_OF_KEY[key]


def describe_keys(key_set: int) -> str:
    """The names of a key set, the highest priority first, third parties' with their device type: ``PRIVATE (toy)``."""
    types = key_set & keys.PRIVATE_TYPES
    text = keys.describe(key_set & ~keys.FLAGS & ~types)
    known = [name for key, name in _TYPE_OF_KEY.items() if key & types and key & keys.PRIVATE]
    return text.replace("PRIVATE", f"PRIVATE ({', '.join(known)})") if known else text
