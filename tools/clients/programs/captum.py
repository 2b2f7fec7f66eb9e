"""Attributions of a small network by captum."""

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    LayerGradCam,
    NoiseTunnel,
    Occlusion,
    Saliency,
    ShapleyValueSampling,
)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3)
        self.relu = torch.nn.ReLU()
        self.head = torch.nn.Linear(4 * 36, 3)

    def forward(self, x):
        return self.head(self.relu(self.conv(x)).flatten(1))


def program():
    torch.manual_seed(0)
    model, given = Net().eval(), torch.randn(2, 1, 8, 8)
    for kind in (IntegratedGradients, Saliency, DeepLift, InputXGradient, GuidedBackprop, FeatureAblation):
        yield kind.__name__, kind(model).attribute(given, target=1)
    yield "camera", LayerGradCam(model, model.conv).attribute(given, target=1)
    yield "occlusion", Occlusion(model).attribute(given, sliding_window_shapes=(1, 4, 4), strides=(1, 2, 2), target=0)
    torch.manual_seed(1)
    yield "tunnel", NoiseTunnel(Saliency(model)).attribute(given, nt_samples=3, stdevs=0.1, target=2)
    torch.manual_seed(1)
    mask = torch.arange(64).reshape(1, 1, 8, 8) // 16
    yield "shapley", ShapleyValueSampling(model).attribute(given, target=1, n_samples=3, feature_mask=mask)
