"""Programs on quantized tensors, and what they answer; run with PyTorch by make_quantization.py, and by the test."""

from __future__ import annotations

import io
import warnings
from typing import Any

TENSORS = """
    q.t() | q.permute(1, 0) | c.permute(1, 0) | q[0] | c[0] | q[0, 1] | q[q.int_repr() > 3] | q.reshape(3, 2)
    q.view(-1)
    q.flatten() | q.t().contiguous().stride() | c.contiguous() | q.to(torch.float32) | q.max() | q.min() | q.max(1)
    q.sort() | torch.relu(q) | torch.cat([q, q]) | torch.cat([q, torch.quantize_per_tensor(x, 0.2, 3, torch.quint8)])
    torch.stack([q, q]) | q == q | q > 0 | q < q | q > x | q.equal(q) | q.equal(q.clone()) | q.item() | q[0, 0].item()
    q.tolist() | q.numpy() | q.nbytes | q.unsqueeze(0) | c.unsqueeze(0) | q.squeeze() | q.split(1) | q.chunk(2, 1)
    q.unbind() | q.narrow(1, 0, 2) | q.expand(2, 2, 3) | q.repeat(2, 1) | q.flip(0)
    c.index_select(0, torch.tensor([0]))
    q.index_select(0, torch.tensor([0])) | q.detach() | q.requires_grad_() | torch.empty_like(q).shape | q.topk(1)
    q.unfold(1, 2, 1) | q[1].storage_offset() | q.is_contiguous() | q.untyped_storage().nbytes()
    q.t().dequantize().stride() | q.t().int_repr().stride() | q.type() | q.is_floating_point() | q.is_signed()
    torch.quantize_per_tensor(x.t(), 0.1, 3, torch.quint8).stride() | q.qscheme() | c.qscheme() | f.qscheme()
    torch.quantize_per_tensor(x.clone().requires_grad_(), 0.1, 3, torch.quint8).requires_grad | q.is_quantized
    q.clone().fill_(1000.0) | q.clone()[0].fill_(0.3) | q.clone().copy_(x * 3) | x.clone().copy_(q) | q.clone().copy_(c)
    q.clone()[:, 1:].copy_(x[:, 1:]) | q.to("cpu") is q | q.half() | q.dequantize() | c.dequantize()
    i.dequantize() | f
    torch.fake_quantize_per_channel_affine(odd[None], torch.tensor([0.1]), torch.tensor([3.0]), 0, 0, 255)
    torch.fake_quantize_per_channel_affine(odd[None], torch.tensor([0.1]), torch.tensor([3]).int(), 0, 0, 255)
    torch.dequantize([q, c]) | torch.dequantize(x) | q.q_scale() | q.q_zero_point() | c.q_per_channel_scales()
    c.q_per_channel_zero_points() | c.q_per_channel_axis() | c.q_scale() | q.q_per_channel_scales() | x.q_scale()
    x.int_repr() | q.sum() | q + q | q @ q.t() | torch.sigmoid(x[q.int_repr() > 3]) | q.__deepcopy__({}) | q.T
    torch.quantize_per_tensor(x.double(), 0.1, 0, torch.quint8) | torch.quantize_per_tensor(x, 0.1, 300, torch.quint8)
    torch.quantize_per_tensor(x, 0.1, -1, torch.quint8) | torch.quantize_per_tensor(x, -0.1, 0, torch.quint8)
    torch.quantize_per_tensor(x, 0.0, 0, torch.quint8) | torch.quantize_per_tensor(x, 0.1, 0, torch.uint8)
    torch.quantize_per_tensor(x, torch.tensor(0.1), torch.tensor(3), torch.quint8)
    torch.quantize_per_tensor([x, x], torch.tensor([0.1, 0.2]), torch.tensor([3, 4]), torch.quint8)
    torch.quantize_per_tensor_dynamic(x, torch.qint8, True) | torch.quantize_per_tensor_dynamic(x, torch.quint8, False)
    torch.quantize_per_channel(x, torch.tensor([0.1]), torch.tensor([0, 5]), 0, torch.qint8)
    torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([0, 5]), 2, torch.qint8)
    torch._choose_qparams_per_tensor(x) | torch._choose_qparams_per_tensor(x, True)
    torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2], dtype=torch.uint8), 0.5, 1)
    torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2]), 0.5, 1)
    torch._empty_affine_quantized([3], scale=0.5, zero_point=2, dtype=torch.quint8).q_scale()
    torch.quantize_per_tensor(odd, 0.1, 0, torch.quint8).int_repr() | x.to(torch.quint8)
    torch.quantize_per_tensor(odd, 0.1, 0, torch.qint32).int_repr() | torch.per_channel_affine | torch.qscheme
    torch.quantize_per_channel(odd[None], torch.tensor([0.1]), torch.tensor([0]), 0, torch.quint8).int_repr()
    torch.fake_quantize_per_tensor_affine(odd, 0.1, 3, 0, 255) | saved(torch, q, q[1], c)
"""

