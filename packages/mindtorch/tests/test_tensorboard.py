"""`torch.utils.tensorboard`: what is written is PyTorch's, and TensorBoard's own reader reads it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

import mindtorch as torch
from mindtorch import monitor
from mindtorch.utils.tensorboard import FileWriter, SummaryWriter, summary

SNAPSHOTS = Path(__file__).parent / "snapshots"


def _read(folder):
    all_of_them = dict.fromkeys(("scalars", "histograms", "images", "tensors"), 0)
    return EventAccumulator(str(folder), size_guidance=all_of_them).Reload()


def test_what_is_written_is_pytorchs(run_python):
    """Under the stand-in, as the cases import ``torch``."""
    text = run_python(f"""
        import logging, sys
        sys.path.insert(0, {str(SNAPSHOTS)!r})
        import mindtorch
        mindtorch.install_as_torch()
        logging.disable()
        import json, torch
        from tensorboard_cases import written
        print(json.dumps(written(torch)))
    """)
    found, expected = json.loads(text.splitlines()[-1]), json.loads((SNAPSHOTS / "tensorboard.json").read_text())
    assert found.keys() == expected.keys()
    assert {name: found[name] for name in expected if found[name] != expected[name]} == {}


def test_scalars_histograms_and_text_are_read_back(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(20):
            writer.add_scalar("loss", torch.tensor(step * 0.5), step, walltime=1000.0 + step)
        writer.add_histogram("weights", torch.arange(10.0), 3)
        writer.add_text("note", "hello", 1)
        writer.add_tensor("t", torch.arange(6.0).reshape(2, 3), 2)
        writer.add_pr_curve("curve", torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.9, 0.6, 0.3]), 0)
    events = _read(tmp_path)
    assert [(event.wall_time, event.step, event.value) for event in events.Scalars("loss")] == [
        (1000.0 + step, step, step * 0.5) for step in range(20)
    ]
    (histogram,) = events.Histograms("weights")
    values = histogram.histogram_value
    assert (histogram.step, values.num, values.sum, sum(values.bucket)) == (3, 10, 45, 10)
    assert tensor_util.make_ndarray(events.Tensors("note/text_summary")[0].tensor_proto).tolist() == [b"hello"]
    assert tensor_util.make_ndarray(events.Tensors("t")[0].tensor_proto).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensor_util.make_ndarray(events.Tensors("curve")[0].tensor_proto).shape == (6, 127)


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int32", "int64", "complex64", "bool"])
def test_tensors_of_every_dtype_are_read_back(name):
    tensor = torch.tensor([[0.0, 1.5, -2.0]]).to(getattr(torch, name))
    read = tensor_util.make_ndarray(summary.tensor_proto("t", tensor).value[0].tensor)
    assert read.astype(np.complex128).tolist() == tensor.to(torch.complex128).tolist()


def test_bfloat16_is_written_as_its_bits():
    """TensorBoard reads them where TensorFlow brings the dtype."""
    tensor = torch.tensor([0.0, 1.5, -2.0], dtype=torch.bfloat16)
    assert [*summary.tensor_proto("t", tensor).value[0].tensor.half_val] == [0, 0x3FC0, 0xC000]


def test_pictures_are_read_back(tmp_path):
    from io import BytesIO

    from PIL import Image

    pixels = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("one", torch.tensor(pixels))
        writer.add_images("many", torch.tensor(pixels / 255.0)[None])
        writer.add_image_with_boxes("boxes", torch.zeros(3, 16, 16), torch.tensor([[2, 2, 9, 9]]), labels="a")
    events = _read(tmp_path)
    for tag in ("one", "many"):
        decoded = np.asarray(Image.open(BytesIO(events.Images(tag)[0].encoded_image_string)))
        assert abs(decoded.transpose(2, 0, 1).astype(int) - pixels).max() <= (tag == "many")
    boxed = np.asarray(Image.open(BytesIO(events.Images("boxes")[0].encoded_image_string)))
    assert boxed[2, 5].tolist() == [255, 0, 0] and boxed[14, 14].tolist() == [0, 0, 0]


def test_several_scalars_and_parameters_have_folders_of_their_own(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("both", {"a": 1, "b": 2}, 5)
        writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name="first", global_step=7)
    assert [(event.step, event.value) for event in _read(tmp_path / "both_b").Scalars("both")] == [(5, 2.0)]
    assert [(event.step, event.value) for event in _read(tmp_path / "first").Scalars("acc")] == [(7, 0.5)]


def test_points_are_files_of_the_projector(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        points, pictures = torch.arange(6.0).reshape(3, 2), torch.rand(3, 3, 4, 4)
        writer.add_embedding(points, [["a", 1], ["b", 2], ["c", 3]], pictures, 2, "t/x", ["name", "number"])
        with pytest.raises(AssertionError, match="#labels"):
            writer.add_embedding(points, ["a"])
    folder = tmp_path / "00002" / "t%2fx"
    assert (folder / "tensors.tsv").read_text() == "0.0\t1.0\n2.0\t3.0\n4.0\t5.0\n"
    assert (folder / "metadata.tsv").read_text() == "name\tnumber\na\t1\nb\t2\nc\t3\n"
    assert (folder / "sprite.png").exists()
    assert 'tensor_path: "00002/t%2fx/tensors.tsv"' in (tmp_path / "projector_config.pbtxt").read_text()


def test_writers_go_on_after_they_were_closed(tmp_path):
    writer = SummaryWriter(tmp_path, filename_suffix=".end")
    writer.add_scalar("a", 1, 1)
    writer.close()
    writer.add_scalar("a", 2, 2)
    writer.close()
    assert all(path.name.endswith(".end") for path in tmp_path.iterdir())
    with SummaryWriter(tmp_path, purge_step=2):
        pass
    file = FileWriter(str(tmp_path))
    assert file.get_logdir() == str(tmp_path)
    file.close()


def test_statistics_are_written_as_scalars(tmp_path):
    from datetime import timedelta

    with SummaryWriter(tmp_path) as writer:
        handle = monitor.register_event_handler(monitor.TensorboardEventHandler(writer))
        stat = monitor.Stat("s", [monitor.Aggregation.SUM], timedelta(hours=1), 1)
        stat.add(3)
        monitor.unregister_event_handler(handle)
    assert [event.value for event in _read(tmp_path).Scalars("s.sum")] == [3.0]


def test_graphs_and_films_say_what_is_missing(tmp_path, monkeypatch):
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(NotImplementedError, match="add_graph"):
            writer.add_graph(torch.nn.Linear(1, 1), torch.ones(1, 1))
        monkeypatch.setitem(__import__("sys").modules, "moviepy", None)
        with pytest.raises(ModuleNotFoundError, match="pip install moviepy"):
            writer.add_video("v", torch.zeros(1, 2, 3, 4, 4))
        with pytest.raises(ValueError, match="bucket_limits"):
            writer.add_histogram_raw("h", 0, 1, 2, 3, 4, [1], [1, 2])
