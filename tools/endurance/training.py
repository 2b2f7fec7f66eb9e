"""Training for 200,000 steps, and in eight threads at once."""

from __future__ import annotations

import threading
from typing import Any

import mindtorch as torch

from .memory import Watch

__all__ = ["run", "run_threads"]

STEPS = 200_000
PARTS = 100
THREADS = 8
STEPS_OF_A_THREAD = 2_000


class Learner:
    """A small network that learns a fixed function; all of it follows from a seed."""

    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.inputs = torch.randn(16, 4, generator=generator)
        self.targets = self.inputs.sin().sum(1, keepdim=True)
        layers = [torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)]
        self.model = torch.nn.Sequential(*layers)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def loss(self) -> Any:
        return torch.nn.functional.mse_loss(self.model(self.inputs), self.targets)

    def train(self, steps: int) -> None:
        for _ in range(steps):
            self.optimizer.zero_grad()
            self.loss().backward()
            self.optimizer.step()

    def weights(self) -> list[list[float]]:
        return [parameter.detach().reshape(-1).tolist() for parameter in self.model.parameters()]


def run(share: float) -> list[str]:
    """The loss falls and stays a number, and memory does not grow."""
    learner, watch = Learner(0), Watch(PARTS)
    before = float(learner.loss())
    for _ in range(PARTS):
        learner.train(max(1, int(STEPS * share) // PARTS))
        watch.step()
    after = float(learner.loss())
    found = [] if after < before else [f"the loss was {before} and is {after}"]
    return found + watch.complaints()


def run_threads(share: float) -> list[str]:
    """Eight threads that train at once learn what each would learn alone, to the last bit."""
    steps = max(2, int(STEPS_OF_A_THREAD * share))
    parts = 10
    together = [Learner(seed) for seed in range(THREADS)]
    watch = Watch(parts)
    for _ in range(parts):
        _train_at_once(together, max(1, steps // parts))
        watch.step()
    found = []
    for seed, learner in enumerate(together):
        alone = Learner(seed)
        alone.train(parts * max(1, steps // parts))
        if alone.weights() != learner.weights():
            found.append(f"thread {seed} learned something else than it does alone")
    return found + watch.complaints()


def _train_at_once(learners: list[Learner], steps: int) -> None:
    threads = [threading.Thread(target=learner.train, args=(steps,)) for learner in learners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
