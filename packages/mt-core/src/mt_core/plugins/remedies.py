"""What to do about a plugin that is missing. Nothing is on a package index yet, so remedies are paths in a clone."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["REMEDIES", "from_a_clone", "remedy_for"]


def from_a_clone(*distributions: str) -> str:
    """The command that installs distributions of this project, which are on no package index yet."""
    return "in a clone of mindtorch, pip install " + " ".join(f"packages/{name}" for name in distributions)


#: (group, name) -> what to do, for the plugins that this project provides or will provide.
REMEDIES = {
    ("mindtorch.backends", "cpu"): from_a_clone("mt-backend-cpu"),
    ("mindtorch.backends", "cuda"): from_a_clone("mt-backend-cpu", "mt-backend-gpu") + " cupy-cuda13x",
    ("mindtorch.backends", "npu"): from_a_clone("mt-mindspore", "mt-backend-ascend"),
    ("mindtorch.bridges", "mindspore"): from_a_clone("mt-mindspore"),
    ("mindtorch.collectives", "gloo"): from_a_clone("mt-distributed") + " mpi4py mpich",
    ("mindtorch.collectives", "mpi"): from_a_clone("mt-distributed") + " mpi4py mpich",
    ("mindtorch.layers", "autograd"): from_a_clone("mt-autograd"),
}


def remedy_for(group: str, name: str, installed: Sequence[str] = ()) -> str:
    """What to do where no plugin of a name is installed; `installed` are the names that there are."""
    known = REMEDIES.get((group, name), f"install a distribution with an entry point of that name in {group}")
    return f"{known} (there is {', '.join(installed)})" if installed else known
