"""What `test_tensorboard.py` and `make_tensorboard.py` write: name -> a summary, an array, or an error's text."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np

DTYPES = "float32 float64 int8 uint8 int16 int32 int64 bool complex64 complex128".split()


def cases(torch: Any) -> Iterator[tuple[str, Any]]:
    """Functions, by name; pictures are left out, whose bytes hang on Pillow, and dictionaries, which have no order."""
    from torch.utils.tensorboard import _utils, summary
    from torch.utils.tensorboard.writer import SummaryWriter

    random = np.random.RandomState(0)
    values = random.randn(200)
    yield "scalar", lambda: summary.scalar("a b/c", 3.5)
    yield "scalar of a tensor", lambda: summary.scalar("n", torch.tensor(2.0), new_style=True)
    yield "scalar of float64", lambda: summary.scalar("n", np.array([[2.25]]), new_style=True, double_precision=True)
    bins = {"auto": "auto", "ten": 10, "list": [-1.0, 0, 1, 2, 3], "outside": [9.0, 10.0]}
    for name, edges in bins.items():
        for most in (None, 1, 3, 7):
            yield f"histogram {name} {most}", lambda b=edges, m=most: summary.histogram("h", values, b, m)
    yield "histogram of integers", lambda: summary.histogram("h", torch.arange(20), "auto")
    yield "text", lambda: summary.text("t", "h\u00e9llo")
    labels, predictions = random.randint(0, 2, 100), random.rand(100)
    yield "curve", lambda: summary.pr_curve("p", labels, predictions, 9, weights=predictions + 1)
    layout = {"T": {"x": ["Multiline", ["a", "b"]], "y": ["Margin", ["a", "b", "c"]]}}
    yield "layout", lambda: summary.custom_scalars(layout)
    for part in range(3):
        chosen = {"b": True, "s": "x"}
        yield f"parameters {part}", lambda p=part: summary.hparams({"lr": 0.5}, {"acc": 1.0}, {"lr": [0.5, 1.0]})[p]
        yield f"experiment {part}", lambda p=part, c=chosen: summary.hparams(c, {"acc": 1.0})[0]
    points = torch.tensor(random.rand(1, 3, 3))
    faces = torch.zeros(1, 1, 3, dtype=torch.int32)
    yield "mesh", lambda: summary.mesh("m", points, points, faces, {"b": 2, "a": 1}, "shown", "told")
    sound = np.clip(random.randn(50), -1, 1)
    yield "sound", lambda: summary.audio("a", sound, 8000)
    for name in DTYPES:
        yield f"tensor {name}", lambda d=name: summary.tensor_proto("q", torch.ones(2, 3, dtype=getattr(torch, d)))
    refused = {
        "text": lambda: summary.scalar("a", "s"),
        "list": lambda: summary.scalar("a", [1, 2]),
        "several": lambda: summary.scalar("a", np.ones(2)),
        "nothing": lambda: summary.histogram("h", np.array([]), "auto"),
        "layout": lambda: summary.image("i", np.zeros((3, 4))),
        "twice": lambda: summary.image("i", np.zeros((3, 4)), dataformats="HH"),
        "parameters": lambda: summary.hparams(3, {}),
        "parameter": lambda: summary.hparams({"a": [1]}, {}),
        "metrics": lambda: summary.hparams({"a": 1}, None),
        "domain": lambda: summary.hparams({"a": 1}, {}, {"a": ["x"]}),
        "channels": lambda: summary.audio("a", np.zeros((2, 3)), 3),
    }
    for name, call in refused.items():
        yield f"refused: {name}", call
    for batch in (1, 2, 3, 4, 5, 8, 9):
        frames = np.arange(batch * 24, dtype=np.float64).reshape(batch, 2, 3, 2, 2)
        yield f"film {batch}", lambda f=frames: _utils._prepare_video(f)
    shapes = {"CHW": (3, 4, 5), "HWC": (4, 5, 1), "HW": (4, 5), "NCHW": (9, 3, 2, 2), "NHWC": (3, 2, 2, 1)}
    for name, shape in shapes.items():
        pixels = np.arange(np.prod(shape)).reshape(shape)
        yield f"picture {name}", lambda p=pixels, n=name: _utils.convert_to_HWC(p, n)
    yield "buckets", lambda: np.array(_default_bins(SummaryWriter))


def _default_bins(writer: type) -> list[float]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, writer(folder) as made:  # type: ignore[attr-defined]
        return list(made.default_bins)


def written(torch: Any) -> dict[str, str]:
    """The bytes, or what the error says."""
    found = {}
    for name, call in cases(torch):
        try:
            made = call()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
            found[name] = f"{type(error).__name__}: {error}"
        else:
            data = made.tobytes() if isinstance(made, np.ndarray) else made.SerializeToString(deterministic=True)
            found[name] = base64.b64encode(data).decode()
    return found
