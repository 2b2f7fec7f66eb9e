"""What ``mindtorch doctor`` and ``mindtorch info`` find out about an installation."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from mt_core.plugins import discovery
from mt_core.plugins.discovery import PluginError, entry_points_of
from mt_core.plugins.entry_points import EntryPoint, third_parties_are_on
from mt_core.plugins.probe import Outcome, probe

from ._importer import AliasLoader
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
    "mt-distributed",
    "mt-backend-gpu",
    "mt-mindspore",
    "mt-backend-ascend",
    "numpy",
    "ml-dtypes",
)
#: The groups whose entry points are loaded, in the order of the report.
_LOADED_GROUPS = (
    "mindtorch.backends",
    "mindtorch.layers",
    "mindtorch.extensions",
    "mindtorch.compilers",
    "mindtorch.collectives",
    "mindtorch.bridges",
)
Outcomes = dict[EntryPoint, Outcome]
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
    """Load every plugin that is installed, each in a process of its own, and tell how they are."""
    outcomes = _outcomes()
    sections = {
        "devices": [_device(name, outcomes) for name in _device_types()],
        "layers": [_named("mindtorch.layers", name, outcomes) for name in _layers()],
        "extensions": [_finding(point, outcomes[point]) for point in entry_points_of("mindtorch.extensions")],
        "compilers": _all_named("mindtorch.compilers", outcomes),
        "collectives": _collectives(outcomes),
        "bridges": _all_named("mindtorch.bridges", outcomes),
        "plugins": _switched_off(),
        "import torch": [_torch()],
    }
    findings = [finding for section in sections.values() for finding in section]
    return Report("\n".join(_text(sections)), all(finding.sound for finding in findings))


def _outcomes() -> dict[EntryPoint, Outcome]:
    """What came of loading each plugin, several at a time."""
    points = [point for group in _LOADED_GROUPS for point in entry_points_of(group)]
    with ThreadPoolExecutor(max_workers=4) as pool:
        return dict(zip(points, pool.map(probe, points)))


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


def _device(device_type: str, outcomes: Outcomes) -> Finding:
    points = discovery.backend_entry_points().get(device_type)
    if points == []:
        backend = discovery.find_backend(device_type)
        return _counted(device_type, "registered in this process", backend.device_count(), backend.diagnose())
    finding = _named("mindtorch.backends", device_type, outcomes)
    if finding.sound:
        outcome = outcomes[points[0]]  # type: ignore[index]
        return _counted(device_type, _described(points[0]), outcome.devices, outcome.details)  # type: ignore[index]
    # Only the CPU is needed by everyone; whatever else is missing is missing by choice.
    return finding if points or device_type == "cpu" else replace(finding, sound=True)


def _counted(device_type: str, origin: str, count: int, details: Iterable[tuple[str, str]]) -> Finding:
    return Finding(device_type, f"{origin}, {count} device{'' if count == 1 else 's'}", tuple(details))


def _described(point: EntryPoint) -> str:
    return f"{point.distribution} {_version(point.distribution)}"


def _layers() -> list[str]:
    return sorted({"autograd", *discovery.names_in("mindtorch.layers")})


def _all_named(group: str, outcomes: Outcomes) -> list[Finding]:
    return [_named(group, name, outcomes) for name in discovery.names_in(group)]


def _collectives(outcomes: Outcomes) -> list[Finding]:
    """The backends of ``torch.distributed`` that are here, and what the libraries say of others."""
    found = [_served(finding) for finding in _all_named("mindtorch.collectives", outcomes)]
    others: dict[str, str] = {}
    for finding in found:
        library = discovery.find_collectives(finding.name) if finding.sound else None
        elsewhere = getattr(library, "elsewhere", None)
        others.update({} if elsewhere is None else elsewhere())
    here = {finding.name for finding in found}
    return found + [Finding(name, f"not here: {why}") for name, why in others.items() if name not in here]


def _served(finding: Finding) -> Finding:
    """What a library of collectives says of how it serves a name, as `Collectives.diagnose` of a device does."""
    if not finding.sound:
        return finding
    diagnose = getattr(discovery.find_collectives(finding.name), "diagnose", None)
    return finding if diagnose is None else replace(finding, details=tuple(diagnose()))


def _named(group: str, name: str, outcomes: Outcomes) -> Finding:
    """A plugin that is found by its name: missing, claimed twice, or what came of loading it."""
    try:
        point = discovery.only_claim(group, name)
    except PluginError as error:
        return Finding(name, str(error), sound=False)
    return _finding(point, outcomes[point])


def _finding(point: EntryPoint, outcome: Outcome) -> Finding:
    if outcome.error:
        return Finding(point.name, f"{point.distribution}: {outcome.error}", sound=False)
    return Finding(point.name, "loaded" if point.is_own else f"loaded, from {_described(point)}", outcome.details)


def _switched_off() -> list[Finding]:
    if third_parties_are_on():
        return []
    return [Finding("third parties", "switched off by MINDTORCH_PLUGINS=0; unset it to have them take part")]


def _torch() -> Finding:
    """Whether PyTorch itself is installed beside mindtorch, and which of the two `import torch` means here."""
    spec = importlib.util.find_spec("torch")
    if spec is None or isinstance(spec.loader, AliasLoader):  # the finder of pickles' names, in this process alone
        return Finding("here", "finds nothing; `mindtorch run` and mindtorch.install_as_torch() change that")
    origin = spec.origin or ""
    if origin.startswith(str(DIRECTORY)) or spec.name == "mindtorch":
        return Finding("here", "finds mindtorch")
    return Finding("here", f"finds PyTorch in {origin}; under `mindtorch run` it finds mindtorch")
