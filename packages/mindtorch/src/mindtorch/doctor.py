"""What ``mindtorch doctor`` and ``mindtorch info`` find out about an installation."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mt_core.plugins import discovery
from mt_core.plugins.discovery import PluginError

from .stand_in import DIRECTORY
from .version import __version__ as torch_version

__all__ = ["Report", "examine", "versions"]

DISTRIBUTIONS = (
    "mindtorch",
    "mt-core",
    "mt-autograd",
    "mt-backend-cpu",
    "mt-nn",
    "mt-library",
    "mt-backend-gpu",
    "mt-mindspore",
    "mt-backend-ascend",
    "numpy",
    "ml-dtypes",
)
#: The device types that mindtorch's own distributions serve, installed or not.
DEVICE_TYPES = ("cpu", "cuda", "npu")


@dataclass(frozen=True)
class Report:
    """The lines of ``mindtorch doctor``, and whether everything that is installed works."""

    text: str
    healthy: bool


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: its name, its state, details below it, and whether it is as it should be."""

    name: str
    state: str
    details: tuple[tuple[str, str], ...] = ()
    sound: bool = True

    def lines(self) -> Iterator[str]:
        """The finding as text, details indented below it."""
        yield f"  {self.name:16}{self.state}"
        for what, state in self.details:
            yield f"  {'':16}{what}: {state}"


def versions() -> dict[str, str]:
    """Name -> version, of Python, the platform, and every distribution that takes part."""
    return {
        "torch (stood in for)": str(torch_version),
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: _version(name) for name in DISTRIBUTIONS},
    }


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def examine() -> Report:
    """Load every backend, layer and extension that is installed, and tell how they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a plugin that fails is reported below, with the same words
        sections = {
            "devices": [_device(name) for name in _device_types()],
            "layers": [_layer("autograd")],
            "extensions": list(_extensions()),
            "import torch": [_torch()],
        }
    findings = [finding for section in sections.values() for finding in section]
    return Report("\n".join(_text(sections)), all(finding.sound for finding in findings))


def _text(sections: dict[str, list[Finding]]) -> Iterator[str]:
    yield f"mindtorch {_version('mindtorch')}, in the place of PyTorch {torch_version}"
    yield f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}"
    for title, findings in sections.items():
        if findings:
            yield ""
            yield title
            for finding in findings:
                yield from finding.lines()


def _device_types() -> list[str]:
    """Those of this project first, then those that others have added."""
    return [*DEVICE_TYPES, *sorted(set(discovery.backend_entry_points()) - set(DEVICE_TYPES))]


def _device(device_type: str) -> Finding:
    installed = device_type in discovery.backend_entry_points()
    try:
        backend = discovery.find_backend(device_type)
    except PluginError as error:
        # Only the CPU is needed by everyone; whatever else is missing is missing by choice.
        return Finding(device_type, str(error), sound=not installed and device_type != "cpu")
    count = backend.device_count()
    state = f"{_distribution(device_type)}, {count} device{'' if count == 1 else 's'}"
    return Finding(device_type, state, tuple(backend.diagnose()))


def _distribution(device_type: str) -> str:
    points = discovery.backend_entry_points()[device_type]
    if not points:
        return "registered in this process"
    name = discovery.distribution_of(points[0])
    return f"{name} {_version(name)}"


def _layer(name: str) -> Finding:
    try:
        discovery.find_layer(name)
    except PluginError as error:
        return Finding(name, str(error), sound=False)
    return Finding(name, "loaded")


def _extensions() -> Iterator[Finding]:
    for name in discovery.load_extensions():
        yield Finding(name, "loaded")
    for (group, name), cause in discovery.failures().items():
        if group == "mindtorch.extensions":
            distribution, _, own = name.partition(":")
            remedy = (("remedy", f"repair or uninstall {distribution}"),)
            yield Finding(own, f"{distribution}: failed to load: {cause}", remedy, sound=False)


def _torch() -> Finding:
    """Whether PyTorch itself is installed beside mindtorch, and which of the two `import torch` means here."""
    spec = importlib.util.find_spec("torch")
    if spec is None:
        return Finding("here", "finds nothing; `mindtorch run` and mindtorch.install_as_torch() change that")
    origin = spec.origin or ""
    if origin.startswith(str(DIRECTORY)) or spec.name == "mindtorch":
        return Finding("here", "finds mindtorch")
    return Finding("here", f"finds PyTorch in {origin}; under `mindtorch run` it finds mindtorch")
