"""Record what PyTorch's CUDA generator draws: ``python make_cuda_streams.py [--check]``, where PyTorch has a GPU.

The grids, and with them the streams, depend on the device's multiprocessors: `cuda_streams.json` is an H100's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

PATH = Path(__file__).with_name("cuda_streams.json")
FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
FILLS: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda t: t.uniform_(0, 1),
    "uniform -2 3": lambda t: t.uniform_(-2, 3),
    "normal": lambda t: t.normal_(0, 1),
    "exponential": lambda t: t.exponential_(1.5),
    "bernoulli": lambda t: t.bernoulli_(0.3),
}
RANGES = ((0, 10), (-5, 100), (0, 1 << 28), (0, (1 << 28) - 1), (0, (1 << 32) - 1), (0, 1 << 32), (-(1 << 40), 1 << 50))


def fills() -> dict[str, Any]:
    """Distributions, by dtype and count."""
    made = {}
    for count in (5, 257):
        for name, fill in FILLS.items():
            more = (torch.bool, torch.int64) if name == "bernoulli" else ()
            for dtype in (*FLOATS, *more):
                torch.cuda.manual_seed(1234 + count)
                drawn = fill(torch.empty(count, dtype=dtype, device="cuda"))
                made[f"{name} {dtype}|{count}"] = drawn.double().tolist()
        for low, high in RANGES:
            torch.cuda.manual_seed(1234 + count)
            drawn = torch.empty(count, dtype=torch.int64, device="cuda").random_(low, high)
            made[f"randint {low} {high} torch.int64|{count}"] = drawn.double().tolist()
    return made


def masks() -> dict[str, str]:
    """What dropout keeps, by dtype, count and probability."""
    made = {}
    for dtype in FLOATS:
        for count in (5, 256, 257):
            for probability in (0.1, 0.5):
                torch.cuda.manual_seed(77 + count)
                mask = torch.native_dropout(torch.ones(count, dtype=dtype, device="cuda"), probability, True)[1]
                made[f"dropout {dtype}|{count}|{probability}"] = "".join(str(int(kept)) for kept in mask.tolist())
    return made


def two_draws() -> dict[str, Any]:
    """One call after another, and the generator's state behind them."""
    torch.cuda.manual_seed(5)
    first, second = (torch.rand(10, device="cuda").tolist() for _ in range(2))
    state = torch.cuda.get_rng_state().tolist()
    return {"two rands": [first, second, int.from_bytes(bytes(state[8:16]), "little")], "state": state}


def main() -> int:
    properties = torch.cuda.get_device_properties(0)
    processors = (
        f"{properties.multi_processor_count} multiprocessors of {properties.max_threads_per_multi_processor} threads"
    )
    device = f"{properties.name}, {processors}"
    text = json.dumps({"device": device, "pytorch": torch.__version__, "streams": fills() | masks() | two_draws()})
    if "--check" in sys.argv:
        return int(json.loads(text)["streams"] != json.loads(PATH.read_text())["streams"])
    PATH.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
