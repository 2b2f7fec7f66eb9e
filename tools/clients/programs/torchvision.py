"""Models, transforms and operators of torchvision; its compiled operators are PyTorch's own and do not load."""

import torch
import torchvision
from torchvision.transforms import v2


def program():
    pictures = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    for name in ("resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1"):
        torch.manual_seed(0)
        model = torchvision.models.get_model(name, num_classes=5).eval()
        with torch.no_grad():
            yield name, model(pictures)
    torch.manual_seed(0)
    changed = v2.Compose(
        [
            v2.RandomResizedCrop(32, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(0.3, 0.3, 0.3, 0.1),
            v2.RandomRotation(20),
            v2.GaussianBlur(3),
            v2.Normalize([0.5] * 3, [0.25] * 3),
        ]
    )
    yield "transformed", changed(pictures)
    yield "grid", torchvision.utils.make_grid(pictures, nrow=2)
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
    yield "overlaps", torchvision.ops.box_iou(boxes, boxes)
    yield "generalized", torchvision.ops.generalized_box_iou(boxes, boxes)
    yield "focal", torchvision.ops.sigmoid_focal_loss(boxes[:, :2], (boxes[:, 2:] > 10).float(), reduction="mean")
