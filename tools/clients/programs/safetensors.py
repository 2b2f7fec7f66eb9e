"""Files of safetensors, written and read, with a model whose weights are shared."""

import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model


def program():
    torch.manual_seed(0)
    dtypes = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.float8_e4m3fn)
    tensors = {str(dtype): (torch.randn(3, 4) * 3).to(dtype) for dtype in dtypes}
    written = save(tensors, {"made": "here"})
    yield "bytes", list(written)
    for name, tensor in load(written).items():
        yield name, tensor.double()
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    model[1].weight = model[0].weight
    other = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    other[1].weight = other[0].weight
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        save_model(model, str(file))
        yield "file", list(file.read_bytes())
        yield "missing", [sorted(names) for names in load_model(other, str(file))]
        yield "loaded", other(torch.ones(1, 4))
        with safe_open(str(file), framework="pt") as opened:
            yield "slice", opened.get_slice(next(iter(opened.keys())))[1:2]
        save_file({"x": torch.arange(4)}, str(file))
        yield "again", load_file(str(file))["x"]
