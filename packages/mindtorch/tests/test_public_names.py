"""Public classes and functions say of themselves what PyTorch's say: module, qualified name, annotations.

``snapshots/make_names.py`` asks PyTorch. What differs for a reason is told by `reason`; nothing else may.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).parent / "snapshots"
NAMES = json.loads((SNAPSHOTS / "names.json").read_text())

#: Public name -> why it says something else than in PyTorch.
APART = {
    "torch.Future": "one class here",
    "torch.JITException": "torch.jit's, which says where it is defined",
    "torch.ScriptFunction": "torch.jit's, which says where it is defined",
    "torch._C.TensorBase": "one class here",
    "torch.backends.cuda.SDPAParams": "has a private name in PyTorch",
    "torch.hub.tqdm": "of the package tqdm, or a class with a module of its own where that is missing",
    "torch.library.CustomOpDef": "PyTorch's private module for it does not exist here",
    "torch.nn.utils.clip_grads_with_norm_": "has a private name in PyTorch",
    "torch.nn.utils.get_total_norm": "has a private name in PyTorch",
    "torch.symeig": "has a private name in PyTorch",
    "torch.to_dlpack": "has a private name in PyTorch",
    "torch.utils.dlpack.to_dlpack": "has a private name in PyTorch",
}


def is_excused(path: str, told: list[str]) -> bool:
    """Whether PyTorch's own name is not worth having: what cannot be pickled, or not be found, by it."""
    qualified = told[1]
    # Plain pickles of operators go by the name alone, and PyTorch has no ``torch._VariableFunctionsClass``.
    is_operator = qualified.startswith("_VariableFunctionsClass.")
    is_accident = "<locals>" in qualified or "pybind11" in qualified or qualified.startswith("_has_torch_function")
    return path in APART or is_operator or is_accident


@pytest.fixture(scope="module")
def ours(tmp_path_factory) -> dict[str, dict[str, list[str]]]:
    """The same, told by mindtorch under the stand-in."""
    program = (
        f"import sys, json; sys.path.insert(0, {str(SNAPSHOTS)!r}); import mindtorch; mindtorch.install_as_torch(); "
        "import public_names; print(json.dumps(public_names.described()))"
    )
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def _shared(ours: dict[str, dict[str, list[str]]]):
    for module, names in NAMES.items():
        for name, told in names.items():
            if name in ours.get(module, {}):
                yield f"{module}.{name}", told, ours[module][name]


def test_modules_and_qualified_names_are_pytorchs(ours) -> None:
    wrong = {path: (told[:2], own[:2]) for path, told, own in _shared(ours) if told[:2] != own[:2]}
    wrong = {path: pair for path, pair in wrong.items() if not is_excused(path, pair[0])}
    assert wrong == {}
    assert sum(1 for _ in _shared(ours)) > 1700


#: Modules whose annotations are texts: they name what is imported for types only, or classes that come later.
TEXTS = {
    "torch.nn.init", "torch.nn.utils.prune", "torch.nn.utils.rnn", "torch.random",
    "torch.utils._pytree", "torch.utils.data.dataset",
}  # fmt: skip


def test_real_annotations_are_real(ours) -> None:
    """Libraries read ``inspect.signature(...).parameters[...].annotation``: where PyTorch has a class, so have we."""
    texts = {own[0] for path, told, own in _shared(ours) if told[2] == "real" and own[2] == "text"}
    assert texts == TEXTS


def test_what_is_listed_does_differ(ours) -> None:
    same = {path for path, told, own in _shared(ours) if path in APART and told[:2] == own[:2]}
    assert same == set()
