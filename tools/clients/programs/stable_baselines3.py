"""Reinforcement learning on CartPole and Pendulum with PPO, A2C, DQN and SAC."""

import gymnasium
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC

#: Rounding changes which action an agent takes once its policy has moved; few steps keep them alike.
TOLERANCE = 1e-3


def program():
    torch.set_num_threads(1)
    small = {"net_arch": [16]}
    for kind, steps, options in (
        (PPO, 128, {"n_steps": 64, "batch_size": 32, "n_epochs": 2}),
        (A2C, 60, {"n_steps": 10}),
        (DQN, 80, {"learning_starts": 20, "batch_size": 16, "train_freq": 4}),
    ):
        agent = kind("MlpPolicy", gymnasium.make("CartPole-v1"), seed=0, device="cpu", policy_kwargs=small, **options)
        agent.learn(steps)
        yield kind.__name__, [parameter.detach().norm() for parameter in agent.policy.parameters()]
        yield f"{kind.__name__} action", agent.predict(torch.zeros(4).numpy(), deterministic=True)[0].tolist()
    options = {"learning_starts": 20, "batch_size": 16, "policy_kwargs": small}
    agent = SAC("MlpPolicy", gymnasium.make("Pendulum-v1"), seed=0, **options)
    agent.learn(40)
    yield "SAC", [parameter.detach().norm() for parameter in agent.policy.parameters()]
    yield "SAC action", agent.predict(torch.zeros(3).numpy(), deterministic=True)[0].tolist()
