"""``torch.utils.tensorboard``: files that TensorBoard shows, written with its own package ``tensorboard``."""

try:
    import tensorboard
except ModuleNotFoundError as error:
    if error.name != "tensorboard":
        raise
    raise ModuleNotFoundError(
        "torch.utils.tensorboard needs the package tensorboard, which is not installed: pip install tensorboard",
        name="tensorboard",
    ) from error

from tensorboard.summary.writer.record_writer import RecordWriter as RecordWriter

from .writer import FileWriter as FileWriter
from .writer import SummaryWriter as SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]

del tensorboard
