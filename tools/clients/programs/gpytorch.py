"""Gaussian processes: exact and variational ones, trained, with predictions."""

import gpytorch
import torch


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5) + gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        chosen = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, chosen))
        self.mean = gpytorch.means.LinearMean(1)
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def program():
    torch.manual_seed(0)
    x = torch.linspace(0, 1, 20)
    y = torch.sin(x * 6.0) + torch.randn(20) * 0.1
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        yield f"exact {step}", loss
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        predicted = likelihood(model(torch.tensor([0.25, 0.55])))
        yield "mean", predicted.mean
        yield "variance", predicted.variance
        yield "sample", predicted.sample()
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    approximate = Variational(x[::4, None].clone())
    objective = gpytorch.mlls.VariationalELBO(likelihood, approximate, num_data=20)
    optimizer = torch.optim.Adam([*approximate.parameters(), *likelihood.parameters()], lr=0.05)
    for step in range(5):
        optimizer.zero_grad()
        loss = -objective(approximate(x[:, None]), y)
        loss.backward()
        optimizer.step()
        yield f"variational {step}", loss
