"""Sparse alternatives to softmax, with gradients."""

import torch
from entmax import Entmax15Loss, SparsemaxLoss, entmax15, entmax_bisect, sparsemax


def program():
    torch.manual_seed(0)
    x = torch.randn(4, 6, requires_grad=True)
    for name, function in {"sparsemax": sparsemax, "entmax15": entmax15}.items():
        result = function(x, dim=-1)
        yield name, result
        yield f"{name} gradient", torch.autograd.grad((result * torch.arange(6.0)).sum(), x)
    alpha = torch.tensor(1.3, requires_grad=True)
    result = entmax_bisect(x, alpha)
    yield "bisect", result
    yield "bisect gradients", torch.autograd.grad((result * torch.arange(6.0)).sum(), (x, alpha))
    for criterion in (SparsemaxLoss(), Entmax15Loss()):
        loss = criterion(x, torch.tensor([0, 1, 2, 3]))
        yield type(criterion).__name__, loss
        yield f"{type(criterion).__name__} gradient", torch.autograd.grad(loss, x)
