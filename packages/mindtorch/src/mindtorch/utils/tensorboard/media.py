"""Pictures, films and sounds, as TensorBoard's protocol buffers."""

from __future__ import annotations

import io
import logging
import os
import tempfile
import wave
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from ._convert_np import make_np
from ._utils import _prepare_video, convert_to_HWC

__all__ = ["audio", "draw_boxes", "image", "image_boxes", "make_image", "make_video", "video"]

logger = logging.getLogger(__name__)


def _scale(tensor: np.ndarray[Any, Any]) -> int:
    """What makes bytes of the elements: those of floats are in [0, 1]."""
    return 1 if tensor.dtype == np.uint8 else 255


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """A picture, or a grid of several, of floats in [0, 1] or bytes.

    Parameters
    ----------
    rescale
        By what width and height are multiplied.
    """
    pixels = convert_to_HWC(make_np(tensor), dataformats)
    scale = _scale(pixels)
    written = (pixels.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)
    return Summary(value=[Summary.Value(tag=tag, image=make_image(written, rescale=rescale))])


def image_boxes(
    tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW", labels: Any = None
) -> Any:
    """A picture with boxes (left, top, right, bottom) drawn into it."""
    pixels = convert_to_HWC(make_np(tensor_image), dataformats)
    boxes = make_np(tensor_boxes)
    written = (pixels.astype(np.float32) * _scale(pixels)).clip(0, 255).astype(np.uint8)
    return Summary(
        value=[Summary.Value(tag=tag, image=make_image(written, rescale=rescale, rois=boxes, labels=labels))]
    )


def draw_boxes(disp_image: Any, boxes: Any, labels: Any = None) -> Any:
    """Draw boxes, with labels, into a picture of PIL's."""
    from PIL import ImageDraw  # lazy: an option of programs that have it

    draw = ImageDraw.Draw(disp_image)
    for index in range(boxes.shape[0]):
        left, top, right, bottom = (float(edge) for edge in boxes[index, :4])
        corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(corners, width=2, fill="Red")
        if labels is not None:
            _label(draw, labels[index], left, bottom)
    return disp_image


def _label(draw: Any, text: str, left: float, bottom: float) -> None:
    from PIL import ImageFont  # lazy: an option of programs that have it

    font = ImageFont.load_default()
    x0, y0, x1, y1 = font.getbbox(text)
    width, height = x1 - x0, y1 - y0
    margin = np.ceil(0.05 * height)
    draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
    draw.text((left + margin, bottom - height - margin), text, fill="black", font=font)


def make_image(tensor: np.ndarray[Any, Any], rescale: float = 1, rois: Any = None, labels: Any = None) -> Any:
    """A picture of bytes (height, width, channels) as PNG."""
    from PIL import Image  # lazy: an option of programs that have it

    height, width, channels = tensor.shape
    picture = Image.fromarray(tensor)
    if rois is not None:
        picture = draw_boxes(picture, rois, labels=labels)
    picture = picture.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    output = io.BytesIO()
    picture.save(output, format="PNG")
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=output.getvalue())


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Films (batch, time, channels, height, width) side by side, as GIF; the package moviepy is needed."""
    frames = _prepare_video(make_np(tensor))
    written = (frames.astype(np.float32) * _scale(make_np(tensor))).clip(0, 255).astype(np.uint8)
    return Summary(value=[Summary.Value(tag=tag, image=make_video(written, fps))])


def make_video(tensor: np.ndarray[Any, Any], fps: float) -> Any:
    """A film of bytes (time, height, width, channels) as GIF.

    Raises
    ------
    ModuleNotFoundError
        Without the package moviepy.
    """
    try:
        from moviepy.video.io.ImageSequenceClip import ImageSequenceClip  # lazy: an option of programs that have it
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "moviepy":
            raise
        raise ModuleNotFoundError(
            "add_video needs package moviepy, which is not installed: pip install moviepy", name="moviepy"
        ) from error
    _, height, width, channels = tensor.shape
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "film.gif")
        ImageSequenceClip(list(tensor), fps=fps).write_gif(path, logger=None)
        with open(path, "rb") as file:
            encoded = file.read()
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=encoded)


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """A sound of floats in [-1, 1], one channel, as WAV of 16 bits; what lies outside is clipped, with a warning."""
    samples = make_np(tensor).squeeze()
    if abs(samples).max() > 1:
        logger.warning("audio amplitude out of range, auto clipped.")
        samples = samples.clip(-1, 1)
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    encoded = io.BytesIO()
    with wave.open(encoded, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((samples * np.iinfo(np.int16).max).astype("<i2").tobytes())
    sound = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=samples.shape[-1],
        encoded_audio_string=encoded.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=sound)])
