"""The demo's pretrained sentence model embeds on device ``npu`` as on the CPU: ``python minilm_program.py``."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("MT_ASCEND_TARGET", "CPU")
os.environ.setdefault("GLOG_v", "4")

import mindtorch as torch

TEXTS = (
    "Return a list of close matches to a string.",
    "Run a command and capture what it prints",
    "The difference between two dates, in days, or in weeks where there are more than thirty of them",
    "Sort by two keys",
    "x",
)


@torch.inference_mode()
def embedded(demo: Any, encoder: Any, batch: Any, device: str) -> Any:
    """Embeddings of unit length, (texts, features), calculated on a device."""
    there = {name: values.to(device) for name, values in batch.items()}
    hidden = encoder.to(device)(**there).last_hidden_state
    assert hidden.device.type == device
    return torch.nn.functional.normalize(demo.mean_pool(hidden, there["attention_mask"]), dim=-1).cpu()


def main() -> None:
    torch.install_as_torch()
    sys.path.insert(0, str(Path(__file__).parents[4] / "demo"))
    demo = importlib.import_module("encoder")
    tokenizer, encoder = demo.load_tokenizer(), demo.load_encoder()
    batch = demo.pad(tokenizer, demo.tokenize(tokenizer, TEXTS))
    wanted, got = (embedded(demo, encoder, batch, device) for device in ("cpu", "npu"))
    cosines = (wanted * got).sum(dim=1)
    print(cosines)
    assert cosines.min().item() > 0.99999, cosines
    assert (wanted @ wanted.T)[0, 1].item() < 0.9  # texts of other meanings lie elsewhere


if __name__ == "__main__":
    main()
    print("done")
