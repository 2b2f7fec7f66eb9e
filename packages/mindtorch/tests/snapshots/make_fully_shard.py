"""Writes what PyTorch's `fully_shard` gives for the programs of two processes (`--check` compares)."""

import json
import multiprocessing
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import fully_shard_parallel_programs  # noqa: E402
import fully_shard_programs  # noqa: E402

#: Name of the file -> its programs, and how many processes run them.
FILES = {
    "fully_shard": (fully_shard_programs.PROGRAMS, 2),
    "fully_shard_parallel": (fully_shard_parallel_programs.PROGRAMS, 4),
}


def run(rank: int, name: str, meeting: str, queue: multiprocessing.Queue) -> None:
    """Run all programs of a file as one of the processes."""
    import torch
    import torch.distributed.fsdp
    import torch.distributed.tensor.parallel

    programs, size = FILES[name]
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    queue.put((rank, {name: program(torch, torch.distributed.group.WORLD) for name, program in programs.items()}))
    torch.distributed.destroy_process_group()


def made(name: str) -> str:
    """The text of a file."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    meeting = tempfile.mktemp()
    programs, size = FILES[name]
    processes = [context.Process(target=run, args=(rank, name, meeting, queue)) for rank in range(size)]
    for process in processes:
        process.start()
    results = dict(queue.get(timeout=100) for _ in processes)
    for process in processes:
        process.join()
    return json.dumps({one: [results[rank][one] for rank in range(size)] for one in programs}, indent=1) + "\n"


def main() -> None:
    """Make the files, or compare."""
    for name in FILES:
        file, text = HERE / f"{name}.json", made(name)
        if "--check" not in sys.argv:
            file.write_text(text)
        elif file.read_text() != text:
            sys.exit(f"{file.name} is not what PyTorch gives")


if __name__ == "__main__":
    main()
