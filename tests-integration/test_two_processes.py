"""What one process saves another loads; workers of a data loader are processes too."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

MODEL = """
    import torch
    from torch import nn

    def make():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 2))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2)

    def train(model, optimizer, scheduler, steps):
        for _ in range(steps):
            loss = model(torch.randn(5, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        return loss.item()
"""

SAVE = """
    import torch
    from model import make, train

    model, optimizer, scheduler = make()
    train(model, optimizer, scheduler, 3)
    shared = torch.arange(6.0)
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "random": torch.get_rng_state(),
            "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
            "shared": [shared, shared.view(2, 3).t()],
        },
        "checkpoint.pt",
    )
    torch.save(model, "model.pt")
    print(train(model, optimizer, scheduler, 3))
"""

LOAD = """
    import torch
    from model import make, train

    model, optimizer, scheduler = make()
    state = torch.load("checkpoint.pt")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    torch.set_rng_state(state["random"])

    assert state["half"].dtype is torch.bfloat16 and state["half"].tolist() == [1.5, -2.0]
    row, transposed = state["shared"]
    row[1] = 7
    assert transposed.tolist() == [[0.0, 3.0], [7.0, 4.0], [2.0, 5.0]]

    whole = torch.load("model.pt", weights_only=False)
    inputs = torch.ones(1, 4)
    assert torch.equal(whole.eval()(inputs), model.eval()(inputs))
    model.train()
    print(train(model, optimizer, scheduler, 3))
"""

WORKERS = """
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Squares(Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, index):
            assert torch.__version__.endswith("+mindtorch")
            return torch.tensor(index) ** 2

    if __name__ == "__main__":
        loader = DataLoader(Squares(), batch_size=4, num_workers=2, multiprocessing_context="{method}")
        print(torch.cat(list(loader)).tolist())
"""

SAFETENSORS = """
    import torch
    from safetensors.torch import load_file, save_file

    tensors = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name))
               for name in ("float32", "float64", "float16", "bfloat16", "int64", "int8", "uint8", "bool")}
    save_file(tensors, "tensors.safetensors", metadata={"format": "pt"})
    loaded = load_file("tensors.safetensors")
    for name, tensor in tensors.items():
        assert loaded[name].dtype is tensor.dtype and torch.equal(loaded[name], tensor), name
"""


@pytest.fixture
def program(tmp_path: Path):
    """Write a program file."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


def test_training_goes_on_in_another_process_as_if_nothing_had_happened(run_mindtorch, program):
    program("model.py", MODEL)
    first = run_mindtorch(program("save.py", SAVE)).stdout
    second = run_mindtorch(program("load.py", LOAD)).stdout
    assert first == second


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader(run_mindtorch, program, method):
    printed = run_mindtorch(program("workers.py", WORKERS.replace("{method}", method))).stdout
    assert printed.strip() == str([index**2 for index in range(10)])


def test_safetensors(run_mindtorch, needs, program):
    needs("safetensors")
    run_mindtorch(program("tensors.py", SAFETENSORS))
