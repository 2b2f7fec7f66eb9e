"""``torch.cuda.amp.grad_scaler``: the older name of the scaler of losses for CUDA."""

from ...amp.older_names import OlderGradScaler

__all__ = ["GradScaler"]


class GradScaler(OlderGradScaler):
    """``torch.amp.GradScaler("cuda")``."""

    device_type = "cuda"
