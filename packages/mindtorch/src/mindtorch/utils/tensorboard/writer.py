"""`SummaryWriter`: a folder of files that TensorBoard shows."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Any

from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from mt_core import Tensor

from ..._unsupported import refusal
from . import summary
from ._convert_np import make_np
from ._embedding import get_embedding_info, make_mat, make_sprite, make_tsv, write_pbtxt
from ._utils import figure_to_image

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes events into a file in a folder.

    Parameters
    ----------
    max_queue
        How many events wait before they are written.
    flush_secs
        After how many seconds they are written in any case.
    filename_suffix
        How the file's name ends.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""
    ) -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        folder: str = self.event_writer.get_logdir()
        return folder

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Write an event, at a step and a time: now, unless given."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Write a `Summary`."""
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: float | None = None) -> None:
        """Write a graph, and the statistics of a run of it."""
        graph, statistics = graph_profile
        self.add_event(event_pb2.Event(graph_def=graph.SerializeToString()), None, walltime)
        tagged = event_pb2.TaggedRunMetadata(tag="step1", run_metadata=statistics.SerializeToString())
        self.add_event(event_pb2.Event(tagged_run_metadata=tagged), None, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Open the file again."""
        self.event_writer.reopen()


def _default_bins() -> list[float]:
    """Buckets of histograms: 0, and from 1e-12 on each greater by a tenth, on either side."""
    positive = []
    value = 1e-12
    while value < 1e20:
        positive.append(value)
        value *= 1.1
    return [-value for value in reversed(positive)] + [0] + positive


class SummaryWriter:
    """Writes what TensorBoard shows into a folder, which need not exist.

    Parameters
    ----------
    log_dir
        The folder, ``runs/DATE_HOST`` unless given.
    comment
        How the default folder's name ends.
    purge_step
        Events of this step and later ones in the folder are to be forgotten: a program that crashed goes on.
    max_queue, flush_secs, filename_suffix
        See `FileWriter`.

    A step is any number; times are seconds since 1970, now unless given. Tensors of any device are taken, arrays too.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self.default_bins = _default_bins()
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The file's writer; a new one after `close`."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._writer_of(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step = self.purge_step
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def _writer_of(self, folder: str | os.PathLike[str]) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def get_logdir(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.log_dir

    def _add(self, written: Any, step: int | None, walltime: float | None) -> None:
        self._get_file_writer().add_summary(written, step, walltime)

    # Numbers

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write a number; see `summary.scalar` for the options."""
        written = summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(written, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write numbers that are shown together: each into a folder of its own below the main one."""
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            place = folder + "/" + main_tag.replace("/", "_") + "_" + tag
            if place not in self.all_writers:
                self.all_writers[place] = self._writer_of(place)
            self.all_writers[place].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Tensor, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write a tensor of any shape."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Write the histogram of values; `bins` as for ``numpy.histogram``, or ``"tensorflow"`` for that one's."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summary.histogram(tag, values, bins, max_bins=max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write a histogram that was counted before.

        Raises
        ------
        ValueError
            When there are not as many limits as counts.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        written = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(written, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write the curve of precision and recall: labels 0 and 1, predictions in [0, 1]."""
        written = summary.pr_curve(tag, make_np(labels), make_np(predictions), num_thresholds, weights)
        self._add(written, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write a curve of precision and recall that was counted before."""
        written = summary.pr_curve_raw(
            tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts,
            precision, recall, num_thresholds, weights,
        )  # fmt: skip
        self._add(written, global_step, walltime)

    # Pictures, films, sounds

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Write a picture; the package pillow is needed."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Write several pictures, in one."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: list[str] | str | None = None,
    ) -> None:
        """Write a picture with boxes (count, 4): left, top, right, bottom.

        Raises
        ------
        AssertionError
            When there are not as many labels as boxes.
        """
        if labels is not None:
            labels = [labels] if isinstance(labels, str) else labels
            if len(labels) != box_tensor.shape[0]:
                raise AssertionError(f"expected {box_tensor.shape[0]} labels, got {len(labels)}")
        written = summary.image_boxes(
            tag, img_tensor, box_tensor, rescale=rescale, dataformats=dataformats, labels=labels
        )
        self._add(written, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Write a figure of matplotlib, or several of one size, and close them."""
        formats = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, figure_to_image(figure, close), global_step, walltime, dataformats=formats)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: int | None = None, fps: float = 4, walltime: float | None = None
    ) -> None:
        """Write films (batch, time, channels, height, width); the package moviepy is needed."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Write a sound of one channel, in [-1, 1]."""
        self._add(summary.audio(tag, snd_tensor, sample_rate=sample_rate), global_step, walltime)

    # Text, parameters, layouts

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write text, which is shown as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Write the parameters of a run and what came of them, into a folder of its own."""
        parts = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for part in parts:
                writer._get_file_writer().add_summary(part, global_step)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Have scalars shown in one chart."""
        self._add(summary.custom_scalars({category: {title: ["Multiline", tags]}}), None, None)

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Have three scalars shown as a value between two others."""
        if len(tags) != 3:
            raise AssertionError(f"A Margin chart must have exactly 3 tags, got {len(tags)}")
        self._add(summary.custom_scalars({category: {title: ["Margin", tags]}}), None, None)

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, list[Any]]]) -> None:
        """Say which scalars are shown together; see `summary.custom_scalars`."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write triangles in space; see `summary.mesh`."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_embedding(
        self,
        mat: Any,
        metadata: list[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: list[str] | None = None,
    ) -> None:
        """Write points (count, dimensions), for the projector.

        Parameters
        ----------
        metadata
            What each of them is: a text, or several under `metadata_header`.
        label_img
            A picture of each: (count, channels, size, size).

        Raises
        ------
        AssertionError
            When there are not as many of these as points, or pictures are no squares.
        """
        points = make_np(mat)
        subdir = f"{str(0 if global_step is None else global_step).zfill(5)}/{_encoded(tag)}"
        folder = os.path.join(self._get_file_writer().get_logdir(), subdir)
        os.makedirs(folder, exist_ok=True)
        if metadata is not None:
            if points.shape[0] != len(metadata):
                raise AssertionError("#labels should equal with #data points")
            make_tsv(metadata, folder, metadata_header=metadata_header)
        if label_img is not None:
            if points.shape[0] != label_img.shape[0]:
                raise AssertionError("#images should equal with #data points")
            make_sprite(label_img, folder)
        if points.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        make_mat(points, folder)
        if not hasattr(self, "_projector_config"):
            self._projector_config = ProjectorConfig()
        step = 0 if global_step is None else global_step
        self._projector_config.embeddings.extend([get_embedding_info(metadata, label_img, subdir, step, tag)])
        write_pbtxt(self._get_file_writer().get_logdir(), str(self._projector_config))

    # Graphs

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Not supported: raises NotImplementedError."""
        raise refusal(
            "torch.utils.tensorboard.SummaryWriter.add_graph", "Use torch.export.export, and print the program."
        )

    def add_onnx_graph(self, prototxt: str) -> None:
        """Not supported: raises NotImplementedError."""
        raise refusal("torch.utils.tensorboard.SummaryWriter.add_onnx_graph", "Netron shows files of ONNX.")

    # Files

    def flush(self) -> None:
        """Write what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close all files; what is added later opens a new one."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _encoded(tag: str) -> str:
    """A tag as the name of a folder."""
    for character in "%/\\":
        tag = tag.replace(character, f"%{ord(character):02x}")
    return tag
