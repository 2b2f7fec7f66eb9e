"""``python one.py PROGRAM.py``: runs one program and prints, as JSON, what it yields."""

from __future__ import annotations

import importlib.util
import json
import runpy
import sys
import time
from collections.abc import Iterable, Mapping

import torch

#: Tensors with more elements than this are told by their size, norm, sum and first elements.
WHOLE = 64


#: What torchvision's compiled library declares; torchvision cannot be imported before these names exist.
TORCHVISION = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def declare_compiled_operators() -> torch.library.Library | None:
    """Declare what torchvision's compiled library would, which is built for one version of PyTorch."""
    if importlib.util.find_spec("torchvision") is None:
        return None
    library = torch.library.Library("torchvision", "DEF")
    for schema in TORCHVISION:
        library.define(schema)
    return library


def told(value: object) -> object:
    """Numbers, texts, and lists and dicts of them in place of tensors."""
    if isinstance(value, torch.Tensor):
        shape, flat = list(value.shape), value.detach().reshape(-1)
        if flat.is_complex():
            flat = torch.view_as_real(flat).reshape(-1)
        flat = flat.to(torch.float64)
        if flat.numel() <= WHOLE:
            return [shape, flat.tolist()]
        return [shape, [float(flat.sum()), float(flat.norm()), *flat[: WHOLE // 4].tolist()]]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, float):
        return value
    if isinstance(value, Mapping):
        return {str(key): told(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [told(item) for item in value]
    return float(value)  # scalars of NumPy


def main(path: str) -> None:
    started = time.perf_counter()
    torch.set_num_threads(1)
    library = declare_compiled_operators()
    defined = runpy.run_path(path)
    found = {str(name): told(value) for name, value in defined["program"]()}
    del library
    tolerance = defined.get("TOLERANCE", 1e-4)
    print("\nfound", json.dumps({"found": found, "tolerance": tolerance, "seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main(sys.argv[1])
