"""Contractions of several tensors along a path, with gradients."""

import opt_einsum
import torch


def program():
    torch.manual_seed(0)
    a, b, c = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5), torch.randn(5, 3, 2)
    for order in ("greedy", "optimal", "auto"):
        yield order, opt_einsum.contract("ij,jk,kil->l", a, b, c, optimize=order)
    yield "gradient", torch.autograd.grad(opt_einsum.contract("ij,jk,kil->l", a, b, c).sum(), a)
    expression = opt_einsum.contract_expression("ij,jk,kil->il", (3, 4), b, (5, 3, 2), constants=[1])
    yield "expression", expression(a, c)
    yield "path", str(opt_einsum.contract_path("ij,jk,kil->l", a, b, c)[1])
    yield "outer", opt_einsum.contract("i,j->ij", a[:, 0], b[0])
    yield "integers", opt_einsum.contract("ii,i->i", torch.arange(9).reshape(3, 3), torch.arange(3))
