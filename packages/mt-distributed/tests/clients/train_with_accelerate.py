"""Trains a small network with ``accelerate`` on however many processes it is started on; prints what came."""

from __future__ import annotations

import json

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed


def main() -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    set_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    inputs = torch.randn(64, 6, generator=torch.Generator().manual_seed(1))
    pairs = torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True).sin())
    loader = torch.utils.data.DataLoader(pairs, batch_size=8 // accelerator.num_processes)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for _ in range(2):
        for batch, target in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(batch), target)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()).mean().item())
    norm = sum(float(parameter.detach().double().square().sum()) for parameter in model.parameters())
    if accelerator.is_main_process:
        print("found", json.dumps({"losses": losses, "norm": norm, "processes": accelerator.num_processes}))


if __name__ == "__main__":
    main()
