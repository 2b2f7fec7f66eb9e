"""Reference pages of namespaces: every public name, from the docstrings of what it stands for."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from .docstrings import as_markdown

__all__ = ["PAGES", "namespace_pages"]

#: The namespaces of each page.
PAGES = {
    "nn": ("nn",),
    "functional": ("nn.functional",),
    "nn-tools": ("nn.init", "nn.utils", "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune",
                 "nn.utils.rnn", "nn.parallel"),
    "optim": ("optim", "optim.lr_scheduler", "optim.swa_utils"),
    "data": ("utils.data",),
    "distributions": ("distributions", "distributions.constraints", "distributions.transforms"),
    "autograd": ("autograd", "autograd.functional", "autograd.forward_ad", "autograd.graph", "func",
                 "utils.checkpoint"),
    "library": ("library",),
    "linalg": ("linalg", "fft", "special", "signal.windows"),
    "layouts": ("sparse", "nested", "masked"),
    "graphs": ("compiler", "fx", "export", "jit"),
    "measuring": ("profiler", "utils.benchmark", "utils.flop_counter", "testing"),
    "devices": ("amp", "random", "accelerator", "cpu", "cuda"),
    "distributed": ("distributed", "distributed.fsdp", "distributed.device_mesh", "distributed.tensor"),
}  # fmt: skip

#: Families of modules by the files that they stand in, in the order of the page.
NN_FAMILIES = {
    "Containers": "module container parameter flatten", "Linear maps": "linear", "Convolution": "conv fold",
    "Pooling": "pooling", "Padding": "padding", "Activations": "activation",
    "Normalization": "batchnorm normalization instancenorm", "Recurrent": "rnn", "Transformers": "transformer",
    "Tables of rows": "sparse", "Dropout": "dropout", "Distances": "distance", "Losses": "loss adaptive",
    "Pictures": "pixelshuffle upsampling channelshuffle",
}  # fmt: skip


def namespace_pages() -> dict[str, str]:
    """Markdown by the name of the file."""
    return {f"reference/{page}.md": _page(names) for page, names in PAGES.items()}


def _page(names: tuple[str, ...]) -> str:
    parts = [f"# {', '.join(f'torch.{name}' for name in names)}\n"]
    for name in names:
        module = importlib.import_module(f"mindtorch.{name}")
        parts += [f"## torch.{name}\n"] if len(names) > 1 else []
        parts.append(_first_line(module) + "\n")
        groups = _families(_public(module)) if name == "nn" else {"": _public(module)}
        for title, members in groups.items():
            parts += [f"## {title}\n"] if title else []
            level = 3 if title or len(names) > 1 else 2
            parts += [_entry(f"torch.{name}", own, item, level) for own, item in members]
    return "\n".join(parts)


def _public(module: ModuleType) -> list[tuple[str, Any]]:
    """The classes and functions of a module that its users know."""
    listed = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    items = [(name, getattr(module, name)) for name in dict.fromkeys(listed)]
    items = [(name, item) for name, item in items if inspect.isclass(item) or inspect.isroutine(item)]
    own = getattr(module, "__all__", None) is not None
    return sorted(
        ((name, item) for name, item in items if own or _is_of(item, module)), key=lambda pair: pair[0].lower()
    )


def _is_of(item: Any, module: ModuleType) -> bool:
    """Whether a name without ``__all__`` belongs to a module, and was not merely imported by it."""
    place = (getattr(item, "__module__", "") or "").removeprefix("mindtorch").removeprefix("torch")
    return bool(place) and place.startswith(module.__name__.removeprefix("mindtorch").removeprefix("torch"))


def _families(found: list[tuple[str, Any]]) -> dict[str, list[tuple[str, Any]]]:
    family_of = {file: family for family, files in NN_FAMILIES.items() for file in files.split()}
    groups: dict[str, list[tuple[str, Any]]] = {family: [] for family in (*NN_FAMILIES, "Others")}
    for name, item in found:
        groups[family_of.get(item.__module__.rpartition(".")[2], "Others")].append((name, item))
    return {family: members for family, members in groups.items() if members}


def _entry(namespace: str, name: str, item: Any, level: int) -> str:
    identifier = _identifier(item)
    if identifier is None:
        return _described(namespace, name, item, level)
    options = {
        "heading": f"{namespace}.{name}",
        "heading_level": level,
        "show_root_heading": "true",
        "show_root_toc_entry": "true",
        "toc_label": name,
        "members": "[]",
    }
    lines = [f"::: {identifier}", "    options:", *(f"      {key}: {value}" for key, value in options.items())]
    return "\n".join(lines) + "\n"


def _described(namespace: str, name: str, item: Any, level: int) -> str:
    """An entry from the docstring alone, for what is written by a program: operators, refusals, types."""
    doc = inspect.getdoc(item) or ""
    first, _, rest = doc.partition("\n")
    lines = [f"{'#' * level} {namespace}.{name}".replace("_", r"\_"), ""]
    if re.match(rf"{re.escape(name.split('.')[-1])}\(.*\)", first):
        lines += ["```python", first, "```", "", as_markdown(inspect.cleandoc(rest))]
    else:
        lines += [as_markdown(doc)]
    return "\n".join(lines) + "\n"


def _first_line(module: ModuleType) -> str:
    return as_markdown((inspect.getdoc(module) or "").partition("\n\n")[0])


def _identifier(item: Any) -> str | None:
    """Where the source of a class or function stands, as ``package.module.name``, or None where it has none."""
    item = inspect.unwrap(item) if inspect.isroutine(item) else item
    if inspect.isclass(item):
        for module in list(sys.modules.values()):
            found = module.__name__.split(".")[0] in _packages() and vars(module).get(item.__name__) is item
            if found and item.__name__ in _defined_in(getattr(module, "__file__", None) or ""):
                return f"{module.__name__}.{item.__name__}"
        return None
    code = getattr(item, "__code__", None)
    module = _module_of_file().get(code.co_filename) if code is not None else None
    if module is None or code.co_name not in _defined_in(code.co_filename):
        return None
    return f"{module}.{code.co_name}"


def _packages() -> tuple[str, ...]:
    return ("mindtorch", "mt_autograd", "mt_core", "mt_distributed", "mt_library", "mt_nn")


def _module_of_file() -> dict[str, str]:
    return {
        module.__file__: name
        for name, module in list(sys.modules.items())
        if getattr(module, "__file__", None) and name == module.__name__ and name.split(".")[0] in _packages()
    }  # type: ignore[misc]


@functools.cache
def _defined_in(file: str) -> frozenset[str]:
    """The classes and functions at the top of a file; those that `mt_core.api` generates have no source to show."""
    if not file.endswith(".py") or "/mt_core/api/_" in file:
        return frozenset()
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))
