"""What is written, as TensorBoard's protocol buffers."""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams.api_pb2 import DataType, Experiment, HParamInfo, MetricInfo, MetricName, Status
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from mt_core import Tensor, dtypes

from ._convert_np import make_np
from .media import audio, draw_boxes, image, image_boxes, make_image, make_video, video

__all__ = [
    "audio", "custom_scalars", "draw_boxes", "histogram", "histogram_raw", "hparams", "image", "image_boxes",
    "make_histogram", "make_image", "make_video", "mesh", "pr_curve", "pr_curve_raw", "scalar", "tensor_proto", "text",
    "video",
]  # fmt: skip

logger = logging.getLogger(__name__)


def _metadata(plugin: str, content: bytes = b"", **others: Any) -> Any:
    data = SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    return SummaryMetadata(plugin_data=data, **others)


def _shape(*sizes: int) -> Any:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


# Numbers


def scalar(
    name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False
) -> Any:
    """A number; `tensor` has one element.

    Parameters
    ----------
    new_style
        Whether it is written as a tensor, which takes more room and is read faster.
    double_precision
        With `new_style`: as float64.
    """
    value = make_np(tensor).squeeze()
    if value.ndim:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions).             "
            f"Was given size: {value.size} and {value.ndim} dimensions."
        )
    number = float(value)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    if double_precision:
        written = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        written = TensorProto(float_val=[number], dtype="DT_FLOAT")
    return Summary(value=[Summary.Value(tag=name, tensor=written, metadata=_metadata("scalars"))])


def _bits_of_half(tensor: Any) -> list[int]:
    kind = "<e"
    if tensor.dtype == dtypes.float16:
        return [struct.unpack("<H", struct.pack(kind, value))[0] for value in tensor.tolist()]
    return [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in tensor.tolist()]


def _parts(tensor: Any) -> list[float]:
    return [part for value in tensor.tolist() for part in (value.real, value.imag)]


#: dtype -> name of the protocol's type, field, what gives the field's numbers.
_TENSORS: dict[Any, tuple[str, str, Any]] = {
    dtypes.float16: ("DT_HALF", "half_val", _bits_of_half),
    dtypes.bfloat16: ("DT_BFLOAT16", "half_val", _bits_of_half),
    dtypes.float32: ("DT_FLOAT", "float_val", lambda tensor: tensor.tolist()),
    dtypes.float64: ("DT_DOUBLE", "double_val", lambda tensor: tensor.tolist()),
    dtypes.int8: ("DT_INT8", "int_val", lambda tensor: tensor.tolist()),
    dtypes.uint8: ("DT_UINT8", "uint32_val", lambda tensor: tensor.tolist()),
    dtypes.int16: ("DT_INT16", "int_val", lambda tensor: tensor.tolist()),
    dtypes.int32: ("DT_INT32", "int_val", lambda tensor: tensor.tolist()),
    dtypes.int64: ("DT_INT64", "int64_val", lambda tensor: tensor.tolist()),
    dtypes.complex64: ("DT_COMPLEX64", "scomplex_val", _parts),
    dtypes.complex128: ("DT_COMPLEX128", "dcomplex_val", _parts),
    dtypes.bool: ("DT_BOOL", "bool_val", lambda tensor: tensor.tolist()),
}


def tensor_proto(tag: str, tensor: Tensor) -> Any:
    """A tensor of any shape.

    Raises
    ------
    ValueError
        For a dtype that TensorBoard has not.
    """
    known = _TENSORS.get(tensor.dtype)
    if known is None:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    kind, field, numbers = known
    written = TensorProto(
        dtype=kind, tensor_shape=_shape(*tensor.shape), **{field: numbers(tensor.detach().cpu().reshape(-1))}
    )
    return Summary(value=[Summary.Value(tag=tag, tensor=written, metadata=_metadata("tensor"))])


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: float,
    sum: float,
    sum_squares: float,
    bucket_limits: Any,
    bucket_counts: Any,
) -> Any:
    """A histogram that was counted before; `bucket_limits` are upper ends."""
    counted = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts
    )
    return Summary(value=[Summary.Value(tag=name, histo=counted)])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """The histogram of values; `bins` as for ``numpy.histogram``."""
    counted = make_histogram(make_np(values).astype(float), bins, max_bins)
    return Summary(value=[Summary.Value(tag=name, histo=counted)])


