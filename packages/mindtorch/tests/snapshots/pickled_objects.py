"""What is pickled to see that PyTorch and mindtorch open each other's pickles, shared by the test and by its script."""

from __future__ import annotations

import pickle
import pickletools
from typing import Any

#: Name -> an expression in `torch`, `nn`, and the helpers below.
OBJECTS = {
    "tensor": "torch.arange(6.).reshape(2, 3)",
    "leaf": "torch.ones(2, requires_grad=True)",
    "view": "torch.arange(10)[3:7]",
    "transposed": "torch.arange(6).reshape(2, 3).t()",
    "bool": "torch.tensor([True, False])",
    "bfloat16": "torch.ones(2, dtype=torch.bfloat16)",
    "complex": "torch.tensor([1 + 2j])",
    "conjugate": "torch.tensor([1 + 2j]).conj()",
    "number": "torch.tensor(3)",
    "empty": "torch.empty(0, 3)",
    "meta": "torch.empty(2, 3, device='meta')",
    "attribute": "with_note(torch.ones(2))",
    "parameter": "nn.Parameter(torch.ones(3))",
    "frozen": "nn.Parameter(torch.ones(3), requires_grad=False)",
    "parameter with attribute": "with_note(nn.Parameter(torch.ones(3)))",
    "linear": "filled(nn.Linear(2, 3))",
    "convolutions": "filled(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout(0.3)))",
    "lstm": "filled(nn.LSTM(2, 3))",
    "attention": "filled(nn.MultiheadAttention(4, 2))",
    "transformer": "filled(nn.TransformerEncoderLayer(4, 2, 8))",
    "loss": "nn.CrossEntropyLoss()",
    "embedding": "filled(nn.Embedding(4, 3))",
    "upsample": "nn.Upsample(scale_factor=2)",
    "module list": "filled(nn.ModuleList([nn.Linear(1, 1)]))",
    "parameter dict": "nn.ParameterDict({'a': nn.Parameter(torch.ones(1))})",
    "state": "filled(nn.Linear(2, 3)).state_dict()",
    "sgd": "stepped(torch.optim.SGD, momentum=0.9)",
    "adamw": "stepped(torch.optim.AdamW)",
    "scheduler": "torch.optim.lr_scheduler.StepLR(stepped(torch.optim.SGD), 3)",
    "optimizer state": "stepped(torch.optim.Adam).state_dict()",
    "dtypes": "[torch.float32, torch.bool, torch.int64, torch.complex64, torch.bfloat16, torch.quint8]",
    "devices": "[torch.device('cpu'), torch.device('cuda', 1)]",
    "size": "torch.Size([1, 2])",
    "layout": "torch.strided",
    "typed storage": "torch.arange(3.).storage()",
    "generator": "torch.Generator().manual_seed(3)",
    "maximum": "torch.tensor([1., 2.]).max(0)",
    "sorted": "torch.tensor([2., 1.]).sort()",
    "dataset": "torch.utils.data.Subset(torch.utils.data.TensorDataset(torch.arange(4.)), [0, 1])",
    "grad mode": "torch.no_grad()",
    "operators": "[torch.nn.functional.gelu, torch.linalg.norm, torch.fft.fft, torch.nn.init.zeros_, torch.einsum]",
    "method": "torch.Tensor.backward",
    "classes": """[torch.Tensor, nn.Module, nn.Parameter, torch.optim.SGD, torch.utils.data.DataLoader,
        torch.dtype, torch.autograd.Function, torch.device, torch.Size, torch.Generator,
        torch.UntypedStorage, torch.TypedStorage]""",
}


def made(torch: Any, expression: str) -> Any:
    """The object of an expression."""

    def with_note(tensor: Any) -> Any:
        tensor.note = "hi"
        return tensor

    def filled(module: Any) -> Any:
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(torch.arange(float(parameter.numel())).reshape(parameter.shape))
        return module

    def stepped(kind: Any, **options: Any) -> Any:
        layer = filled(torch.nn.Linear(2, 2))
        optimizer = kind(layer.parameters(), lr=0.1, **options)
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        return optimizer

    names = {"torch": torch, "nn": torch.nn, "with_note": with_note, "filled": filled, "stepped": stepped}
    return eval(expression, names)  # noqa: S307 - an expression of the table above


def named(pickled: bytes) -> list[str]:
    """The classes and functions that a pickle of protocol 2 names, sorted."""
    found = set()
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name == "GLOBAL":
            found.add(argument.replace(" ", "."))
    return sorted(found)


def pickled(torch: Any, expression: str) -> bytes:
    """The pickle of an expression's object; protocol 2 names everything in one opcode."""
    return pickle.dumps(made(torch, expression), protocol=2)


def shown(torch: Any, value: Any) -> Any:
    """What two equal objects have in common, as text and numbers."""
    if isinstance(value, torch.Tensor):
        layout = [type(value).__name__, str(value.dtype), list(value.shape), list(value.stride())]
        facts = [*layout, value.storage_offset(), value.requires_grad, value.is_conj(), str(value.__dict__)]
        return [*facts, None if value.is_meta else str(value.detach().resolve_conj().tolist())]
    if isinstance(value, torch.nn.Module):
        return [repr(value), value.training, shown(torch, value.state_dict())]
    if isinstance(value, (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)):
        return [type(value).__name__, shown(torch, value.state_dict())]
    if isinstance(value, torch.Generator):
        return [value.initial_seed(), torch.rand(2, generator=value).tolist()]
    if isinstance(value, torch.TypedStorage):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, torch.utils.data.Subset):
        return [shown(torch, list(value.dataset.tensors)), value.indices]
    if isinstance(value, dict):
        return [[str(key), shown(torch, item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(shown(torch, item) for item in value)]
    named_value = value if hasattr(value, "__qualname__") else type(value)
    text = "" if repr(value)[0] == "<" else repr(value)
    return [f"{named_value.__module__}.{named_value.__qualname__}", text]
