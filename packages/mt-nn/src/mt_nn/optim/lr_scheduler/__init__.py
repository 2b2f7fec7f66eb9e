"""``torch.optim.lr_scheduler``: how learning rates change in the course of training."""

from mt_nn.optim.lr_scheduler._base import LRScheduler as LRScheduler
from mt_nn.optim.lr_scheduler._base import _LRScheduler as _LRScheduler
from mt_nn.optim.lr_scheduler._composed import ChainedScheduler as ChainedScheduler
from mt_nn.optim.lr_scheduler._composed import SequentialLR as SequentialLR
from mt_nn.optim.lr_scheduler._cyclic import CyclicLR as CyclicLR
from mt_nn.optim.lr_scheduler._cyclic import OneCycleLR as OneCycleLR
from mt_nn.optim.lr_scheduler._plateau import ReduceLROnPlateau as ReduceLROnPlateau
from mt_nn.optim.lr_scheduler._schedules import ConstantLR as ConstantLR
from mt_nn.optim.lr_scheduler._schedules import CosineAnnealingLR as CosineAnnealingLR
from mt_nn.optim.lr_scheduler._schedules import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from mt_nn.optim.lr_scheduler._schedules import ExponentialLR as ExponentialLR
from mt_nn.optim.lr_scheduler._schedules import LambdaLR as LambdaLR
from mt_nn.optim.lr_scheduler._schedules import LinearLR as LinearLR
from mt_nn.optim.lr_scheduler._schedules import MultiplicativeLR as MultiplicativeLR
from mt_nn.optim.lr_scheduler._schedules import MultiStepLR as MultiStepLR
from mt_nn.optim.lr_scheduler._schedules import PolynomialLR as PolynomialLR
from mt_nn.optim.lr_scheduler._schedules import StepLR as StepLR

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

# Pickles name a class by its module: the public one, which stays where it is however the files are arranged.
for _name in [*__all__, "_LRScheduler"]:
    globals()[_name].__module__ = __name__