def make_histogram(values: np.ndarray[Any, Any], bins: Any, max_bins: int | None = None) -> Any:
    """Counts in buckets: empty ones at the ends are left out, but for one before the first.

    Raises
    ------
    ValueError
        Without values, or when none of them is in one of several buckets.
    """
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _coarser(counts, limits, len(counts) // max_bins)
    filled = np.flatnonzero(counts)
    if filled.size == 0 and len(counts) > 1:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = (filled[0], filled[-1]) if filled.size else (1, 0)
    before = [counts[first - 1]] if first else [0]
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits[first : last + 2].tolist(),
        bucket=[*map(float, before), *counts[first : last + 1].tolist()],
    )


def _coarser(counts: Any, limits: Any, factor: int) -> tuple[Any, Any]:
    """As many buckets in one as `factor` says; the last one may have fewer."""
    counts = np.append(counts, np.zeros(-len(counts) % factor, dtype=counts.dtype))
    return counts.reshape(-1, factor).sum(axis=-1), np.append(limits[:-1][::factor], limits[-1])


# Text and parameters


def text(tag: str, text: str) -> Any:
    """Text, which is shown as Markdown."""
    metadata = _metadata("text", TextPluginData(version=0).SerializeToString())
    written = TensorProto(dtype="DT_STRING", string_val=[text.encode("utf8")], tensor_shape=_shape(1))
    return Summary(value=[Summary.Value(tag=tag + "/text_summary", metadata=metadata, tensor=written)])


def hparams(
    hparam_dict: Mapping[str, Any] | None = None,
    metric_dict: Mapping[str, Any] | None = None,
    hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """Parameters of a run and names of its metrics: what the experiment is, how the run began, that it ended.

    Raises
    ------
    TypeError
        When the arguments are no dictionaries, or a domain has values of another type than its parameter.
    ValueError
        When a parameter is no number, text, bool or tensor.
    """
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            logger.warning("parameter: %s should be a dictionary, nothing logged.", name)
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    assert hparam_dict is not None and metric_dict is not None
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for name, domain in domains.items():
        if name not in hparam_dict or not _is_domain(domain, hparam_dict[name]):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )

    start = SessionStartInfo()
    infos = []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        if not isinstance(value, (int, float, str, bool, Tensor)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        kind, field = _kind_of(value)
        setattr(start.hparams[name], field, make_np(value).item() if isinstance(value, Tensor) else value)
        allowed = None
        if name in domains:
            allowed = struct_pb2.ListValue(values=[struct_pb2.Value(**{field: item}) for item in domains[name]])
        infos.append(HParamInfo(name=name, type=kind, domain_discrete=allowed))

    metrics = [MetricInfo(name=MetricName(tag=name)) for name in metric_dict]
    experiment = HParamsPluginData(experiment=Experiment(hparam_infos=infos, metric_infos=metrics))
    ended = HParamsPluginData(session_end_info=SessionEndInfo(status=Status.Value("STATUS_SUCCESS")))
    return (
        _of_hparams("_hparams_/experiment", experiment),
        _of_hparams("_hparams_/session_start_info", HParamsPluginData(session_start_info=start)),
        _of_hparams("_hparams_/session_end_info", ended),
    )


def _of_hparams(tag: str, content: Any) -> Any:
    content.version = 0  # PLUGIN_DATA_VERSION
    metadata = _metadata("hparams", content.SerializeToString())
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata)])


def _is_domain(domain: Any, value: Any) -> bool:
    return isinstance(domain, list) and all(isinstance(item, type(value)) for item in domain)


def _kind_of(value: Any) -> tuple[Any, str]:
    """TensorBoard's type of a parameter, and the field of its value; a bool is a number, as in PyTorch."""
    if isinstance(value, str):
        return DataType.Value("DATA_TYPE_STRING"), "string_value"
    return DataType.Value("DATA_TYPE_FLOAT64"), "number_value"


