"""Embeddings and the first ten fine-tuning losses of the demo, computed from the fixed texts in demo_texts.json.

python make_demo.py                         writes demo.npz; run it with PyTorch
mindtorch run make_demo.py --check          compares mindtorch with what is stored

PyTorch on one thread and on two threads computes the same embeddings, and losses that differ by at most 2.4e-7. With
its kernels for processors without AVX2 (`ATEN_CPU_CAPABILITY=default`), embeddings differ by 1.6e-7, losses by 2.4e-7.
The tolerances are 60 and 400 times as wide.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from comparison import write_or_check

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "demo"))

from areas import AREAS, LABELS, Example  # noqa: E402
from classifier import AreaClassifier  # noqa: E402
from encoder import MODEL_DIR, embed, load_encoder, load_tokenizer  # noqa: E402
from finetune import make_optimizer, make_scheduler, train, training_batches  # noqa: E402

SEED = 0
BATCH_SIZE = 5  # ten steps for fifty texts
TOLERANCES = {"embeddings": 1e-5, "losses": 1e-4}


def main() -> None:
    """Compute both with the modules of the demo."""
    stored = json.loads((HERE / "demo_texts.json").read_text(encoding="utf-8"))
    arrays = {
        "embeddings": embeddings([item["text"] for item in stored]),
        "losses": losses([Example(item["text"], LABELS[item["area"]]) for item in stored]),
    }
    write_or_check(HERE / "demo.npz", arrays, TOLERANCES)


def embeddings(texts: list[str]) -> np.ndarray:
    """Shape (texts, features)."""
    return embed(load_encoder(), load_tokenizer(), texts, batch_size=16).numpy()


def losses(examples: list[Example]) -> np.ndarray:
    """The loss of each of ten steps, with dropout."""
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    model = AreaClassifier.from_pretrained(MODEL_DIR, num_labels=len(AREAS))
    batches = training_batches(load_tokenizer(), examples, BATCH_SIZE, generator)
    optimizer = make_optimizer(model)
    return np.array(train(model, batches, optimizer, make_scheduler(optimizer, len(batches))))


if __name__ == "__main__":
    main()
