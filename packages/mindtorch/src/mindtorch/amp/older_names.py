"""``torch.cpu.amp`` and ``torch.cuda.amp``: what they warn of."""

import warnings

__all__ = ["warn_of_older_name"]


def warn_of_older_name(device_type: str, name: str) -> None:
    """Say that a name of ``torch.DEVICE.amp`` has given way to ``torch.amp``'s."""
    instead = f"torch.amp.{name}('{device_type}', args...)"
    if name.startswith("custom"):
        instead = f"torch.amp.{name}(args..., device_type='{device_type}')"
    text = f"`torch.{device_type}.amp.{name}(args...)` is deprecated. Please use `{instead}` instead."
    warnings.warn(text, FutureWarning, stacklevel=3)
