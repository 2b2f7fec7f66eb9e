"""Flows of zuko, trained."""

import torch
import zuko


def program():
    for name, made in {
        "nsf": lambda: zuko.flows.NSF(3, context=2, transforms=2, hidden_features=(16,)),
        "maf": lambda: zuko.flows.MAF(3, context=2, transforms=2, hidden_features=(16,)),
        "gmm": lambda: zuko.mixtures.GMM(3, context=2, components=3),
    }.items():
        torch.manual_seed(0)
        flow, x, c = made(), torch.randn(32, 3), torch.randn(32, 2)
        optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
        for step in range(3):
            loss = -flow(c).log_prob(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield f"{name} {step}", loss
        yield f"{name} sampled", flow(c[:2]).sample((3,))
