"""Names of backends: which there are, which devices each serves, and which distribution brings it."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from mt_core.plugins.discovery import PluginError, find_collectives, names_in

__all__ = [
    "NOT_HERE",
    "Backend",
    "BackendConfig",
    "get_default_backend_for_device",
    "is_backend_available",
    "is_gloo_available",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "library_of",
]

#: Backends that have a name in PyTorch and no library here: who is to bring them.
NOT_HERE = {
    "nccl": "it comes with the collectives of mt-backend-gpu, which has none yet",
    "hccl": "it comes with the collectives of mt-backend-ascend, which `import torch_npu` enters",
    "ucc": "no distribution brings it",
    "xccl": "no distribution brings it",
}


class _Plugin(NamedTuple):
    """A backend that a program registered: what makes its process groups, and whether that takes one argument."""

    creator_fn: Callable[..., Any]
    extended_api: bool


class Backend(str):
    """A backend's name in lower letters; any name may be asked for, and is looked up when a group is made."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"
    _BackendPlugin = _Plugin
    _plugins: dict[str, _Plugin] = {}
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    backend_capability = {
        GLOO: ["cpu", "cuda"],
        NCCL: ["cuda"],
        XCCL: ["xpu"],
        UCC: ["cpu", "cuda"],
        MPI: ["cpu", "cuda"],
        FAKE: ["cpu", "cuda", "hpu", "xpu"],
    }

    def __new__(cls, name: str) -> "Backend":
        """A name.

        Raises
        ------
        ValueError
            For what is no text.
        """
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, got {name=}")
        return super().__new__(cls, getattr(cls, name.upper(), name.lower()))

    @classmethod
    def register_backend(
        cls, name: str, func: Callable[..., Any], extended_api: bool = False, devices: str | list[str] | None = None
    ) -> None:
        """Add a backend of the program's own.

        Parameters
        ----------
        name
            Its name.
        func
            Called with store, rank, size and timeout (with `extended_api` with two records of options), it returns what
            has the methods of `ProcessGroup`.
        devices
            The device types that it serves.
        """
        lower = name.lower()
        if not hasattr(cls, name.upper()):
            setattr(cls, name.upper(), lower)
        if lower not in cls.backend_list:
            cls.backend_list.append(lower)
        given = [devices] if isinstance(devices, str) else list(devices or ("cpu", "cuda"))
        for device in given if devices is not None else ():
            if device not in cls.default_device_backend_map or device not in ("cpu", "cuda"):
                cls.default_device_backend_map[device] = lower
        cls.backend_capability[lower] = given
        cls._plugins[name.upper()] = _Plugin(func, extended_api)


class BackendConfig:
    """Which backend serves which device type: what ``"gloo"`` or ``"cpu:gloo,cuda:nccl"`` says."""

    def __init__(self, backend: Backend) -> None:
        self.device_backend_map: dict[str, Backend] = {}
        text = str(backend)
        if backend == Backend.UNDEFINED:
            for device, name in Backend.default_device_backend_map.items():
                if is_backend_available(name):
                    self.device_backend_map[device] = Backend(name)
        elif ":" in text:
            for pair in text.lower().split(","):
                device, colon, name = pair.partition(":")
                if not colon or ":" in name:
                    raise ValueError(
                        f"Invalid device:backend pairing: '{pair}'. "
                        "Custom devices must be specified in the form 'device:backend,...'"
                    )
                if device in self.device_backend_map:
                    raise ValueError(f"Duplicate device type {device} in backend string: {text}")
                self.device_backend_map[device] = Backend(name)
        else:
            for device in Backend.backend_capability.get(text, ["cpu"]):
                self.device_backend_map[device] = Backend(text)

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, Backend]:
        """Device type -> backend."""
        return self.device_backend_map


def library_of(name: str) -> Any:
    """The library of collectives that serves a backend.

    Raises
    ------
    RuntimeError
        When there is none; says who brings it.
    """
    if name in names_in("mindtorch.collectives"):
        return find_collectives(name)
    if name in NOT_HERE:
        raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in: {NOT_HERE[name]}")
    try:
        return find_collectives(name)
    except PluginError as error:
        raise ValueError(f"Unknown backend type {name}: {error}") from error


def is_backend_available(backend: str) -> bool:
    """Whether a group can be made of a backend: one that was registered, or one whose library is installed."""
    return backend.upper() in Backend._plugins or backend.lower() in names_in("mindtorch.collectives")


def is_gloo_available() -> bool:
    """Whether the name ``gloo`` is served."""
    return is_backend_available("gloo")


def is_mpi_available() -> bool:
    """Whether the name ``mpi`` is served, and MPI is installed."""
    return is_backend_available("mpi") and find_collectives("mpi").why_not() is None


def is_nccl_available() -> bool:
    """Whether NCCL can be used."""
    return is_backend_available("nccl")


def is_ucc_available() -> bool:
    """Whether UCC can be used."""
    return is_backend_available("ucc")


def is_xccl_available() -> bool:
    """Whether XCCL can be used."""
    return is_backend_available("xccl")


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device: Any) -> str:
    """The backend that serves a device where none is named.

    Raises
    ------
    ValueError
        Where none does.
    """
    kind = device.partition(":")[0] if isinstance(device, str) else device.type
    backend = Backend.default_device_backend_map.get(kind)
    if backend is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return backend
