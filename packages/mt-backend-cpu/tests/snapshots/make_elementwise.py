"""Record in `elementwise.npz` what PyTorch's elementwise operators give at the edges of their dtypes.

``make_elementwise.py`` writes the file, ``make_elementwise.py --check`` compares what it holds.

``said`` is a JSON object: for ``dtype expression`` the dtypes and shapes of the result's tensors, or the text of a
result that is no tensor or of an error. Their elements stand one after the other in ``reals`` (a complex number as two)
or, for integers and bools, in ``integers``.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from elementwise_expressions import DTYPES, EXPRESSIONS, names

TARGET = Path(__file__).with_name("elementwise.npz")


def evaluate(dtype: str, expression: str) -> Any:
    """The tensors of the result, or its text."""
    try:
        result = eval(expression, names(torch, dtype))  # noqa: S307
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if isinstance(result, torch.Tensor):
        return [result]
    return list(result) if isinstance(result, tuple) else repr(result)


def elements(tensor: torch.Tensor) -> np.ndarray:
    """As one row of float64 or int64 numbers."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.to(torch.complex128).resolve_conj())
    wide = torch.float64 if tensor.is_floating_point() else torch.int64
    return tensor.to(wide).reshape(-1).numpy()


def record() -> dict[str, np.ndarray]:
    said: dict[str, Any] = {}
    parts: dict[str, list[np.ndarray]] = {"reals": [], "integers": []}
    for dtype in DTYPES:
        for expression in EXPRESSIONS:
            result = evaluate(dtype, expression)
            if not isinstance(result, str):
                for tensor in result:
                    row = elements(tensor)
                    parts["reals" if row.dtype == np.float64 else "integers"].append(row)
                result = [[str(t.dtype), list(t.shape)] for t in result]
            said[f"{dtype} {expression}"] = result
    return {"said": np.array(json.dumps(said)), **{name: np.concatenate(rows) for name, rows in parts.items()}}


def main() -> int:
    warnings.simplefilter("ignore")
    made = record()
    if "--check" not in sys.argv:
        np.savez_compressed(TARGET, **made)
        return 0
    stored = np.load(TARGET)
    return int(not all(np.array_equal(made[k], stored[k], equal_nan=made[k].dtype.kind == "f") for k in made))


if __name__ == "__main__":
    sys.exit(main())
