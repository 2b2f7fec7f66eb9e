"""Eight architectures of timm from a seed, forward; one trained with its augmentation and its optimizer."""

import numpy as np
import timm
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.utils import ModelEmaV3

NAMES = (
    "resnet18",
    "efficientnet_b0",
    "mobilenetv3_small_050",
    "vit_tiny_patch16_224",
    "convnext_atto",
    "regnetx_002",
    "mixer_s32_224",
    "densenet121",
)


def program():
    pictures = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    for name in NAMES:
        torch.manual_seed(0)
        options = {"img_size": 64} if name.startswith(("vit", "mixer")) else {}
        model = timm.create_model(name, num_classes=5, **options).eval()
        with torch.no_grad():
            yield name, model(pictures)
            yield f"{name} parameters", sum(parameter.numel() for parameter in model.parameters())
    torch.manual_seed(0)
    model = timm.create_model("resnet10t", num_classes=5, drop_path_rate=0.1)
    averaged = ModelEmaV3(model, decay=0.9)
    optimizer = create_optimizer_v2(model, "lamb", lr=1e-2)
    np.random.seed(0)
    mixup, criterion = Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, num_classes=5), SoftTargetCrossEntropy()
    for step in range(3):
        given, target = mixup(pictures.clone(), torch.tensor([1, 3]))
        loss = criterion(model(given), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        averaged.update(model)
        yield f"loss {step}", loss
    yield "averaged", averaged.module.eval()(pictures)
    names = timm.create_model("resnet10t", features_only=True)
    yield "features", [tuple(map_.shape) for map_ in names(pictures)]
