"""Pictures and films as arrays of the layout that is written: (height, width, channels)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["convert_to_HWC", "figure_to_image", "make_grid"]

Array = np.ndarray[Any, Any]


def figure_to_image(figures: Any, close: bool = True) -> Array:
    """A figure of matplotlib as (3, height, width) in bytes, several of them as (count, 3, height, width)."""
    from matplotlib import pyplot  # lazy: an option of programs that have it
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # lazy: an option of programs that have it

    def rendered(figure: Any) -> Array:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        width, height = figure.canvas.get_width_height()
        pixels = np.frombuffer(canvas.buffer_rgba(), dtype=np.uint8).reshape(height, width, 4)[:, :, :3]
        if close:
            pyplot.close(figure)
        return np.moveaxis(pixels, 2, 0)

    return np.stack([rendered(figure) for figure in figures]) if isinstance(figures, list) else rendered(figures)


def _prepare_video(V: Array) -> Array:
    """Films (batch, time, channels, height, width) side by side: (time, height, width, channels).

    The batch is filled up with black to a power of two.
    """
    batch, time, channels, height, width = V.shape
    video = V.astype(np.float32) / 255.0 if V.dtype == np.uint8 else V
    count = 1 << max(batch - 1, 0).bit_length()
    if count != batch:
        video = np.concatenate((video, np.zeros((count - batch, time, channels, height, width))), axis=0)
    rows = 2 ** ((batch.bit_length() - 1) // 2)
    columns = count // rows
    grid = video.reshape(rows, columns, time, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    return grid.reshape(time, rows * height, columns * width, channels)


def make_grid(I: Array, ncols: int = 8) -> Array:
    """Pictures (count, 3 or 1, height, width) in rows: (3, rows * height, columns * width)."""
    if not isinstance(I, np.ndarray):
        raise AssertionError("plugin error, should pass numpy array here")
    pictures = np.concatenate([I, I, I], 1) if I.shape[1] == 1 else I
    if pictures.ndim != 4 or pictures.shape[1] != 3:
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    count, _, height, width = pictures.shape
    columns = min(count, ncols)
    rows = math.ceil(count / columns)
    canvas = np.zeros((3, height * rows, width * columns), dtype=pictures.dtype)
    for index, picture in enumerate(pictures):
        top, left = index // columns * height, index % columns * width
        canvas[:, top : top + height, left : left + width] = picture
    return canvas


def convert_to_HWC(tensor: Array, input_format: str) -> Array:
    """A picture, or a grid of them, of a named layout (``"NCHW"``, ``"HW"``) as (height, width, 3).

    Raises
    ------
    AssertionError
        When a dimension is named twice, or the number of names is another.
    """
    if len(set(input_format)) != len(input_format):
        raise AssertionError(
            f"You can not use the same dimension shorthand twice.             input_format: {input_format}"
        )
    if len(tensor.shape) != len(input_format):
        raise AssertionError(
            "size of input tensor and input format are different.         "
            f"tensor shape: {tensor.shape}, input_format: {input_format}"
        )
    names = input_format.upper()
    if len(names) == 4:
        grid = make_grid(tensor.transpose([names.find(name) for name in "NCHW"]))
        return grid.transpose(1, 2, 0)
    if len(names) == 3:
        picture = tensor.transpose([names.find(name) for name in "HWC"])
        return np.concatenate([picture, picture, picture], 2) if picture.shape[2] == 1 else picture
    if len(names) == 2:
        picture = tensor.transpose([names.find(name) for name in "HW"])
        return np.stack([picture, picture, picture], 2)
    raise AssertionError(f"a picture has two to four dimensions, not {len(names)}: {input_format}")
