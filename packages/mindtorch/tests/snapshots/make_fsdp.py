"""Writes what PyTorch's `fully_shard` gives for the programs of two processes (`--check` compares)."""

import json
import multiprocessing
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from fsdp_programs import PROGRAMS  # noqa: E402

FILE = HERE / "fsdp.json"


def run(rank: int, size: int, meeting: str, queue: multiprocessing.Queue) -> None:
    """Run all programs as one of the processes."""
    import torch
    import torch.distributed.fsdp

    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    queue.put((rank, {name: program(torch, torch.distributed.group.WORLD) for name, program in PROGRAMS.items()}))
    torch.distributed.destroy_process_group()


def main() -> None:
    """Make the file, or compare."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    meeting = tempfile.mktemp()
    processes = [context.Process(target=run, args=(rank, 2, meeting, queue)) for rank in range(2)]
    for process in processes:
        process.start()
    results = dict(queue.get(timeout=100) for _ in processes)
    for process in processes:
        process.join()
    made = {name: [results[0][name], results[1][name]] for name in PROGRAMS}
    text = json.dumps(made, indent=1) + "\n"
    if "--check" in sys.argv:
        sys.exit(0 if FILE.read_text() == text else "fsdp.json differs")
    FILE.write_text(text)


if __name__ == "__main__":
    main()
