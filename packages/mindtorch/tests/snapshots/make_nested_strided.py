"""Record what PyTorch does with nested tensors of the strided layout: with PyTorch 2.13, run this file.

Each random program runs in a process of its own, for PyTorch reads beyond its memory in some, and dies of it.
"""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import torch
from nested_strided_cases import answers, random_program

torch.set_num_threads(1)
warnings.simplefilter("ignore")


def _recorded(seed: int) -> str | None:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, "w") as out:
            out.write(json.dumps(random_program(torch, seed)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    return text if os.waitpid(child, 0)[1] == 0 else None


lines = [f"{json.dumps(name)}: {json.dumps(said)}" for name, said in answers(torch).items()]
programs = [f'"{seed}": {text}' for seed in range(80) if (text := _recorded(seed)) is not None]
Path(__file__).with_name("nested_strided.json").write_text(
    '{"expressions": {\n' + ",\n".join(lines) + '\n},\n"programs": {\n' + ",\n".join(programs) + "\n}}\n"
)
