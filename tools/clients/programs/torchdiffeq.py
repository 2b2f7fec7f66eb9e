"""A neural differential equation, solved, and trained through the adjoint equation."""

import torch
from torchdiffeq import odeint, odeint_adjoint


class Spiral(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


def program():
    torch.manual_seed(0)
    times = torch.linspace(0.0, 2.0, 10)
    start = torch.tensor([[2.0, 0.0]])
    matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    for method in ("dopri5", "dopri8", "bosh3", "rk4", "euler", "explicit_adams"):
        yield method, odeint(lambda t, y: y**3 @ matrix, start, times, method=method)
    truth = odeint(lambda t, y: y**3 @ matrix, start, times)
    model = Spiral()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for step in range(3):
        optimizer.zero_grad()
        loss = (odeint_adjoint(model, start, times) - truth).abs().mean()
        loss.backward()
        optimizer.step()
        yield f"loss {step}", loss
