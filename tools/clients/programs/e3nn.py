"""Equivariant layers of e3nn: products of representations, and a convolution trained."""

import torch
from e3nn import o3
from e3nn.nn import BatchNorm, FullyConnectedNet, Gate


def program():
    torch.manual_seed(0)
    points = torch.randn(6, 3)
    harmonics = o3.spherical_harmonics([0, 1, 2], points, normalize=True)
    yield "harmonics", harmonics
    turn = o3.rand_matrix()
    yield "rotation", turn
    yield "wigner", o3.Irreps("1e + 2e").D_from_matrix(turn)
    product = o3.FullyConnectedTensorProduct("4x0e + 2x1o", "0e + 1o + 2e", "3x0e + 2x1o")
    given = torch.randn(6, 10, requires_grad=True)
    made = product(given, harmonics)
    yield "product", made
    yield "gradient", torch.autograd.grad(made.square().sum(), given)
    linear = o3.Linear("4x0e + 2x1o", "4x0e + 2x1o")
    gate = Gate("2x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
    weights = FullyConnectedNet([3, 8, 1], torch.nn.functional.silu)
    norm = BatchNorm("2x0e + 2x1o")
    parameters = [*linear.parameters(), *weights.parameters(), *norm.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for step in range(3):
        optimizer.zero_grad()
        loss = (norm(gate(linear(given.detach()))) * weights(points)).square().mean()
        loss.backward()
        optimizer.step()
        yield f"loss {step}", loss
