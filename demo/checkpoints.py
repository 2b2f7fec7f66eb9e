"""Saving a fine-tuned model in two formats, and reading both back."""

from __future__ import annotations

from pathlib import Path

import torch
from classifier import AreaClassifier
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from transformers import BertConfig


def save(directory: Path, model: AreaClassifier, optimizer: AdamW, scheduler: LambdaLR) -> tuple[Path, Path]:
    """Write a `save_pretrained` folder (safetensors) and a `torch.save` file from which training could go on."""
    folder, checkpoint = directory / "area-classifier", directory / "area-classifier.pt"
    model.save_pretrained(folder)
    state = {
        "config": model.config.to_dict(),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }
    torch.save(state, checkpoint)
    return folder, checkpoint


def load_folder(folder: Path) -> AreaClassifier:
    """The model that `save_pretrained` wrote."""
    return AreaClassifier.from_pretrained(folder)


def load_checkpoint(checkpoint: Path) -> AreaClassifier:
    """The model of a `torch.save` file, read without running code from it (`weights_only`)."""
    state = torch.load(checkpoint, weights_only=True)
    model = AreaClassifier(BertConfig.from_dict(state["config"]))
    model.load_state_dict(state["model"])
    return model