OBSERVERS = """
    MinMaxObserver() | MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, reduce_range=True)
    PerChannelMinMaxObserver(ch_axis=1) | MovingAverageMinMaxObserver(averaging_constant=0.1)
    PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric) | default_observer()
    MovingAveragePerChannelMinMaxObserver(averaging_constant=0.1) | default_weight_observer()
    PerChannelMinMaxObserver(qscheme=torch.per_channel_affine_float_qparams) | default_dynamic_quant_observer()
    MinMaxObserver(dtype=torch.quint8, qscheme=torch.per_tensor_symmetric)
    MinMaxObserver(quant_min=-3, quant_max=12, dtype=torch.qint8) | MinMaxObserver(dtype=torch.int16)
"""


def _programs(text: str) -> list[str]:
    return [program.strip() for line in text.splitlines() for program in line.split(" | ") if program.strip()]


def _told(torch: Any, program: str, names: dict[str, Any]) -> str:
    try:
        return repr(eval(program, names)).replace("mindtorch", "torch")  # noqa: S307 - the programs are those above
    except Exception as error:  # noqa: BLE001 - errors are what is compared
        words = str(error).partition("\n")[0]
        # What PyTorch has no kernel for is another operator there, the one that is reached at last.
        return f"{type(error).__name__}: {'Could not run' if words.startswith('Could not run') else words[:90]}"


def saved(torch: Any, *tensors: Any) -> Any:
    """Tensors after a file, and whether they share memory still."""
    file = io.BytesIO()
    torch.save(tensors, file)
    file.seek(0)
    found = torch.load(file)
    return found, found[0].untyped_storage().data_ptr() == found[1].untyped_storage().data_ptr()


def observed(torch: Any, observer: Any) -> Any:
    """What is said of two batches."""
    batch = torch.linspace(-1.5, 4.1, 20).reshape(4, 5)
    observer(batch)
    observer(batch * 2)
    return observer, dict(observer.state_dict()), observer.calculate_qparams()


def answers(torch: Any) -> dict[str, str]:
    """Program -> what it answers, or how it fails."""
    warnings.simplefilter("ignore")
    told = {}
    for program in _programs(TENSORS):
        x = torch.tensor([[-1.5, 0.0, 0.3], [2.2, 7.7, 100.0]])
        odd = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30, 0.05, 0.15, 0.25])
        names = {
            "torch": torch, "saved": saved, "x": x, "odd": odd,
            "q": torch.quantize_per_tensor(x, 0.1, 10, torch.quint8),
            "i": torch.quantize_per_tensor(x, 0.1, 0, torch.qint32),
            "c": torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([0, 5]), 0, torch.qint8),
            "f": torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([0.0, 5.5]), 0, torch.quint8),
        }  # fmt: skip
        told[program] = _told(torch, program, names)
    names = {"torch": torch, "observed": observed, **vars(torch.ao.quantization)}
    for program in _programs(OBSERVERS):
        told[program] = _told(torch, f"observed(torch, {program})", names)
    return told
