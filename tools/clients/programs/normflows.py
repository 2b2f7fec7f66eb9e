"""A normalizing flow, trained on samples of another."""

import normflows as nf
import torch


def program():
    torch.manual_seed(0)
    flows = []
    for _ in range(3):
        flows.append(nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 16, 16, 2], init_zeros=True)))
        flows.append(nf.flows.Permute(2, mode="swap"))
    flows.append(nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8))
    model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2), flows)
    target = nf.distributions.TwoMoons()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(3):
        optimizer.zero_grad()
        given = torch.randn(64, 2)
        loss = model.forward_kld(given)
        loss.backward()
        optimizer.step()
        yield f"loss {step}", loss
    samples, density = model.sample(5)
    yield "samples", samples
    yield "density", density
    yield "target", target.log_prob(samples)
