"""Bayesian optimization: a surrogate fitted, an acquisition function optimized."""

import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

#: L-BFGS stops by small differences.
TOLERANCE = 1e-3


def program():
    torch.manual_seed(0)
    x = torch.rand(10, 2, dtype=torch.float64)
    y = 1 - (x - 0.5).norm(dim=-1, keepdim=True)
    model = SingleTaskGP(x, y)
    objective = ExactMarginalLogLikelihood(model.likelihood, model)
    yield "before", objective(model(*model.train_inputs), model.train_targets)
    fit_gpytorch_mll(objective)
    model.eval()
    yield "posterior", model.posterior(torch.full((1, 2), 0.4, dtype=torch.float64)).mean
    best = y.max()
    points = torch.rand(5, 1, 2, dtype=torch.float64)
    yield "improvement", LogExpectedImprovement(model, best)(points)
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=3)
    acquisition = qLogExpectedImprovement(model, best, sampler=sampler)
    yield "of two", acquisition(torch.rand(3, 2, 2, dtype=torch.float64))
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    torch.manual_seed(1)
    found, value = optimize_acqf(acquisition, bounds, q=1, num_restarts=2, raw_samples=16, options={"seed": 5})
    yield "found", found
    yield "value", value
