"""Write gloo.json: what PyTorch's Gloo gives each rank of 2 and of 3 processes; --check compares."""

import json
import os
import socket
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def rank_main(rank: int, size: int, port: int, folder: str) -> None:
    """What one rank writes."""
    import collective_programs  # in the child: it imports torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(size))
    dist.init_process_group("gloo")
    Path(folder, str(rank)).write_text(json.dumps(collective_programs.described(rank, size)))
    dist.barrier()


def made() -> dict:
    """Number of processes -> what each rank was given."""
    import torch.multiprocessing as mp  # PyTorch: this script alone needs it

    found = {}
    for size in (2, 3):
        with socket.socket() as sock, tempfile.TemporaryDirectory() as folder:
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
            sock.close()
            mp.spawn(rank_main, (size, port, folder), nprocs=size)
            found[str(size)] = [json.loads(Path(folder, str(rank)).read_text()) for rank in range(size)]
    return found


if __name__ == "__main__":
    text = json.dumps(made(), indent=0) + "\n"
    if "--check" in sys.argv:
        assert text == (HERE / "gloo.json").read_text(), "PyTorch gives something else now"
    else:
        (HERE / "gloo.json").write_text(text)
