"""A spiking network with a surrogate gradient."""

import snntorch
import torch
from snntorch import surrogate


def program():
    torch.manual_seed(0)
    slope = surrogate.fast_sigmoid(slope=25)
    first, second = torch.nn.Linear(6, 12), torch.nn.Linear(12, 2)
    hidden = snntorch.Leaky(beta=0.9, spike_grad=slope)
    out = snntorch.Synaptic(alpha=0.8, beta=0.9, spike_grad=slope)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2)
    given, label = torch.rand(4, 6), torch.tensor([0, 1, 0, 1])
    for step in range(3):
        one, (current, two) = hidden.init_leaky(), out.init_synaptic()
        recorded = []
        for _ in range(8):
            spikes, one = hidden(first(given), one)
            fired, current, two = out(second(spikes), current, two)
            recorded.append(two)
        loss = torch.nn.functional.cross_entropy(torch.stack(recorded).sum(0), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield f"loss {step}", loss
    yield "fired", fired
