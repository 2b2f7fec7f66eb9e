"""Record in `quantization.json` and `quantization.npz` what PyTorch gives for quantized tensors and layers.

``make_quantization.py`` writes the files; with ``--check`` it compares. The second holds numbers: integers of random
tensors, fake quantization with its gradients, dynamically quantized layers with their checkpoint.
"""

from __future__ import annotations

import io
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from quantization_cases import answers

HERE = Path(__file__).parent


def numbers() -> dict[str, np.ndarray]:
    warnings.simplefilter("ignore")
    rng, found = np.random.default_rng(0), {}
    for k, scale in enumerate((0.1, 0.5, 0.0123, 3.7)):
        ties = rng.integers(-400, 400, (2, 41)) * scale / 2
        x = np.where(rng.random((2, 41)) < 0.5, ties, rng.standard_normal((2, 41)) * scale * 100).astype(np.float32)
        found[f"{k} x"] = x
        given, zero_point = torch.tensor(x), 17 * k + 3
        scales, zero_points = torch.tensor([scale, scale * 1.5]), torch.tensor([zero_point, zero_point // 2])
        for dtype in (torch.quint8, torch.qint8, torch.qint32):
            for name, made in (
                ("tensor", torch.quantize_per_tensor(given, scale, zero_point, dtype)),
                ("channel", torch.quantize_per_channel(given, scales, zero_points, 0, dtype)),
            ):
                found[f"{k} {dtype} {name}"] = made.int_repr().numpy()
                found[f"{k} {dtype} {name} numbers"] = made.dequantize().numpy()
        with_grad = given.clone().requires_grad_()
        learned, shift = scales.clone().requires_grad_(), (zero_points + 0.3).requires_grad_()
        result = torch._fake_quantize_learnable_per_channel_affine(with_grad, learned, shift, 0, 0, 200, 0.7)
        (result * torch.arange(result.numel()).reshape(result.shape)).sum().backward()
        for name, one in (("result", result), ("x", with_grad.grad), ("scale", learned.grad), ("shift", shift.grad)):
            found[f"{k} learned {name}"] = one.detach().numpy()
        found[f"{k} fake"] = torch.fake_quantize_per_tensor_affine(given.half(), scale, zero_point, 0, 200).numpy()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(20, 9), torch.nn.ReLU(), torch.nn.Linear(9, 3, bias=False))
    batch = torch.randn(6, 20) * 3
    found |= {f"model {k}": v.numpy() for k, v in model.state_dict().items()} | {"batch": batch.numpy()}
    quantize = torch.ao.quantization.quantize_dynamic
    found["dynamic"] = quantize(model)(batch).detach().numpy()
    found["dynamic half"] = quantize(model, dtype=torch.float16)(batch).detach().numpy()
    config = {"0": torch.ao.quantization.per_channel_dynamic_qconfig}
    found["dynamic channels"] = quantize(model, config)(batch).detach().numpy()
    file = io.BytesIO()
    torch.save(quantize(model).state_dict(), file)
    found["checkpoint"] = np.frombuffer(file.getvalue(), np.uint8)
    return found


if __name__ == "__main__":
    programs, arrays = answers(torch), numbers()
    if "--check" in sys.argv:
        stored = np.load(HERE / "quantization.npz")
        same = json.loads((HERE / "quantization.json").read_text()) == programs and sorted(stored) == sorted(arrays)
        same = same and all(k == "checkpoint" or np.array_equal(stored[k], arrays[k]) for k in arrays)
        sys.exit(0 if same else "the snapshots of quantization differ")
    (HERE / "quantization.json").write_text(json.dumps(programs, indent=1) + "\n")
    np.savez_compressed(HERE / "quantization.npz", **arrays)
