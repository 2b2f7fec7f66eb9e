"""What a data loader is made of: fetching, collating, workers and the way their batches travel."""

from mt_nn.data._utils import collate as collate
from mt_nn.data._utils import fetch as fetch
from mt_nn.data._utils import pin_memory as pin_memory
from mt_nn.data._utils import worker as worker
