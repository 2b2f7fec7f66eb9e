"""Writes what PyTorch does with states (checkpoint.json), and a checkpoint of two processes (checkpoint/).

``--check`` compares the first. With the packages on the path, PyTorch is also let read what mindtorch writes.
"""

import importlib.util
import json
import multiprocessing
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from checkpoint_programs import PROGRAMS, saved_state  # noqa: E402

FILE = HERE / "checkpoint.json"
FOLDER = HERE / "checkpoint"


def run(rank: int, meeting: str, folder: str, queue: multiprocessing.Queue) -> None:
    """Be one of the processes."""
    import torch
    import torch.distributed.checkpoint as checkpoint
    import torch.distributed.checkpoint.state_dict
    from torch.distributed.tensor import Shard, distribute_tensor

    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    mesh = torch.distributed.init_device_mesh("cpu", (2,))
    checkpoint.save(saved_state(torch, lambda x: distribute_tensor(x, mesh, [Shard(0)])), checkpoint_id=folder)
    queue.put((rank, {name: program(torch, torch.distributed.group.WORLD) for name, program in PROGRAMS.items()}))
    torch.distributed.destroy_process_group()


def read_ours() -> None:
    """Let PyTorch read what mindtorch writes."""
    import torch
    import torch.distributed.checkpoint as theirs

    import mindtorch
    import mindtorch.distributed.checkpoint as ours

    with tempfile.TemporaryDirectory() as folder:
        given = saved_state(mindtorch, lambda x: x)
        ours.save(given, checkpoint_id=folder)
        found = saved_state(torch, lambda x: x * 0)
        theirs.load(found, checkpoint_id=folder)
        assert repr(found) == repr(given), (found, given)


def main() -> None:
    """Make the files, or compare."""
    warnings.simplefilter("ignore")
    if importlib.util.find_spec("mindtorch"):
        read_ours()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    meeting, folder = tempfile.mktemp(), tempfile.mkdtemp()
    processes = [context.Process(target=run, args=(rank, meeting, folder, queue)) for rank in range(2)]
    for process in processes:
        process.start()
    results = dict(queue.get(timeout=200) for _ in processes)
    for process in processes:
        process.join()
    made = {name: [results[0][name], results[1][name]] for name in PROGRAMS}
    text = json.dumps(made, indent=1) + "\n"
    if "--check" in sys.argv:
        sys.exit(0 if FILE.read_text() == text else "checkpoint.json differs")
    FILE.write_text(text)
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(folder, FOLDER)


if __name__ == "__main__":
    main()
