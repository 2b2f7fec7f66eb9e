"""Runs the model of silero-vad, an archive of TorchScript, on PyTorch and mindtorch, and compares: ./dev silero."""

from __future__ import annotations

import importlib.metadata
import sys
import warnings
from typing import Any

import numpy as np

import mindtorch

#: Sampling rate -> samples of a window.
WINDOWS = {16000: 512, 8000: 256}
TOLERANCE = 1e-5


def path_of_model() -> str:
    """Where the archive is, which the distribution carries."""
    files = importlib.metadata.files("silero-vad") or []
    return str(next(file for file in files if file.name == "silero_vad.jit").locate())


def probabilities(torch: Any, model: Any, rate: int, sound: np.ndarray) -> list[list[float]]:
    """The probabilities of speech of each window of a batch of sounds."""
    size = WINDOWS[rate]
    model.reset_states()
    windows = (sound[:, at : at + size].copy() for at in range(0, sound.shape[1] - size + 1, size))
    with torch.no_grad():
        return [model(torch.from_numpy(window), rate).flatten().tolist() for window in windows]


def main() -> int:
    """Compare, and say by how much the probabilities differ."""
    import torch  # PyTorch, which this check alone needs

    warnings.simplefilter("ignore")
    rng, worst = np.random.default_rng(0), 0.0
    ours, theirs = (library.jit.load(path_of_model()) for library in (mindtorch, torch))
    for rate in WINDOWS:
        for batch, loudness in ((1, 0.01), (1, 0.3), (3, 0.1)):
            time = np.arange(rate) / rate
            voice = np.sin(2 * np.pi * 140 * time) * (1 + np.sin(2 * np.pi * 4 * time)) * loudness
            sound = (voice + rng.normal(0, loudness / 10, (batch, rate))).astype(np.float32)
            got, want = probabilities(mindtorch, ours, rate, sound), probabilities(torch, theirs, rate, sound)
            worst = max(worst, float(np.abs(np.subtract(got, want)).max()))
            print(f"{rate} Hz, batch {batch}, loudness {loudness}: {len(got)} windows, difference at most {worst:.1e}")
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
