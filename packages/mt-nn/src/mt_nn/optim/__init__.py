"""``torch.optim``: optimizers and learning rate schedulers."""

from mt_nn.optim import lr_scheduler as lr_scheduler
from mt_nn.optim import swa_utils as swa_utils
from mt_nn.optim._adafactor import Adafactor as Adafactor
from mt_nn.optim._muon import Muon as Muon
from mt_nn.optim._stateless import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
from mt_nn.optim.adadelta import Adadelta as Adadelta
from mt_nn.optim.adagrad import Adagrad as Adagrad
from mt_nn.optim.adam import Adam as Adam
from mt_nn.optim.adamax import Adamax as Adamax
from mt_nn.optim.adamw import AdamW as AdamW
from mt_nn.optim.asgd import ASGD as ASGD
from mt_nn.optim.lbfgs import LBFGS as LBFGS
from mt_nn.optim.nadam import NAdam as NAdam
from mt_nn.optim.optimizer import Optimizer as Optimizer
from mt_nn.optim.radam import RAdam as RAdam
from mt_nn.optim.rmsprop import RMSprop as RMSprop
from mt_nn.optim.rprop import Rprop as Rprop
from mt_nn.optim.sgd import SGD as SGD
from mt_nn.optim.sparse_adam import SparseAdam as SparseAdam

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]
