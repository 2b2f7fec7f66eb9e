"""Records ``placements.json``: what PyTorch's Gloo gives for ``placement_programs.py`` on two ranks."""

import json
import os
from pathlib import Path

import placement_programs
import torch.distributed as dist
import torch.multiprocessing as mp


def run(rank: int, folder: str) -> None:
    """One rank: its answers go into a file of its own."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29617")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    Path(folder, f"rank-{rank}").write_text(placement_programs.answers())
    dist.destroy_process_group()


if __name__ == "__main__":
    here = Path(__file__).parent
    mp.spawn(run, (str(here),), 2)
    parts = [here / f"rank-{rank}" for rank in range(2)]
    answers = [json.loads(part.read_text()) for part in parts]
    (here / "placements.json").write_text(json.dumps(answers, indent=1) + "\n")
    for part in parts:
        part.unlink()
