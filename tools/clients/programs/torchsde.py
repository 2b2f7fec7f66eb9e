"""A stochastic differential equation, solved along one Brownian path."""

import torch
import torchsde


class Equation(torch.nn.Module):
    noise_type = "diagonal"
    sde_type = "ito"

    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Linear(2, 2)
        self.spread = torch.nn.Linear(2, 2)

    def f(self, t, y):
        return self.drift(y).tanh()

    def g(self, t, y):
        return 0.3 * self.spread(y).sigmoid()


def program():
    torch.manual_seed(0)
    model, start, times = Equation(), torch.zeros(4, 2), torch.linspace(0, 1, 5)
    path = torchsde.BrownianInterval(0.0, 1.0, size=(4, 2), entropy=7)
    yield "increment", path(0.2, 0.7)
    for method in ("euler", "milstein"):
        yield method, torchsde.sdeint(model, start, times, bm=path, dt=0.1, method=method)
    loss = torchsde.sdeint(model, start, times, bm=path, dt=0.1, method="euler").square().mean()
    loss.backward()
    yield "gradients", [parameter.grad for parameter in model.parameters()]
