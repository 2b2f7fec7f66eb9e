"""Variational inference and Hamiltonian Monte Carlo by pyro."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoMultivariateNormal, AutoNormal


def line(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
    noise = pyro.sample("noise", dist.LogNormal(0.0, 0.5))
    with pyro.plate("points", len(x)):
        return pyro.sample("y", dist.Normal(slope * x, noise), obs=y)


@config_enumerate
def mixture(x):
    weights = pyro.sample("weights", dist.Dirichlet(torch.ones(2)))
    with pyro.plate("parts", 2):
        centre = pyro.sample("centre", dist.Normal(0.0, 3.0))
    with pyro.plate("points", len(x)):
        part = pyro.sample("part", dist.Categorical(weights))
        pyro.sample("x", dist.Normal(centre[part], 1.0), obs=x)


def program():
    pyro.set_rng_seed(0)
    x = torch.linspace(-1, 1, 20)
    y = 0.7 * x + 0.1 * torch.randn(20)
    for kind in (AutoNormal, AutoMultivariateNormal):
        pyro.clear_param_store()
        pyro.set_rng_seed(1)
        guide = kind(line)
        inference = SVI(line, guide, pyro.optim.ClippedAdam({"lr": 0.05}), Trace_ELBO(num_particles=2))
        yield kind.__name__, [inference.step(x, y) for _ in range(5)]
        yield f"{kind.__name__} median", guide.median(x, y)
    pyro.clear_param_store()
    guide = AutoNormal(pyro.poutine.block(mixture, hide=["part"]))
    inference = SVI(mixture, guide, pyro.optim.Adam({"lr": 0.05}), TraceEnum_ELBO(max_plate_nesting=1))
    yield "mixture", [inference.step(y * 4) for _ in range(5)]
    pyro.set_rng_seed(2)
    chain = MCMC(NUTS(line), num_samples=5, warmup_steps=5, disable_progbar=True)
    chain.run(x, y)
    yield "chain", chain.get_samples()
    yield "predicted", Predictive(line, chain.get_samples())(x)["y"]
