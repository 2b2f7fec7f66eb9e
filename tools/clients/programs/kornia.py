"""Filters, geometry and colours of kornia, with gradients."""

import kornia
import torch


def program():
    torch.manual_seed(0)
    pictures = torch.rand(2, 3, 24, 24, requires_grad=True)
    results = {
        "gray": kornia.color.rgb_to_grayscale(pictures),
        "hsv": kornia.color.rgb_to_hsv(pictures),
        "lab": kornia.color.rgb_to_lab(pictures),
        "blur": kornia.filters.gaussian_blur2d(pictures, (5, 5), (1.5, 1.5)),
        "sobel": kornia.filters.sobel(pictures),
        "median": kornia.filters.median_blur(pictures, (3, 3)),
        "rotated": kornia.geometry.rotate(pictures, torch.tensor([15.0, 30.0])),
        "resized": kornia.geometry.resize(pictures, (12, 16), antialias=True),
        "harris": kornia.feature.harris_response(pictures),
        "opened": kornia.morphology.opening(pictures, torch.ones(3, 3)),
        "ssim": kornia.metrics.ssim(pictures, pictures.flip(0), 5),
    }
    for name, result in results.items():
        yield name, result
        (slope,) = torch.autograd.grad(result.sum(), pictures, retain_graph=True)
        yield f"{name} gradient", slope
    corners = torch.tensor([[[0.0, 0], [10, 0], [10, 10], [0, 10]]])
    yield "homography", kornia.geometry.get_perspective_transform(corners, corners * 1.5 + 1)
    torch.manual_seed(1)
    changed = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomAffine(15.0, p=1.0), kornia.augmentation.RandomHorizontalFlip(p=0.5)
    )
    yield "augmented", changed(pictures.detach())
