"""``accelerate``: accumulation, clipping, bfloat16, a saved state."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import set_seed


def program():
    for precision in ("no", "bf16"):
        accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2, mixed_precision=precision)
        set_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=20)
        inputs = torch.randn(32, 6, generator=torch.Generator().manual_seed(1))
        pairs = torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True).sin())
        loader = torch.utils.data.DataLoader(pairs, batch_size=8, shuffle=True)
        model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
        losses = []
        for _ in range(2):
            for batch, target in loader:
                with accelerator.accumulate(model):
                    loss = torch.nn.functional.mse_loss(model(batch).float(), target)
                    accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(model.parameters(), 0.5)
                    optimizer.step()
                    schedule.step()
                    optimizer.zero_grad()
                losses.append(accelerator.gather(loss.detach()))
        yield f"losses {precision}", losses
        with tempfile.TemporaryDirectory() as folder:
            accelerator.save_state(folder)
            kept = [p.detach().clone() for p in model.parameters()]
            torch.nn.init.zeros_(next(model.parameters()))
            accelerator.load_state(folder)
            yield f"restored {precision}", [torch.equal(a, b) for a, b in zip(kept, model.parameters(), strict=True)]
        accelerator.free_memory()
        AcceleratorState._reset_state(reset_partial_state=True)
