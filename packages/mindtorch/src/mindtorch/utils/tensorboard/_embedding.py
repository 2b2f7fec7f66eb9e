"""Files of the projector: points, what they are, pictures of them."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

from ._convert_np import make_np
from ._utils import make_grid

__all__ = ["get_embedding_info", "make_mat", "make_sprite", "make_tsv", "write_pbtxt"]


def make_tsv(metadata: list[Any], save_path: str, metadata_header: list[str] | None = None) -> None:
    """Write what points are, one a line, below a header where one is given."""
    if not metadata_header:
        lines = [str(item) for item in metadata]
    else:
        if len(metadata_header) != len(metadata[0]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        lines = ["\t".join(str(item) for item in row) for row in [metadata_header, *metadata]]
    with open(os.path.join(save_path, "metadata.tsv"), "wb") as file:
        file.write(("\n".join(lines) + "\n").encode("utf8"))


def make_sprite(label_img: Any, save_path: str) -> None:
    """Write pictures (count, channels, size, size) as one, with as many rows as columns."""
    from PIL import Image  # lazy: an option of programs that have it

    pictures = make_np(label_img)
    columns = math.ceil(math.sqrt(pictures.shape[0]))
    if pictures.shape[2] != pictures.shape[3]:
        raise AssertionError("Image should be square, see tensorflow/tensorboard#670")
    count = columns * columns
    filled = np.concatenate((pictures, np.ones((count - pictures.shape[0], *pictures.shape[1:]))), axis=0)
    sprite = make_grid(filled, ncols=columns).transpose(1, 2, 0)
    Image.fromarray((sprite * 255).astype(np.uint8)).save(os.path.join(save_path, "sprite.png"))


def get_embedding_info(metadata: Any, label_img: Any, subdir: str, global_step: int, tag: str) -> Any:
    """What the projector is told about the files in a folder."""
    info = EmbeddingInfo()
    info.tensor_name = f"{tag}:{str(global_step).zfill(5)}"
    info.tensor_path = f"{subdir}/tensors.tsv"
    if metadata is not None:
        info.metadata_path = f"{subdir}/metadata.tsv"
    if label_img is not None:
        info.sprite.image_path = f"{subdir}/sprite.png"
        info.sprite.single_image_dim.extend([label_img.shape[3], label_img.shape[2]])
    return info


def write_pbtxt(save_path: str, contents: str) -> None:
    """Write the projector's configuration."""
    with open(os.path.join(save_path, "projector_config.pbtxt"), "wb") as file:
        file.write(contents.encode("utf8"))


def make_mat(matlist: Any, save_path: str) -> None:
    """Write points, one a line."""
    with open(os.path.join(save_path, "tensors.tsv"), "wb") as file:
        for row in matlist:
            file.write(("\t".join(str(value.item()) for value in row) + "\n").encode("utf8"))
