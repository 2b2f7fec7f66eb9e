"""Writes checkpoints of two processes of PyTorch in safetensors files (safetensors_checkpoint/), one for each writer.

Asks for the package safetensors beside PyTorch. With the packages on the path, PyTorch is also let read what mindtorch
writes.
"""

import importlib.util
import multiprocessing
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from safetensors_programs import WRITERS, same, saved_state  # noqa: E402

FOLDER = HERE / "safetensors_checkpoint"


def run(rank: int, meeting: str, folder: str) -> None:
    """Be one of the processes."""
    import torch
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.tensor import Shard, distribute_tensor

    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    mesh = torch.distributed.init_device_mesh("cpu", (2,))
    state = saved_state(torch, lambda x: distribute_tensor(x, mesh, [Shard(0)]))
    for name, options in WRITERS.items():
        writer = checkpoint.HuggingFaceStorageWriter(f"{folder}/{name}", **options)
        given = saved_state(torch, lambda x: x) if name == "whole" else state
        if name != "whole" or rank == 0:
            checkpoint.save(given, storage_writer=writer, no_dist=name == "whole")
    torch.distributed.destroy_process_group()


def read_ours() -> None:
    """Let PyTorch read what mindtorch writes, pieces and whole tensors."""
    import torch
    import torch.distributed.checkpoint as theirs

    import mindtorch
    import mindtorch.distributed.checkpoint as ours

    for name, options in WRITERS.items():
        with tempfile.TemporaryDirectory() as folder:
            given = saved_state(mindtorch, lambda x: x)
            ours.save(given, storage_writer=ours.HuggingFaceStorageWriter(folder, **options))
            for path in {folder, f"{folder}/sharded"} if "consolidated" in name else {folder}:
                found = saved_state(torch, torch.zeros_like)
                theirs.load(found, storage_reader=theirs.HuggingFaceStorageReader(path))
                assert same(found, given), (name, found, given)


def main() -> None:
    """Make the files."""
    warnings.simplefilter("ignore")
    if importlib.util.find_spec("mindtorch"):
        read_ours()
    context = multiprocessing.get_context("spawn")
    meeting, folder = tempfile.mktemp(), tempfile.mkdtemp()
    processes = [context.Process(target=run, args=(rank, meeting, folder)) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(folder, FOLDER)


if __name__ == "__main__":
    main()
