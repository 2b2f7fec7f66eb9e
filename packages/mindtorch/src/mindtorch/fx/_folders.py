"""A graph module written as a package in a folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mt_nn import Module, modules

__all__ = ["write_package"]


def write_package(module: Any, folder: Path, name: str, imported: Callable[[str, Any], str]) -> None:
    """Write ``module.py`` with a class `name`, its weights, and what else it needs; `imported` writes an import."""
    import mindtorch as torch  # lazy: it must be complete

    folder.mkdir(exist_ok=True)
    torch.save(module.state_dict(), folder / "state_dict.pt")
    python_code = module.graph.python_code(root_module="self")
    pickled: list[str] = []
    lines = _start([imported(*pair) for pair in python_code.globals.items()], name)
    for child_name, child in module.named_children():
        lines.append(_submodule_line(child_name, child, folder, pickled))
    lines += _tensor_lines(module)
    lines.append(f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))\n")
    lines.append("\n".join(f"    {line}" if line.strip() else "" for line in python_code.src.split("\n")))
    (folder / "module.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "__init__.py").write_text("from .module import *\n", encoding="utf-8")
    if pickled:
        warnings.warn(
            f"Was not able to save the following children modules as reprs -saved as pickled files instead: {pickled}",
            stacklevel=3,
        )


def _start(imports: list[str], name: str) -> list[str]:
    return [
        "",
        "import torch",
        *imports,
        "",
        "from torch.nn import *",
        f"class {name}(torch.nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
    ]


def _submodule_line(name: str, child: Module, folder: Path, pickled: list[str]) -> str:
    import mindtorch as torch  # lazy: it must be complete

    if _is_described(child):
        made = f"torch.nn.{child!r}"
    else:
        path = folder / f"{name}.pt"
        torch.save(child, path)
        pickled.append(name)
        shown = repr(child).replace("\r", " ").replace("\n", " ")
        return f"        setattr(self, '{name}', torch.load(r'{path}', weights_only=False)) # {shown}"
    return f"        setattr(self, '{name}', {made})"


def _is_described(child: Module) -> bool:
    """Whether ``repr`` of a layer makes it again, parts included."""
    return type(child) in _DESCRIBED and not any(True for _ in child.children())


def _tensor_lines(module: Any) -> list[str]:
    lines = []
    for name, buffer in module._buffers.items():
        if buffer is not None:
            lines.append(
                f"        self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))"
            )
    for name, parameter in module._parameters.items():
        if parameter is not None:
            made = f"torch.empty({list(parameter.shape)}, dtype={parameter.dtype})"
            lines.append(f"        setattr(self, '{name}', torch.nn.Parameter({made}))")
    return lines


_DESCRIBED = frozenset(
    getattr(modules, name)
    for name in (
        "Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Dropout", "ReLU",
    )
)  # fmt: skip