# Curves


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Any:
    """A curve of precision and recall that was counted before; at most 127 thresholds."""
    num_thresholds = min(num_thresholds, 127)
    return _pr_curve(tag, np.stack((tp, fp, tn, fn, precision, recall)), num_thresholds)


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Any:
    """The curve of precision and recall of predictions in [0, 1]; at most 127 thresholds."""
    num_thresholds = min(num_thresholds, 127)
    return _pr_curve(tag, compute_curve(labels, predictions, num_thresholds, weights), num_thresholds)


def _pr_curve(tag: str, data: np.ndarray[Any, Any], num_thresholds: int) -> Any:
    content = PrCurvePluginData(version=0, num_thresholds=num_thresholds).SerializeToString()
    written = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=_shape(*data.shape))
    return Summary(value=[Summary.Value(tag=tag, metadata=_metadata("pr_curves", content), tensor=written)])


#: Smaller denominators count as this.
_LEAST = 1e-7


def compute_curve(
    labels: Any, predictions: Any, num_thresholds: int | None = None, weights: Any = None
) -> np.ndarray[Any, Any]:
    """True and false positives, true and false negatives, precision, recall: (6, thresholds)."""
    thresholds = 127 if num_thresholds is None else num_thresholds
    weighted = np.asarray(1.0 if weights is None else weights)
    buckets = np.int32(np.floor(predictions * (thresholds - 1)))
    ends = (0, thresholds - 1)
    positive, _ = np.histogram(buckets, bins=thresholds, range=ends, weights=labels.astype(float) * weighted)
    negative, _ = np.histogram(buckets, bins=thresholds, range=ends, weights=(1.0 - labels.astype(float)) * weighted)
    tp, fp = np.cumsum(positive[::-1])[::-1], np.cumsum(negative[::-1])[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = tp / np.maximum(_LEAST, tp + fp)
    recall = tp / np.maximum(_LEAST, tp + fn)
    return np.stack((tp, fp, tn, fn, precision, recall))


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Any:
    """Which scalars are shown together: category -> title -> ``["Multiline", tags]`` or ``["Margin", three tags]``."""
    categories = []
    for name, charts in layout.items():
        shown = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"A Margin chart must have exactly 3 tags, got {len(tags)}")
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                shown.append(layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                content = layout_pb2.MultilineChartContent(tag=list(tags))
                shown.append(layout_pb2.Chart(title=title, multiline=content))
        categories.append(layout_pb2.Category(title=name, chart=shown))
    content = layout_pb2.Layout(category=categories).SerializeToString()
    written = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto())
    return Summary(
        value=[Summary.Value(tag="custom_scalars__config__", tensor=written, metadata=_metadata("custom_scalars"))]
    )


# Meshes


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: Any,
    display_name: str | None = None,
    description: str | None = None,
) -> Any:
    """Triangles in space: vertices (batch, points, 3), their colors alike, faces (batch, triangles, 3) of indices."""
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData  # lazy: few programs have meshes

    kinds = MeshPluginData.ContentType
    present = [
        (tensor, kind)
        for tensor, kind in ((vertices, kinds.VERTEX), (faces, kinds.FACE), (colors, kinds.COLOR))
        if tensor is not None
    ]
    components = sum(1 << kind for _, kind in present)
    config = json.dumps(config_dict or {}, sort_keys=True)
    values = []
    for tensor, kind in present:
        content = MeshPluginData(
            version=0, name=tag, content_type=kind, components=components, json_config=config, shape=tensor.shape
        )
        metadata = _metadata(
            "mesh", content.SerializeToString(), display_name=display_name, summary_description=description
        )
        written = TensorProto(
            dtype="DT_FLOAT", float_val=make_np(tensor).reshape(-1).tolist(), tensor_shape=_shape(*tensor.shape)
        )
        values.append(Summary.Value(tag=f"{tag}_{kinds.Name(kind)}", tensor=written, metadata=metadata))
    return Summary(value=values)
