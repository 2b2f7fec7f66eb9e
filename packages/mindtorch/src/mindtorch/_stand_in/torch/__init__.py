"""What ``import torch`` finds when mindtorch stands in for PyTorch: it leaves mindtorch in its own place."""

import sys

import mindtorch

sys.modules["torch"] = mindtorch
mindtorch.install_as_torch()
