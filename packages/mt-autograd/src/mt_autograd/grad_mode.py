"""``torch.autograd.grad_mode``: the switches of recording, which are the core's, and that of engine threads."""

from mt_core.autograd_state import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class set_multithreading_enabled:
    """Whether backward may use threads of its own. It never does: it runs in the thread that calls it."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        """Either way backward runs in this thread."""

    def __exit__(self, *exc_info: object) -> None:
        """Nothing was changed."""
